-- SPDX-License-Identifier: BSD-2-Clause
-- id: willneed-cut-short
-- title: WILLNEED brought far fewer pages than it asked for
-- version: 1
-- severity: high when the stall that goes with the pages left out is at least high_share of the wall time,
--           medium when at least medium_share, else low
-- needs tables: advice
-- needs facts: v_advice.pages_brought
-- param max_brought_share = 0.7 ratio -- of the asked pages that were not cached
-- param min_short_pages = 256 pages -- left out; 1 MiB of 4 KiB pages
-- param min_fetched_later_share = 0.5 ratio -- of those left out, the file's other reads had to bring in
-- param medium_share = 0.05 ratio -- of the wall time
-- param high_share = 0.2 ratio -- of the wall time
WITH asked AS (
	SELECT
		a.*, f.stall_ns, f.demand_pages + f.prefetched_pages AS fetched_pages,
		f.demand_pages + f.prefetched_sync + f.prefetched_async + f.prefetched_mmap_around AS later_pages,
		f.added_pages - f.refaults AS first_pages, w.s_per_stall_ns, w.wall_s,
		-- A page that is asked for again by each call counts in pages_asked each time: no more than
		-- the file has can be missing.
		min(coalesce(a.pages_missing, a.pages_asked), (f.size_bytes + a.page_size_bytes - 1)
			/ a.page_size_bytes) AS wanted_pages
	FROM v_advice a JOIN v_file f ON f.file_id = a.file_id LEFT JOIN v_wall w ON w.job_id = a.job_id
	WHERE a.kind IN ('willneed', 'readahead')
), short AS (
	SELECT *, wanted_pages - pages_brought AS short_pages,
		stall_ns * s_per_stall_ns * min(later_pages, wanted_pages - pages_brought)
			/ nullif(fetched_pages, 0) AS saved_s
	FROM asked
)
SELECT
	s.job_id,
	'file' AS subject_kind,
	s.path AS subject,
	CASE
		WHEN s.saved_s >= :high_share * s.wall_s THEN 'high'
		WHEN s.saved_s >= :medium_share * s.wall_s THEN 'medium'
		ELSE 'low'
	END AS severity,
	iif(s.pages_missing IS NULL, 0.7, 0.95) AS confidence,
	printf('%s asked for %d pages that were not cached and brought %d; other reads fetched %d later',
		s.kind, s.wanted_pages, s.pages_brought, s.later_pages) AS summary,
	json_array(
		json_object('metric', 'advice.pages_asked', 'value', s.pages_asked, 'unit', 'pages',
			'scope', 'file'),
		json_object('metric', 'advice.redundant_pages', 'value', s.redundant_pages, 'unit', 'pages',
			'scope', 'file'),
		json_object('metric', 'advice.pages_brought', 'value', s.pages_brought, 'unit', 'pages',
			'scope', 'file'),
		json_object('metric', 'fetched_later', 'value', s.later_pages, 'unit', 'pages',
			'scope', 'file'),
		json_object('metric', 'advice.call_limit_pages', 'value', s.call_limit_pages, 'unit', 'pages',
			'scope', 'device')
	) AS evidence,
	coalesce(s.saved_s, s.short_pages * s.page_size_bytes) AS gain_value,
	iif(s.saved_s IS NULL, 'bytes', 's') AS gain_unit,
	'bound' AS gain_method,
	'advice:' || s.advice_id AS gain_cause
FROM short s
WHERE s.short_pages >= :min_short_pages
	AND s.pages_brought < :max_brought_share * s.wanted_pages
	AND s.later_pages >= :min_fetched_later_share * s.short_pages
	-- Without a count of what was cached already: all of the file came in this run, and only calls that
	-- brought something are in the sums.
	AND (s.pages_missing IS NOT NULL
		OR (s.advice_mode = 'effects' AND s.first_pages >= 0.9 * s.wanted_pages))
