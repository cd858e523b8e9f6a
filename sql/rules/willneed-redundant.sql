-- SPDX-License-Identifier: BSD-2-Clause
-- id: willneed-redundant
-- title: WILLNEED advice requests pages that are already cached
-- version: 2
-- severity: low
-- needs tables: advice
-- needs facts: v_asked.redundant_pages
-- param min_redundant_share = 0.8 ratio -- of the requested pages
-- param min_redundant_pages = 16384 pages -- 64 MiB of 4 KiB pages that were already cached
-- param page_ns = 20 ns -- maximum time that a call spends per cached page
WITH whole AS (
	SELECT
		a.job_id, f.directory_id, count(*) AS files, max(a.path) AS path,
		sum(a.redundant_pages) AS redundant_pages, sum(a.pages_asked) AS pages_asked, sum(a.calls) AS calls
	FROM v_asked a LEFT JOIN v_file f ON f.file_id = a.file_id
	GROUP BY a.job_id, f.directory_id
	HAVING count(a.redundant_pages) = count(*) AND count(a.pages_asked) = count(*)
)
SELECT
	b.job_id,
	iif(b.files = 1 OR d.path IS NULL, 'file', 'directory') AS subject_kind,
	iif(b.files = 1 OR d.path IS NULL, b.path, d.path) AS subject,
	'low' AS severity,
	0.9 AS confidence,
	printf('WILLNEED requested %,d pages%s, %,d of which were already cached', b.pages_asked,
		iif(b.calls IS NULL, '', printf(' in %,d calls', b.calls)), b.redundant_pages) AS summary,
	json_array(
		json_object('metric', 'advice.redundant_pages', 'value', b.redundant_pages, 'unit', 'pages',
			'scope', 'advice'),
		json_object('metric', 'advice.pages_asked', 'value', b.pages_asked, 'unit', 'pages',
			'scope', 'advice'),
		json_object('metric', 'advice.calls', 'value', b.calls, 'unit', 'calls', 'scope', 'advice')
	) AS evidence,
	b.redundant_pages * :page_ns / 1e9 AS gain_value,
	's' AS gain_unit,
	'bound' AS gain_method,
	'redundant:' || coalesce(b.directory_id, 0) AS gain_cause
FROM whole b LEFT JOIN v_directory d ON d.directory_id = b.directory_id
WHERE b.redundant_pages >= :min_redundant_pages
	AND b.redundant_pages >= :min_redundant_share * b.pages_asked
