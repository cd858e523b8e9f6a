-- SPDX-License-Identifier: BSD-2-Clause
-- v_job_all: every job of the run, (others) too; v_job is what rules use. Source: job.
CREATE TEMP VIEW v_job_all AS SELECT
	x.run_id,  -- run.id
	x.id AS job_id,  -- job.id
	x.slot,  -- 0 = (others)
	x.name,  -- text
	x.selector,  -- how it was chosen
	r.page_size_bytes AS page_size_bytes,  -- bytes
	r.level AS level,  -- cold, full, auto
	r.sliced AS sliced,  -- 0/1; reads were watched in slices: what only the per-read hook sees is NULL
	r.duration_ns AS duration_ns,  -- ns of the run
	x.processes,  -- thread groups that belonged to it
	x.wall_ns,  -- ns the job existed
	x.cpu_ns,  -- ns of CPU time of its tasks
	x.rchar_bytes,  -- bytes its tasks read from anything
@sql/counters.sql@
FROM analysis_scope a JOIN run r ON r.id = a.run_id JOIN job x ON x.run_id = r.id;

-- v_job: the watched jobs. Columns of v_job_all.
CREATE TEMP VIEW v_job AS SELECT * FROM v_job_all WHERE slot <> 0;

-- v_others: everybody else on the machine, one row. Columns of v_job_all; no fates, no refaults, no stalls.
CREATE TEMP VIEW v_others AS SELECT * FROM v_job_all WHERE slot = 0;

-- v_stall: what part of its time a job slept for the page cache. Source: job.
CREATE TEMP VIEW v_stall AS SELECT
	job_id,
	stall_ns,  -- ns, of all its tasks
	wall_ns,  -- ns
	cpu_ns,  -- ns
	processes,
	stall_ns / 1e9 AS stall_s,  -- s
	stall_ns * 1.0 / nullif(stalls, 0) AS stall_ns_mean,  -- ns a sleep
	-- 0..1; of one reader stall / wall; where sleep and CPU time exceed the wall clock, tasks run beside
	-- each other, and it is the share of their time
	stall_ns * 1.0 / nullif(max(wall_ns, stall_ns + cpu_ns), 0) AS stall_share,
	-- ns a page that had to be fetched; what a miss costs the job
	stall_ns * 1.0 / nullif(misses + used_late + faults_major, 0) AS stall_ns_per_miss
FROM v_job;
