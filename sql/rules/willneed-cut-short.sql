-- SPDX-License-Identifier: BSD-2-Clause
-- id: willneed-cut-short
-- title: WILLNEED fetched far fewer pages than requested
-- version: 2
-- severity: high when the stall explained by the missing pages is at least high_share of the wall time,
--           medium when at least medium_share, else low
-- needs counters: demand_pages prefetched_pages
-- needs tables: advice
-- needs facts: v_asked.pages_brought
-- param max_brought_share = 0.7 ratio -- of the requested pages that were not cached
-- param min_short_pages = 256 pages -- not fetched; 1 MiB of 4 KiB pages
-- param min_fetched_later_share = 0.5 ratio -- of the missing pages, fetched later by other reads of the file
-- param medium_share = 0.05 ratio -- of the wall time
-- param high_share = 0.2 ratio -- of the wall time
WITH asked AS (
	SELECT
		a.*, f.directory_id, f.stall_ns, f.demand_pages + f.prefetched_pages AS fetched_pages,
		f.demand_pages + f.prefetched_sync + f.prefetched_async + f.prefetched_mmap_around AS later_pages,
		f.added_pages - f.refaults AS first_pages, w.s_per_stall_ns, w.wall_s,
		-- Repeated requests for a page add to pages_asked each time. The file's size bounds
		-- the missing pages.
		min(coalesce(a.pages_missing, a.pages_asked), (f.size_bytes + a.page_size_bytes - 1)
			/ a.page_size_bytes) AS wanted_pages
	FROM v_asked a JOIN v_file f ON f.file_id = a.file_id LEFT JOIN v_wall w ON w.job_id = a.job_id
), cut AS (
	SELECT *, wanted_pages - pages_brought AS short_pages,
		-- The number of pages already cached is not known here. So require that all of the
		-- file came in during this run, and that every call counted brought something.
		iif(pages_missing IS NOT NULL OR (advice_mode = 'effects' AND first_pages >= 0.9 * wanted_pages),
			1, 0) AS is_known,
		stall_ns * s_per_stall_ns * min(later_pages, wanted_pages - pages_brought)
			/ nullif(fetched_pages, 0) AS saved_s
	FROM asked
	WHERE wanted_pages - pages_brought >= :min_short_pages
		AND pages_brought < :max_brought_share * wanted_pages
		AND later_pages >= :min_fetched_later_share * (wanted_pages - pages_brought)
), whole AS ( -- shards of a dataset are one finding
	SELECT
		job_id, directory_id, is_known, count(*) AS files, max(path) AS path, min(kind) AS kind,
		sum(pages_asked) AS pages_asked, sum(redundant_pages) AS redundant_pages,
		sum(wanted_pages) AS wanted_pages, sum(pages_brought) AS pages_brought,
		sum(later_pages) AS later_pages, sum(short_pages) AS short_pages,
		max(call_limit_pages) AS call_limit_pages, max(page_size_bytes) AS page_size_bytes,
		min(pages_missing IS NOT NULL) AS counted, sum(saved_s) AS saved_s, max(wall_s) AS wall_s
	FROM cut
	GROUP BY job_id, directory_id, is_known
)
SELECT
	s.job_id,
	iif(s.files = 1 OR d.path IS NULL, 'file', 'directory') AS subject_kind,
	iif(s.files = 1 OR d.path IS NULL, s.path, d.path) AS subject,
	CASE
		WHEN s.saved_s >= :high_share * s.wall_s THEN 'high'
		WHEN s.saved_s >= :medium_share * s.wall_s THEN 'medium'
		ELSE 'low'
	END AS severity,
	iif(s.counted, 0.95, 0.7) AS confidence,
	printf('%s requested %,d pages that were not cached, but fetched only %,d; reads fetched %,d more later',
		s.kind, s.wanted_pages, s.pages_brought, s.later_pages) AS summary,
	json_array(
		json_object('metric', 'advice.pages_asked', 'value', s.pages_asked, 'unit', 'pages',
			'scope', 'advice'),
		json_object('metric', 'advice.redundant_pages', 'value', s.redundant_pages, 'unit', 'pages',
			'scope', 'advice'),
		json_object('metric', 'advice.pages_brought', 'value', s.pages_brought, 'unit', 'pages',
			'scope', 'advice'),
		json_object('metric', 'fetched_later', 'value', s.later_pages, 'unit', 'pages',
			'scope', 'files asked for'),
		json_object('metric', 'advice.call_limit_pages', 'value', s.call_limit_pages, 'unit', 'pages',
			'scope', 'device')
	) AS evidence,
	coalesce(s.saved_s, s.short_pages * s.page_size_bytes) AS gain_value,
	iif(s.saved_s IS NULL, 'bytes', 's') AS gain_unit,
	'bound' AS gain_method,
	'cut-short:' || coalesce(s.directory_id, 0) AS gain_cause,
	iif(s.is_known, NULL, 'all known conditions hold, but it is not known how many of the requested pages of '
		|| coalesce(CAST(s.path AS TEXT), 'a file without a name')
		|| ' were already cached') AS not_judged
FROM whole s LEFT JOIN v_directory d ON d.directory_id = s.directory_id
