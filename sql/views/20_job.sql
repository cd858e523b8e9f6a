-- SPDX-License-Identifier: BSD-2-Clause
-- v_job_all: every job of the run, including (others). Rules use v_job. Source: job.
CREATE TEMP VIEW v_job_all AS SELECT
	x.run_id,  -- run.id
	x.id AS job_id,  -- job.id
	x.slot,  -- 0 = (others)
	x.name,  -- text
	x.selector,  -- how it was chosen
	r.page_size_bytes AS page_size_bytes,  -- bytes
	r.level AS level,  -- cold, full, auto
	r.sliced AS sliced,
		-- 0/1; reads were watched in slices, so values of the per-read hook are NULL
	r.duration_ns AS duration_ns,  -- ns of the run
	x.processes,  -- thread groups that belonged to it
	x.wall_ns,  -- ns the job existed
	x.cpu_ns,  -- ns of CPU time of its tasks
	x.rchar_bytes,  -- bytes its tasks read from any source
@sql/counters.sql@
FROM analysis_scope a JOIN run r ON r.id = a.run_id JOIN job x ON x.run_id = r.id;

-- v_job: the watched jobs. Columns of v_job_all.
CREATE TEMP VIEW v_job AS SELECT * FROM v_job_all WHERE slot <> 0;

-- v_others: all other processes of the machine, one row. Columns of v_job_all; without fates,
-- refaults and stalls.
CREATE TEMP VIEW v_others AS SELECT * FROM v_job_all WHERE slot = 0;

-- v_stall: the share of its time that a job slept for the page cache. Source: job.
CREATE TEMP VIEW v_stall AS SELECT
	job_id,
	stall_ns,  -- ns, of all its tasks
	wall_ns,  -- ns
	cpu_ns,  -- ns
	processes,
	stall_ns / 1e9 AS stall_s,  -- s
	stall_ns * 1.0 / nullif(stalls, 0) AS stall_ns_mean,  -- ns per sleep
	-- 0..1; stall / wall for a single reader. If sleep and CPU time exceed the wall clock,
	-- tasks ran in parallel, and it is the share of their time
	stall_ns * 1.0 / nullif(max(wall_ns, stall_ns + cpu_ns), 0) AS stall_share,
	-- ns per page that had to be fetched: the cost of a miss
	stall_ns * 1.0 / nullif(misses + used_late + faults_major, 0) AS stall_ns_per_miss
FROM v_job;
