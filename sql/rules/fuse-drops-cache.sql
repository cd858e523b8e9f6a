-- SPDX-License-Identifier: BSD-2-Clause
-- id: fuse-drops-cache
-- title: a filesystem invalidates cached pages that are read again
-- version: 1
-- severity: high when the stall that it could save is at least high_share of the wall time, medium when at
--           least medium_share, else low
-- needs counters: evicted_invalidate refaults evicted_truncate demand_pages prefetched_pages evicted_reclaim_kswapd
--           evicted_reclaim_direct evicted_reclaim_memcg evicted_dontneed evicted_drop_caches evicted_direct_io
--           evicted_other
-- param min_returned_share = 0.3 ratio -- of the pages that were dropped
-- param min_returned_pages = 1024 pages -- 4 MiB of 4 KiB pages
-- param medium_share = 0.05 ratio -- of the wall time
-- param high_share = 0.2 ratio -- of the wall time
WITH dropped AS (
	SELECT
		x.filesystem_id, x.job_id, x.mount, x.type, x.page_size_bytes, x.evicted_invalidate, x.refaults,
		x.refault_misses, x.stall_ns, x.demand_pages + x.prefetched_pages AS fetched_pages,
		-- Refaults that no other cause can explain. Pages that are written again need not
		-- be fetched.
		min(x.evicted_invalidate, x.demand_pages + x.prefetched_pages,
			x.refaults - (x.evicted_pages - x.evicted_invalidate - x.evicted_truncate))
			AS returned_pages
	FROM v_filesystem x
	WHERE x.evicted_invalidate > 0
), cost AS (
	SELECT d.*, w.wall_s,
		d.stall_ns * w.s_per_stall_ns * d.returned_pages / nullif(d.fetched_pages, 0) AS saved_s
	FROM dropped d LEFT JOIN v_wall w ON w.job_id = d.job_id
)
SELECT
	c.job_id,
	'device' AS subject_kind,
	coalesce(c.mount, c.type) AS subject,
	CASE
		WHEN c.saved_s >= :high_share * c.wall_s THEN 'high'
		WHEN c.saved_s >= :medium_share * c.wall_s THEN 'medium'
		ELSE 'low'
	END AS severity,
	0.9 AS confidence,
	printf('%s invalidated %,d cached pages, %,d of which were read again',
		coalesce(c.type, 'its filesystem'), c.evicted_invalidate, c.returned_pages) AS summary,
	json_array(
		json_object('metric', 'evicted_pages.invalidate', 'value', c.evicted_invalidate, 'unit', 'pages',
			'scope', 'filesystem'),
		json_object('metric', 'returned_pages', 'value', c.returned_pages, 'unit', 'pages',
			'scope', 'filesystem'),
		json_object('metric', 'refaults', 'value', c.refaults, 'unit', 'pages', 'scope', 'filesystem'),
		json_object('metric', 'refault_misses', 'value', c.refault_misses, 'unit', 'pages',
			'scope', 'filesystem'),
		json_object('metric', 'stall_ns', 'value', c.stall_ns, 'unit', 'ns', 'scope', 'filesystem')
	) AS evidence,
	coalesce(c.saved_s, c.returned_pages * c.page_size_bytes) AS gain_value,
	iif(c.saved_s IS NULL, 'bytes', 's') AS gain_unit,
	'measured' AS gain_method,
	'invalidate:' || c.filesystem_id AS gain_cause
FROM cost c
WHERE c.returned_pages >= :min_returned_pages
	AND c.returned_pages >= :min_returned_share * c.evicted_invalidate
