-- SPDX-License-Identifier: BSD-2-Clause
-- Schema 10. Processes that the OOM killer ended at the job's memory limit.

-- Processes in or below the job's memory cgroup that were killed during the run because an
-- allocation hit a limit of that cgroup or of one above it. NULL: not known.
ALTER TABLE job_limit ADD COLUMN oom_kills INTEGER CHECK (oom_kills >= 0);
