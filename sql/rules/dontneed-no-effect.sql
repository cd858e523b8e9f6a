-- SPDX-License-Identifier: BSD-2-Clause
-- id: dontneed-no-effect
-- title: DONTNEED dropped few of the pages that it named
-- version: 1
-- severity: medium when the pages kept are at least medium_share of the machine's memory, else low
-- needs tables: advice
-- needs facts: v_named.cached_pages
-- param min_asked_pages = 1024 pages -- cached pages that the calls named; 4 MiB of 4 KiB pages
-- param max_dropped_share = 0.3 ratio -- of those
-- param medium_share = 0.05 ratio -- of the machine's memory
WITH named AS (
	SELECT
		a.job_id, a.advice_id, a.path, a.calls, a.pages_asked, a.pages_dropped, a.page_size_bytes,
		n.cached_pages, f.written_pages, f.mapped_pages_upper_bound,
		-- Pages that every call names again count once.
		min(n.cached_pages - a.pages_dropped, coalesce(f.size_pages, n.cached_pages)) AS kept_pages
	FROM v_advice a JOIN v_named n ON n.advice_id = a.advice_id
		LEFT JOIN v_file f ON f.file_id = a.file_id
	WHERE a.kind = 'dontneed' AND a.call = 'fadvise'
)
SELECT
	n.job_id,
	'file' AS subject_kind,
	n.path AS subject,
	iif(n.kept_pages * n.page_size_bytes >= :medium_share * m.memory_total_bytes, 'medium', 'low') AS severity,
	0.95 AS confidence,
	printf('DONTNEED named %,d cached pages and dropped only %,d', n.cached_pages, n.pages_dropped) AS summary,
	json_array(
		json_object('metric', 'advice.pages_asked', 'value', n.pages_asked, 'unit', 'pages',
			'scope', 'file'),
		json_object('metric', 'advice.cached_pages', 'value', n.cached_pages, 'unit', 'pages',
			'scope', 'file'),
		json_object('metric', 'advice.pages_dropped', 'value', n.pages_dropped, 'unit', 'pages',
			'scope', 'file'),
		json_object('metric', 'written_pages', 'value', n.written_pages, 'unit', 'pages',
			'scope', 'file'),
		json_object('metric', 'mapped_pages_upper_bound', 'value', n.mapped_pages_upper_bound,
			'unit', 'pages', 'scope', 'file')
	) AS evidence,
	n.kept_pages * n.page_size_bytes AS gain_value,
	'bytes' AS gain_unit,
	'bound' AS gain_method,
	'kept:' || n.advice_id AS gain_cause
FROM named n LEFT JOIN v_machine m
WHERE n.cached_pages >= :min_asked_pages
	AND n.pages_dropped <= :max_dropped_share * n.cached_pages
