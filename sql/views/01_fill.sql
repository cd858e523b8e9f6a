-- SPDX-License-Identifier: BSD-2-Clause
-- Values of the stored tables that many rules need, computed once.
INSERT INTO analysis_interval
SELECT x.job_id, i.id, i.start_ns, i.duration_ns, i.read_on_ns, i.rolled, x.cpu_ns, x.rchar_bytes,
	x.read_calls, x.read_bytes, x.lookups, x.delayed_hits, x.misses, x.demand_pages,
	@prefetched_pages(x.)@,
	x.used, x.used_late, x.evicted_unused, x.written_pages,
	@evicted_reclaim(x.)@,
	x.evicted_reclaim_memcg,
	@evicted_pages(x.)@,
	x.refaults, x.refault_misses, x.faults_major, x.direct_read_bytes, x.stall_ns, x.stalls
FROM analysis_scope a JOIN job j ON j.run_id = a.run_id AND j.slot <> 0
	CROSS JOIN interval i ON i.run_id = a.run_id
	CROSS JOIN job_interval x ON x.interval_id = i.id AND x.job_id = j.id;

INSERT INTO analysis_memory
SELECT a.run_id, count(*), min(m.free_bytes), min(m.available_bytes), avg(m.available_bytes),
	max(m.file_cached_bytes), avg(m.file_cached_bytes), max(m.dirty_bytes), min(m.job_limit_bytes),
	max(m.job_usage_bytes), max(m.job_file_bytes), avg(m.job_file_bytes)
FROM analysis_scope a CROSS JOIN interval i ON i.run_id = a.run_id
	CROSS JOIN machine_interval m ON m.interval_id = i.id
GROUP BY a.run_id;
