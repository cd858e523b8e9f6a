-- SPDX-License-Identifier: BSD-2-Clause
-- Schema 21. What a job is to the system that runs it. Until now only the text of job.selector had
-- this. NULL in (others), in older runs, and where a kind of job has no such thing.

ALTER TABLE job ADD COLUMN kind TEXT        -- how it was selected
	CHECK (kind IN ('command', 'pid', 'cgroup', 'slurm', 'unit', 'container', 'pod', 'vm'));
ALTER TABLE job ADD COLUMN external_id TEXT; -- pid, path of the cgroup, number of the Slurm job, or
                                             -- the name as it was given; a command has none
ALTER TABLE job ADD COLUMN uid INTEGER;      -- of the user of the command, or of the first process
ALTER TABLE job ADD COLUMN step TEXT;        -- of a Slurm job, if only this step was watched
-- Of a Slurm job, by the environment of its processes, which its user can change.
ALTER TABLE job ADD COLUMN job_name TEXT;
ALTER TABLE job ADD COLUMN partition TEXT;
