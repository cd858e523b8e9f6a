-- SPDX-License-Identifier: BSD-2-Clause
-- id: scan-pollutes-cache
-- title: files that are read once evict pages that are needed again
-- version: 1
-- severity: high when the stall it explains is at least high_share of the wall time, medium when at
--           least medium_share, else low
-- needs tables: interference
-- needs counters: refaults evicted_unused evicted_dontneed demand_pages prefetched_pages added_pages
--           evicted_reclaim evicted_drop_caches evicted_direct_io evicted_other
-- param min_refaulted = 1024 pages -- 4 MiB of 4 KiB pages
-- param min_share = 0.05 ratio -- of the pages brought in for the directory that lost pages
-- param max_scan_refault_share = 0.1 ratio -- of the pages brought in for the directory that is read once
-- param medium_share = 0.05 ratio -- of the wall time
-- param high_share = 0.2 ratio -- of the wall time
WITH pushed AS (
	SELECT *
	FROM v_pushed
	WHERE who = 'own reads' AND evictor_path IS NOT NULL AND evictor_path <> owner_path
), cost AS (
	SELECT p.*, d.added_pages, d.page_size_bytes, e.refaults AS scan_refaults,
		e.added_pages AS scan_pages, w.wall_s,
		d.stall_ns * w.s_per_stall_ns * p.refaulted_pages / nullif(d.added_pages, 0) AS saved_s
	FROM pushed p
		JOIN v_directory d ON d.job_id = p.job_id AND d.path = p.owner_path
		JOIN v_directory e ON e.job_id = p.job_id AND e.path = p.evictor_path
		LEFT JOIN v_wall w ON w.job_id = p.job_id
)
SELECT
	c.job_id,
	'directory' AS subject_kind,
	c.evictor_path AS subject,
	CASE
		WHEN c.saved_s >= :high_share * c.wall_s THEN 'high'
		WHEN c.saved_s >= :medium_share * c.wall_s THEN 'medium'
		ELSE 'low'
	END AS severity,
	iif(c.exact, 0.85, 0.6) AS confidence,
	printf('reading this directory once evicted %,d pages of %s, at least %,d of which had to be fetched again', c.pages,
		c.owner_path, c.refaulted_pages) AS summary,
	json_array(
		json_object('metric', 'interference.pages', 'value', c.pages, 'unit', 'pages',
			'scope', 'directory'),
		json_object('metric', 'interference.refaulted_pages_least', 'value', c.refaulted_pages,
			'unit', 'pages', 'scope', 'directory'),
		json_object('metric', 'added_pages', 'value', c.scan_pages, 'unit', 'pages',
			'scope', 'directory that is read once'),
		json_object('metric', 'refaults', 'value', c.scan_refaults, 'unit', 'pages',
			'scope', 'directory that is read once')
	) AS evidence,
	coalesce(c.saved_s, c.refaulted_pages * c.page_size_bytes) AS gain_value,
	iif(c.saved_s IS NULL, 'bytes', 's') AS gain_unit,
	'measured' AS gain_method,
	'pushed-out:' || hex(c.owner_path) AS gain_cause
FROM cost c
WHERE c.refaulted_pages >= :min_refaulted
	AND c.refaulted_pages >= :min_share * c.added_pages
	AND c.scan_refaults <= :max_scan_refault_share * c.scan_pages
