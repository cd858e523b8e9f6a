-- SPDX-License-Identifier: BSD-2-Clause
-- v_interval: the timeline of the watched jobs: increments, oldest first; counters as in v_job, not
-- scaled. Where read_on_ns < duration_ns the counters of the read hook (lookups, used, ...) are too
-- low. Source: analysis_interval (interval, job_interval).
CREATE TEMP VIEW v_interval AS SELECT
	job_id, interval_id,
	start_ns,  -- ns since the start of the run
	duration_ns, read_on_ns,  -- ns
	rolled,  -- intervals merged into this row
	cpu_ns,  -- ns
	rchar_bytes, read_calls, read_bytes,  -- bytes, calls, bytes
	lookups, delayed_hits, misses, demand_pages, prefetched_pages, used, used_late, evicted_unused,  -- pages
	written_pages, evicted_reclaim, evicted_reclaim_memcg, evicted_pages, refaults, refault_misses,  -- pages
	faults_major,  -- faults
	direct_read_bytes,  -- bytes
	stall_ns, stalls,  -- ns, sleeps
	@hit_ratio()@ AS hit_ratio,
		-- 0..1; NULL unless the hook was on throughout and no call began in the previous
		-- interval
	stall_ns * 1.0 / nullif(duration_ns, 0) AS stall_per_wall
		-- mean number of tasks that slept for the page cache
FROM analysis_interval;
