-- SPDX-License-Identifier: BSD-2-Clause
-- id: memcg-limit-too-low
-- title: the job's memory limit evicts pages that it needs again, while the machine has free memory
-- version: 1
-- lever: direct
-- severity: high when the stall it explains is at least high_share of the wall time, medium when at
--           least medium_share, else low
-- needs counters: evicted_reclaim_memcg refaults evicted_unused evicted_dontneed demand_pages prefetched_pages
--           added_pages evicted_reclaim evicted_drop_caches evicted_direct_io evicted_other
-- needs tables: machine_interval
-- needs facts: v_machine.available_bytes_min
-- param min_memcg_share = 0.5 ratio -- of the reclaimed pages: the limit is the main cause
-- param min_refault_share = 0.1 ratio -- of the pages brought in were read again after reclaim
-- param min_pages = 2048 pages -- 8 MiB of 4 KiB pages that were read again
-- param min_available_share = 0.1 ratio -- of the machine's memory; with less the machine is short of memory
-- param medium_share = 0.05 ratio -- of the wall time
-- param high_share = 0.2 ratio -- of the wall time
WITH returned AS (
	SELECT
		job_id, sum(returned_pages) AS returned_pages,
		sum(stall_ns * (returned_pages * 1.0 / nullif(added_pages, 0))) AS stall_ns
	FROM v_return GROUP BY job_id
)
SELECT
	j.job_id,
	'job' AS subject_kind,
	j.name AS subject,
	CASE
		WHEN r.stall_ns * w.s_per_stall_ns >= :high_share * w.wall_s THEN 'high'
		WHEN r.stall_ns * w.s_per_stall_ns >= :medium_share * w.wall_s THEN 'medium'
		ELSE 'low'
	END AS severity,
	iif(j.sliced, 0.7, 0.95) AS confidence,
	printf('the limit evicted %,d pages, %,d of which were read again, while at least %,d MiB of memory were available',
		j.evicted_reclaim_memcg, min(r.returned_pages, j.evicted_reclaim_memcg), m.available_bytes_min / 1048576) AS summary,
	json_array(
		json_object('metric', 'evicted_pages.reclaim_memcg', 'value', j.evicted_reclaim_memcg,
			'unit', 'pages', 'scope', 'job'),
		json_object('metric', 'returned_pages', 'value', r.returned_pages, 'unit', 'pages',
			'scope', 'job'),
		json_object('metric', 'limit_bytes', 'value', coalesce(l.limit_bytes, m.job_limit_bytes),
			'unit', 'bytes', 'scope', 'job'),
		json_object('metric', 'available_bytes_min', 'value', m.available_bytes_min, 'unit', 'bytes',
			'scope', 'machine'),
		json_object('metric', 'stall_ns', 'value', CAST(r.stall_ns AS INTEGER), 'unit', 'ns',
			'scope', 'pages that came back')
	) AS evidence,
	coalesce(r.stall_ns * w.s_per_stall_ns, r.returned_pages * j.page_size_bytes) AS gain_value,
	iif(r.stall_ns * w.s_per_stall_ns IS NULL, 'bytes', 's') AS gain_unit,
	'measured' AS gain_method,
	'capacity' AS gain_cause
FROM v_job j JOIN returned r ON r.job_id = j.job_id
	JOIN v_machine m ON m.run_id = j.run_id
	LEFT JOIN v_limit l ON l.job_id = j.job_id
	LEFT JOIN v_wall w ON w.job_id = j.job_id
WHERE j.evicted_reclaim_memcg >= :min_memcg_share * j.evicted_reclaim
	AND r.returned_pages >= :min_pages
	AND r.returned_pages >= :min_refault_share * j.added_pages
	AND m.available_bytes_min >= :min_available_share * m.memory_total_bytes
