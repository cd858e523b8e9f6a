-- SPDX-License-Identifier: BSD-2-Clause
-- id: willneed-unused
-- title: pages that WILLNEED advice fetched were not read
-- version: 2
-- severity: high when the stall they explain is at least high_share of the wall time, medium when at
--           least medium_share, else low
-- needs tables: advice
-- needs facts: v_asked.evicted_unused v_asked.used
-- param min_unused_share = 0.4 ratio -- of the fetched pages with a known fate
-- param min_unused_pages = 2048 pages -- 8 MiB of 4 KiB pages
-- param medium_share = 0.05 ratio -- of the wall time
-- param high_share = 0.2 ratio -- of the wall time
WITH brought AS (
	SELECT
		a.*, d.directory_id, f.demand_pages + f.prefetched_pages AS fetched_pages, f.stall_ns, w.wall_s,
		w.s_per_stall_ns, a.evicted_unused + a.resident_unused AS unused_pages
	FROM v_asked a JOIN v_job j ON j.job_id = a.job_id LEFT JOIN v_file f ON f.file_id = a.file_id
		LEFT JOIN v_directory d ON d.directory_id = f.directory_id
		LEFT JOIN v_wall w ON w.job_id = a.job_id
	-- In a sliced run, a page without a fate may have been used between slices.
	WHERE NOT j.sliced
), whole AS ( -- a dataset of many files is one finding
	SELECT
		job_id, directory_id, count(*) AS files, max(path) AS path, sum(unused_pages) AS unused_pages,
		sum(evicted_unused) AS evicted_unused, sum(used + used_late) AS used_pages,
		sum(pages_brought) AS pages_brought, max(page_size_bytes) AS page_size_bytes,
		max(wall_s) AS wall_s,
		sum(stall_ns * s_per_stall_ns * unused_pages / nullif(fetched_pages, 0)) AS saved_s
	FROM brought
	GROUP BY job_id, directory_id
	HAVING count(unused_pages) = count(*) AND count(used + used_late) = count(*)
)
SELECT
	b.job_id,
	iif(b.files = 1 OR d.path IS NULL, 'file', 'directory') AS subject_kind,
	iif(b.files = 1 OR d.path IS NULL, b.path, d.path) AS subject,
	CASE
		WHEN b.saved_s >= :high_share * b.wall_s THEN 'high'
		WHEN b.saved_s >= :medium_share * b.wall_s THEN 'medium'
		ELSE 'low'
	END AS severity,
	0.9 AS confidence,
	printf('WILLNEED advice fetched %s pages; %,d of them were not read, and %,d of those were evicted',
		-- A call that was in progress when the run began may have brought pages that were
		-- not counted.
		iif(b.pages_brought >= b.unused_pages, printf('%,d', b.pages_brought), 'some'), b.unused_pages, b.evicted_unused) AS summary,
	json_array(
		json_object('metric', 'advice.pages_brought', 'value', b.pages_brought, 'unit', 'pages',
			'scope', 'advice'),
		json_object('metric', 'advice.unused_pages', 'value', b.unused_pages, 'unit', 'pages',
			'scope', 'advice'),
		json_object('metric', 'advice.evicted_unused', 'value', b.evicted_unused, 'unit', 'pages',
			'scope', 'advice'),
		json_object('metric', 'advice.used_pages', 'value', b.used_pages, 'unit', 'pages',
			'scope', 'advice')
	) AS evidence,
	coalesce(b.saved_s, b.unused_pages * b.page_size_bytes) AS gain_value,
	iif(b.saved_s IS NULL, 'bytes', 's') AS gain_unit,
	'measured' AS gain_method,
	'readahead:' || coalesce(b.directory_id, 0) AS gain_cause
FROM whole b LEFT JOIN v_directory d ON d.directory_id = b.directory_id
WHERE b.unused_pages >= :min_unused_pages
	AND b.unused_pages >= :min_unused_share * (b.unused_pages + b.used_pages)
