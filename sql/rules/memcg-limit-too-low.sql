-- SPDX-License-Identifier: BSD-2-Clause
-- id: memcg-limit-too-low
-- title: the job's memory limit evicts pages that it needs again, while the machine has free memory
-- version: 1
-- lever: direct
-- severity: high when the stall it explains is at least high_share of the wall time, medium when at
--           least medium_share, else low
-- needs counters: evicted_reclaim_memcg refaults evicted_dontneed demand_pages prefetched_pages
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
), limited AS (
	SELECT
		j.job_id, j.name, j.sliced, j.page_size_bytes, j.evicted_reclaim_memcg,
		j.prefetched_pages, m.available_bytes_min, m.job_limit_bytes, r.returned_pages, r.stall_ns,
		max(:min_pages, :min_refault_share * j.added_pages) AS enough_pages,
		-- Where use was not seen, prefetched pages that came back may never have been needed.
		iif(j.evicted_unused IS NULL, min(j.refaults, j.evicted_reclaim_memcg), 0) AS most_pages
	FROM v_job j JOIN returned r ON r.job_id = j.job_id
		JOIN v_machine m ON m.run_id = j.run_id
	WHERE j.evicted_reclaim_memcg >= :min_memcg_share * j.evicted_reclaim
		AND m.available_bytes_min >= :min_available_share * m.memory_total_bytes
)
SELECT
	j.job_id,
	'job' AS subject_kind,
	j.name AS subject,
	CASE
		WHEN j.stall_ns * w.s_per_stall_ns >= :high_share * w.wall_s THEN 'high'
		WHEN j.stall_ns * w.s_per_stall_ns >= :medium_share * w.wall_s THEN 'medium'
		ELSE 'low'
	END AS severity,
	iif(j.sliced, 0.7, 0.95) AS confidence,
	printf('the limit evicted %,d pages, %,d of which were read again, while at least %,d MiB of memory were available',
		j.evicted_reclaim_memcg, min(j.returned_pages, j.evicted_reclaim_memcg), j.available_bytes_min / 1048576) AS summary,
	json_array(
		json_object('metric', 'evicted_pages.reclaim_memcg', 'value', j.evicted_reclaim_memcg,
			'unit', 'pages', 'scope', 'job'),
		json_object('metric', 'returned_pages', 'value', j.returned_pages, 'unit', 'pages',
			'scope', 'job'),
		json_object('metric', 'limit_bytes', 'value', coalesce(l.limit_bytes, j.job_limit_bytes),
			'unit', 'bytes', 'scope', 'job'),
		json_object('metric', 'available_bytes_min', 'value', j.available_bytes_min, 'unit', 'bytes',
			'scope', 'machine'),
		json_object('metric', 'stall_ns', 'value', CAST(j.stall_ns AS INTEGER), 'unit', 'ns',
			'scope', 'pages that were read again')
	) AS evidence,
	coalesce(j.stall_ns * w.s_per_stall_ns, j.returned_pages * j.page_size_bytes) AS gain_value,
	iif(j.stall_ns * w.s_per_stall_ns IS NULL, 'bytes', 's') AS gain_unit,
	'measured' AS gain_method,
	'capacity' AS gain_cause,
	NULL AS not_judged
FROM limited j
	LEFT JOIN v_limit l ON l.job_id = j.job_id
	LEFT JOIN v_wall w ON w.job_id = j.job_id
WHERE j.returned_pages >= j.enough_pages
UNION ALL
SELECT
	job_id, 'job', name, 'low', 0.5, '', '[]', NULL, NULL, NULL, NULL,
	printf('the limit evicted %,d pages, and %,d came back, but the run did not record whether %,d '
		|| 'prefetched pages were used before that; --level full does', evicted_reclaim_memcg,
		most_pages, prefetched_pages)
FROM limited
WHERE returned_pages < enough_pages AND most_pages >= enough_pages
