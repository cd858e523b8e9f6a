-- SPDX-License-Identifier: BSD-2-Clause
-- id: willneed-cut-short
-- title: WILLNEED brought far fewer pages than it asked for
-- version: 1
-- severity: medium when at least min_pages_medium pages were left out, else low
-- needs facts: v_advice.redundant_pages v_advice.pages_brought
-- param max_brought_share = 0.5 ratio -- of the asked pages that were not cached
-- param min_pages = 256 pages -- left out; 1 MiB of 4 KiB pages
-- param min_pages_medium = 65536 pages -- 256 MiB of 4 KiB pages
SELECT
	a.job_id,
	'file' AS subject_kind,
	a.path AS subject,
	CASE WHEN a.pages_missing - a.pages_brought >= :min_pages_medium THEN 'medium' ELSE 'low' END
		AS severity,
	0.95 AS confidence,
	printf('%s asked for %d pages that were not cached and brought %d of them', a.kind,
		a.pages_missing, a.pages_brought) AS summary,
	json_array(
		json_object('metric', 'advice.pages_asked', 'value', a.pages_asked, 'unit', 'pages',
			'scope', 'file'),
		json_object('metric', 'advice.redundant_pages', 'value', a.redundant_pages, 'unit', 'pages',
			'scope', 'file'),
		json_object('metric', 'advice.pages_brought', 'value', a.pages_brought, 'unit', 'pages',
			'scope', 'file'),
		json_object('metric', 'advice.call_limit_pages', 'value', a.call_limit_pages, 'unit', 'pages',
			'scope', 'device')
	) AS evidence,
	(a.pages_missing - a.pages_brought) * a.page_size_bytes AS gain_value,
	'bytes' AS gain_unit,
	'bound' AS gain_method,
	'advice:' || a.advice_id AS gain_cause
FROM v_advice a
WHERE a.kind IN ('willneed', 'readahead')
	AND a.pages_missing - a.pages_brought >= :min_pages
	AND a.pages_brought < :max_brought_share * a.pages_missing
