-- SPDX-License-Identifier: BSD-2-Clause
-- id: readahead-too-large
-- title: readahead windows are much larger than the sequential runs
-- version: 2
-- lever: direct
-- severity: high when the stall that it would save is at least high_share of the wall time, medium when at
--           least medium_share, else low
-- needs counters: evicted_unused used used_late
-- needs tables: analysis_whatif_readahead
-- needs facts: v_replay.faithful_replay
-- param min_fidelity = 0.95 ratio -- of the windows, reproduced exactly; below this no prediction
-- param min_waste_share = 0.3 ratio -- of the pages that the setting in force fetches
-- param min_pages_saved = 4096 pages -- 16 MiB of 4 KiB pages
-- param max_more_misses = 0.25 ratio -- of the pages saved
-- param medium_share = 0.05 ratio -- of the wall time
-- param high_share = 0.2 ratio -- of the wall time
WITH other AS (
	SELECT
		a.job_id, a.traced_file_id, a.file_id, a.path, a.fidelity, a.page_size_bytes,
		a.misses AS now_misses, a.prefetched AS now_prefetched, a.wasted AS now_wasted,
		a.ra_pages AS now_pages, b.setting, b.misses, b.prefetched, b.wasted,
		CAST(substr(b.setting, 7) AS INTEGER) AS ra_kb,
		a.misses + a.prefetched - b.misses - b.prefetched AS saved_pages
	FROM v_whatif_readahead a JOIN v_whatif_readahead b
		ON b.traced_file_id = a.traced_file_id AND b.actual = 0 AND b.setting LIKE 'ra\_kb=%' ESCAPE '\'
	WHERE a.actual = 1 AND a.fidelity >= :min_fidelity
		AND a.wasted >= :min_waste_share * (a.misses + a.prefetched)
		AND CAST(substr(b.setting, 7) AS INTEGER) > 0
		AND CAST(substr(b.setting, 7) AS INTEGER) * 1024 < a.ra_pages * a.page_size_bytes
), best AS ( -- the largest window with 90 % of the possible saving
	SELECT *, row_number() OVER (PARTITION BY traced_file_id ORDER BY ra_kb DESC) AS rank
	FROM (SELECT *, max(saved_pages) OVER (PARTITION BY traced_file_id) AS most FROM other
		WHERE misses - now_misses <= :max_more_misses * saved_pages)
	WHERE saved_pages >= 0.9 * most AND saved_pages >= :min_pages_saved
), cost AS (
	SELECT b.*, f.directory_id, f.stall_ns, w.wall_s,
		f.stall_ns * w.s_per_stall_ns * b.saved_pages
			/ nullif(b.now_misses + b.now_prefetched, 0) AS saved_s
	FROM best b JOIN v_file f ON f.file_id = b.file_id LEFT JOIN v_wall w ON w.job_id = b.job_id
	WHERE b.rank = 1
		-- Random reads have a rule of their own; a smaller window does not help them.
		AND coalesce(f.pattern, '') NOT IN ('random', 'mmap_random')
		-- If the device's window is small, advice enlarged the file's own window.
		AND NOT EXISTS (SELECT 1 FROM v_filesystem x WHERE x.job_id = f.job_id
			AND x.dev_major = f.dev_major AND x.dev_minor = f.dev_minor AND x.read_ahead_kb <= b.ra_kb)
)
SELECT
	c.job_id,
	'file' AS subject_kind,
	c.path AS subject,
	CASE
		WHEN c.saved_s >= :high_share * c.wall_s THEN 'high'
		WHEN c.saved_s >= :medium_share * c.wall_s THEN 'medium'
		ELSE 'low'
	END AS severity,
	0.9 * c.fidelity AS confidence,
	printf('with read_ahead_kb %d instead of %d, its reads would fetch %,d fewer pages and miss %s', c.ra_kb,
		c.now_pages * c.page_size_bytes / 1024, c.saved_pages,
		CASE sign(c.misses - c.now_misses) WHEN 0 THEN 'no more'
			WHEN 1 THEN printf('%,d more', c.misses - c.now_misses)
			ELSE printf('%,d fewer', c.now_misses - c.misses) END) AS summary,
	json_array(
		json_object('metric', 'whatif.wasted', 'value', c.now_wasted, 'unit', 'pages',
			'scope', 'setting in force'),
		json_object('metric', 'whatif.wasted', 'value', c.wasted, 'unit', 'pages', 'scope', c.setting),
		json_object('metric', 'whatif.saved_pages', 'value', c.saved_pages, 'unit', 'pages',
			'scope', c.setting),
		json_object('metric', 'whatif.misses', 'value', c.misses, 'unit', 'pages', 'scope', c.setting),
		json_object('metric', 'whatif.fidelity', 'value', c.fidelity, 'unit', 'ratio', 'scope', 'file')
	) AS evidence,
	coalesce(c.saved_s, c.saved_pages * c.page_size_bytes) AS gain_value,
	iif(c.saved_s IS NULL, 'bytes', 's') AS gain_unit,
	'model' AS gain_method,
	'readahead:' || c.directory_id AS gain_cause
FROM cost c
