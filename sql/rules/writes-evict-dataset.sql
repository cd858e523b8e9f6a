-- SPDX-License-Identifier: BSD-2-Clause
-- id: writes-evict-dataset
-- title: the job's writes evict pages that it reads again
-- version: 1
-- severity: high when the stall it explains is at least high_share of the wall time, medium when at
--           least medium_share, else low
-- needs tables: interference
-- needs counters: refaults evicted_unused evicted_dontneed demand_pages prefetched_pages added_pages
--           evicted_reclaim evicted_drop_caches evicted_direct_io evicted_other
-- param min_refaulted = 1024 pages -- 4 MiB of 4 KiB pages
-- param min_share = 0.05 ratio -- of the pages brought in for the directory that lost pages
-- param medium_share = 0.05 ratio -- of the wall time
-- param high_share = 0.2 ratio -- of the wall time
WITH pushed AS (
	SELECT * FROM v_pushed WHERE who = 'own writes'
), cost AS (
	SELECT p.*, d.added_pages, d.page_size_bytes, w.wall_s,
		d.stall_ns * w.s_per_stall_ns * p.refaulted_pages / nullif(d.added_pages, 0) AS saved_s
	FROM pushed p JOIN v_directory d ON d.job_id = p.job_id AND d.path = p.owner_path
		LEFT JOIN v_wall w ON w.job_id = p.job_id
)
SELECT
	c.job_id,
	'directory' AS subject_kind,
	c.owner_path AS subject,
	CASE
		WHEN c.saved_s >= :high_share * c.wall_s THEN 'high'
		WHEN c.saved_s >= :medium_share * c.wall_s THEN 'medium'
		ELSE 'low'
	END AS severity,
	iif(c.exact, 0.85, 0.6) AS confidence,
	printf('writes%s evicted %,d pages of this directory, at least %,d of which had to be fetched again',
		coalesce(' to ' || c.evictor_path, ''), c.pages, c.refaulted_pages) AS summary,
	json_array(
		json_object('metric', 'interference.pages', 'value', c.pages, 'unit', 'pages',
			'scope', 'directory'),
		json_object('metric', 'interference.refaulted_pages_least', 'value', c.refaulted_pages,
			'unit', 'pages', 'scope', 'directory'),
		json_object('metric', 'written_pages', 'value', j.written_pages, 'unit', 'pages',
			'scope', 'job')
	) AS evidence,
	coalesce(c.saved_s, c.refaulted_pages * c.page_size_bytes) AS gain_value,
	iif(c.saved_s IS NULL, 'bytes', 's') AS gain_unit,
	'measured' AS gain_method,
	'pushed-out-by-writes:' || hex(c.owner_path) AS gain_cause,
	NULL AS not_judged
FROM cost c JOIN v_job j ON j.job_id = c.job_id
WHERE c.refaulted_pages >= :min_refaulted
	AND c.refaulted_pages >= :min_share * c.added_pages
UNION ALL
SELECT
	u.job_id, 'job', j.name, 'low', 0.5, '', '[]', NULL, NULL, NULL, NULL, u.why
FROM v_evictors_unknown u JOIN v_job j ON j.job_id = u.job_id
WHERE u.returned_pages >= :min_refaulted
	AND u.returned_pages >= :min_share * j.added_pages
	AND j.written_pages >= :min_refaulted
