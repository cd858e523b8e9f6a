-- SPDX-License-Identifier: BSD-2-Clause
-- id: evicted-by-neighbour
-- title: another job evicts pages that this one needs again
-- version: 2
-- severity: high when the stall it explains is at least high_share of the wall time, medium when at
--           least medium_share, else low
-- needs tables: interference
-- needs counters: refaults evicted_dontneed evicted_truncate demand_pages prefetched_pages added_pages
--           evicted_reclaim evicted_drop_caches evicted_direct_io evicted_other
-- param min_refaulted = 1024 pages -- 4 MiB of 4 KiB pages
-- param min_share = 0.05 ratio -- of the pages that the job brought in
-- param medium_share = 0.05 ratio -- of the wall time
-- param high_share = 0.2 ratio -- of the wall time
WITH pushed AS (
	SELECT
		job_id, who, which AS evictor, sum(pages) AS pages, sum(refaulted_pages) AS refaulted_pages,
		min(exact) AS exact
	FROM v_pushed
	WHERE who IN ('job', 'others')
	GROUP BY job_id, who, which
), cost AS (
	SELECT p.*, j.name, j.added_pages, j.page_size_bytes, w.wall_s,
		w.stall_wall_s * p.refaulted_pages / nullif(j.added_pages, 0) AS saved_s
	FROM pushed p JOIN v_job j ON j.job_id = p.job_id LEFT JOIN v_wall w ON w.job_id = p.job_id
)
SELECT
	c.job_id,
	'job' AS subject_kind,
	c.name AS subject,
	CASE
		WHEN c.saved_s >= :high_share * c.wall_s THEN 'high'
		WHEN c.saved_s >= :medium_share * c.wall_s THEN 'medium'
		ELSE 'low'
	END AS severity,
	iif(c.exact, 0.85, 0.6) AS confidence,
	printf('%s%s evicted %,d of its pages, at least %,d of which had to be fetched again',
		iif(c.who = 'job', 'job ', ''), coalesce(c.evictor, 'others'), c.pages, c.refaulted_pages)
		AS summary,
	json_array(
		json_object('metric', 'interference.pages', 'value', c.pages, 'unit', 'pages', 'scope', 'job'),
		json_object('metric', 'interference.refaulted_pages_least', 'value', c.refaulted_pages,
			'unit', 'pages', 'scope', 'job'),
		json_object('metric', 'interference.evictor_kind', 'value', c.who, 'unit', 'name',
			'scope', 'machine'),
		json_object('metric', 'interference.evictor', 'value', c.evictor, 'unit', 'name',
			'scope', 'machine'),
		json_object('metric', 'interference.exact', 'value', c.exact, 'unit', 'flag', 'scope', 'job')
	) AS evidence,
	coalesce(c.saved_s, c.refaulted_pages * c.page_size_bytes) AS gain_value,
	iif(c.saved_s IS NULL, 'bytes', 's') AS gain_unit,
	'measured' AS gain_method,
	'neighbour:' || coalesce(c.evictor, '') AS gain_cause,
	NULL AS not_judged
FROM cost c
WHERE c.refaulted_pages >= :min_refaulted
	AND c.refaulted_pages >= :min_share * c.added_pages
UNION ALL
SELECT
	u.job_id, 'job', j.name, 'low', 0.5, '', '[]', NULL, NULL, NULL, NULL, u.why
FROM v_evictors_unknown u JOIN v_job j ON j.job_id = u.job_id
WHERE u.returned_pages >= :min_refaulted
	AND u.returned_pages >= :min_share * j.added_pages
