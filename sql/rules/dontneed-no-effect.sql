-- SPDX-License-Identifier: BSD-2-Clause
-- id: dontneed-no-effect
-- title: DONTNEED dropped little of what it named
-- version: 1
-- severity: medium when the pages kept are at least medium_share of the machine's memory, else low
-- needs tables: advice
-- needs facts: v_advice.pages_dropped
-- param min_asked_pages = 1024 pages -- named, and seen to be brought in or written by this run
-- param max_dropped_share = 0.3 ratio -- of those
-- param medium_share = 0.05 ratio -- of the machine's memory
WITH named AS (
	SELECT
		a.*, f.written_pages, f.mapped_pages_upper_bound,
		-- What the run brought in and did not see leave otherwise, one pass of it: more can hardly
		-- have been there when it was named.
		min(a.pages_asked, f.size_pages,
			f.added_pages - (f.evicted_pages - f.evicted_dontneed)) AS cached_pages,
		-- A call at each pass drops again: what one pass dropped, on average.
		a.pages_dropped * 1.0 / max(1, a.pages_asked / nullif(f.size_pages, 0)) AS dropped_each
	FROM v_advice a JOIN v_file f ON f.file_id = a.file_id
	WHERE a.kind = 'dontneed' AND a.call = 'fadvise'
)
SELECT
	n.job_id,
	'file' AS subject_kind,
	n.path AS subject,
	CASE
		WHEN (n.cached_pages - n.dropped_each) * n.page_size_bytes >= :medium_share * m.memory_total_bytes
		THEN 'medium' ELSE 'low'
	END AS severity,
	iif(n.advice_mode = 'calls', 0.9, 0.6) AS confidence,
	printf('it named %d pages that this run had cached, and dropped %d', n.cached_pages, n.pages_dropped)
		AS summary,
	json_array(
		json_object('metric', 'advice.pages_asked', 'value', n.pages_asked, 'unit', 'pages',
			'scope', 'file'),
		json_object('metric', 'cached_pages', 'value', n.cached_pages, 'unit', 'pages',
			'scope', 'file'),
		json_object('metric', 'advice.pages_dropped', 'value', n.pages_dropped, 'unit', 'pages',
			'scope', 'file'),
		json_object('metric', 'written_pages', 'value', n.written_pages, 'unit', 'pages',
			'scope', 'file'),
		json_object('metric', 'mapped_pages_upper_bound', 'value', n.mapped_pages_upper_bound,
			'unit', 'pages', 'scope', 'file')
	) AS evidence,
	CAST((n.cached_pages - n.dropped_each) * n.page_size_bytes AS INTEGER) AS gain_value,
	'bytes' AS gain_unit,
	'bound' AS gain_method,
	'kept:' || n.advice_id AS gain_cause
FROM named n LEFT JOIN v_machine m
WHERE n.cached_pages >= :min_asked_pages
	AND n.dropped_each <= :max_dropped_share * n.cached_pages
