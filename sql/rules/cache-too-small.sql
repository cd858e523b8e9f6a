-- SPDX-License-Identifier: BSD-2-Clause
-- id: cache-too-small
-- title: slightly more cache would turn many misses into hits
-- version: 1
-- severity: low where the curve does not fit what was measured or has no second opinion; else high when the
--           stall that it would save is at least high_share of the wall time, medium when at least
--           medium_share, else low
-- needs tables: analysis_curve
-- needs facts: v_curve_fact.present_pages
-- needs counters: evicted_reclaim_memcg refaults demand_pages prefetched_pages evicted_reclaim evicted_unused
--           evicted_dontneed evicted_drop_caches evicted_direct_io evicted_other
-- param max_growth = 2.0 ratio -- of the present size: what counts as slightly more
-- param min_drop = 0.05 ratio -- of all lookups, which would become hits
-- param min_evicted_pages = 4096 pages -- evicted by reclaim; with fewer the cache was not full
-- param min_returned_pages = 2048 pages -- read again after reclaim; with fewer little was missed
-- param medium_share = 0.05 ratio -- of the wall time
-- param high_share = 0.2 ratio -- of the wall time
WITH here AS ( -- the curve at the smallest size that is at least the present one
	SELECT f.job_id, f.present_pages, f.floor, c.cache_pages, c.miss_ratio, c.low,
		CASE WHEN f.uncertain IS NOT 0 THEN 'it contradicts what was measured'
			WHEN f.second_opinion IN ('same', 'weak') THEN NULL
			ELSE 'refault distances do not confirm it' END AS uncertain
	FROM v_curve_fact f JOIN v_curve c ON c.job_id = f.job_id
	WHERE f.broken IS NOT 1 AND c.cache_pages = (SELECT min(x.cache_pages) FROM v_curve x
		WHERE x.job_id = f.job_id AND x.cache_pages >= f.present_pages)
), best AS ( -- the hit ratio at the largest size that counts as a little more
	SELECT h.job_id, min(c.miss_ratio) AS miss_ratio
	FROM here h JOIN v_curve c ON c.job_id = h.job_id
	WHERE c.cache_pages > h.present_pages AND c.cache_pages <= :max_growth * h.present_pages
	GROUP BY h.job_id
), want AS ( -- the smallest size that gives 90 % of that
	SELECT h.job_id, min(c.cache_pages) AS cache_pages
	FROM here h JOIN best b ON b.job_id = h.job_id JOIN v_curve c ON c.job_id = h.job_id
	WHERE c.cache_pages > h.present_pages AND c.cache_pages <= :max_growth * h.present_pages
		AND h.miss_ratio - c.miss_ratio >= 0.9 * (h.miss_ratio - b.miss_ratio)
	GROUP BY h.job_id
), returned AS (
	SELECT job_id, sum(returned_pages) AS returned_pages FROM v_return GROUP BY job_id
), gain AS (
	SELECT
		h.*, c.cache_pages AS want_pages, c.miss_ratio AS want_miss_ratio, c.high AS want_high,
		h.miss_ratio - c.miss_ratio AS saved_ratio,
		w.stall_wall_s * (h.miss_ratio - c.miss_ratio) / nullif(h.miss_ratio, 0) AS saved_s, w.wall_s,
		r.returned_pages
	FROM here h JOIN want x ON x.job_id = h.job_id
		JOIN v_curve c ON c.job_id = h.job_id AND c.cache_pages = x.cache_pages
		JOIN returned r ON r.job_id = h.job_id
		LEFT JOIN v_wall w ON w.job_id = h.job_id
)
SELECT
	j.job_id,
	'job' AS subject_kind,
	j.name AS subject,
	CASE
		WHEN g.uncertain IS NOT NULL THEN 'low'
		WHEN g.saved_s >= :high_share * g.wall_s THEN 'high'
		WHEN g.saved_s >= :medium_share * g.wall_s THEN 'medium'
		ELSE 'low'
	END AS severity,
	CASE WHEN g.uncertain IS NULL THEN 0.9 WHEN g.uncertain LIKE 'refault%' THEN 0.5 ELSE 0.4 END
		AS confidence,
	printf('with a cache of %,d pages instead of %,d, the miss ratio would be %.0f %% instead of %.0f %%%s',
		g.want_pages, g.present_pages, 100 * g.want_miss_ratio, 100 * g.miss_ratio,
		coalesce('; uncertain: ' || g.uncertain, '')) AS summary,
	json_array(
		json_object('metric', 'curve.present_pages', 'value', g.present_pages, 'unit', 'pages',
			'scope', 'job'),
		json_object('metric', 'curve.miss_ratio', 'value', g.miss_ratio, 'unit', 'ratio',
			'scope', 'present size'),
		json_object('metric', 'curve.want_pages', 'value', g.want_pages, 'unit', 'pages',
			'scope', 'job'),
		json_object('metric', 'curve.miss_ratio', 'value', g.want_miss_ratio, 'unit', 'ratio',
			'scope', 'named size'),
		json_object('metric', 'curve.floor', 'value', g.floor, 'unit', 'ratio', 'scope', 'job'),
		json_object('metric', 'curve.uncertain', 'value', g.uncertain IS NOT NULL, 'unit', 'flag',
			'scope', 'job')
	) AS evidence,
	coalesce(g.saved_s, g.saved_ratio * j.lookups * j.page_size_bytes) AS gain_value,
	iif(g.saved_s IS NULL, 'bytes', 's') AS gain_unit,
	'model' AS gain_method,
	'capacity' AS gain_cause
FROM gain g JOIN v_job j ON j.job_id = g.job_id
WHERE NOT j.sliced
	AND j.evicted_reclaim >= :min_evicted_pages
	AND g.returned_pages >= :min_returned_pages
	AND g.saved_ratio >= :min_drop
	AND g.low - g.want_high > 0
