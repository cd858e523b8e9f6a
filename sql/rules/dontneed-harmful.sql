-- SPDX-License-Identifier: BSD-2-Clause
-- id: dontneed-harmful
-- title: pages dropped by advice were read again
-- version: 1
-- severity: high when the stall that goes with them is at least high_share of the wall time, medium when at
--           least medium_share, else low
-- needs counters: evicted_dontneed refaults
-- param min_returned_share = 0.3 ratio -- of the pages that the advice dropped
-- param min_returned_pages = 1024 pages -- 4 MiB of 4 KiB pages
-- param medium_share = 0.05 ratio -- of the wall time
-- param high_share = 0.2 ratio -- of the wall time
WITH dropped AS (
	SELECT
		d.job_id, d.directory_id, d.path, d.page_size_bytes, d.evicted_dontneed, d.refaults,
		d.refault_misses, d.demand_pages + d.prefetched_pages AS fetched_pages, d.stall_ns,
		x.dropped_refaults IS NOT NULL AS recorded,
		-- Where it is not known which came back: those that no other cause can explain.
		min(d.evicted_dontneed, coalesce(x.dropped_refaults,
			d.refaults - (d.evicted_pages - d.evicted_dontneed - d.evicted_truncate))) AS returned_pages
	FROM v_directory d
		LEFT JOIN v_dropped x ON x.job_id = d.job_id AND x.directory_id = d.directory_id
	WHERE d.evicted_dontneed > 0
), cost AS (
	SELECT d.*, w.wall_s,
		d.stall_ns * w.s_per_stall_ns * d.returned_pages / nullif(d.fetched_pages, 0) AS saved_s
	FROM dropped d LEFT JOIN v_wall w ON w.job_id = d.job_id
)
SELECT
	c.job_id,
	'directory' AS subject_kind,
	c.path AS subject,
	CASE
		WHEN c.saved_s >= :high_share * c.wall_s THEN 'high'
		WHEN c.saved_s >= :medium_share * c.wall_s THEN 'medium'
		ELSE 'low'
	END AS severity,
	iif(c.recorded, 0.95, 0.85) AS confidence,
	printf('of %d pages that advice dropped, %d came back', c.evicted_dontneed, c.returned_pages) AS summary,
	json_array(
		json_object('metric', 'evicted_pages.dontneed', 'value', c.evicted_dontneed, 'unit', 'pages',
			'scope', 'directory'),
		json_object('metric', 'returned_pages', 'value', c.returned_pages, 'unit', 'pages',
			'scope', 'directory'),
		json_object('metric', 'refaults', 'value', c.refaults, 'unit', 'pages', 'scope', 'directory'),
		json_object('metric', 'refault_misses', 'value', c.refault_misses, 'unit', 'pages',
			'scope', 'directory'),
		json_object('metric', 'stall_ns', 'value', c.stall_ns, 'unit', 'ns', 'scope', 'directory')
	) AS evidence,
	coalesce(c.saved_s, c.returned_pages * c.page_size_bytes) AS gain_value,
	iif(c.saved_s IS NULL, 'bytes', 's') AS gain_unit,
	'measured' AS gain_method,
	'dontneed:' || c.directory_id AS gain_cause
FROM cost c
WHERE c.returned_pages >= :min_returned_pages
	AND c.returned_pages >= :min_returned_share * c.evicted_dontneed
