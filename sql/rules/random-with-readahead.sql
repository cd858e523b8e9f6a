-- SPDX-License-Identifier: BSD-2-Clause
-- id: random-with-readahead
-- title: random reads bring in neighbours that nobody uses
-- version: 2
-- severity: high when the stall that it would save is at least high_share of the wall time, medium when at
--           least medium_share, else low
-- needs counters: evicted_unused used used_late
-- needs tables: analysis_pattern
-- param min_confidence = 0.6 ratio -- of the pattern
-- param min_unused_share = 0.4 ratio -- of the prefetched pages of known fate, those still cached included
-- param min_unused_pages = 2048 pages -- 8 MiB of 4 KiB pages
-- param medium_share = 0.05 ratio -- of the wall time
-- param high_share = 0.2 ratio -- of the wall time
WITH unused AS (
	SELECT
		f.job_id, f.file_id, f.directory_id, f.path, f.pattern, f.pattern_confidence, f.sliced,
		f.page_size_bytes, f.all_used, f.misses, f.prefetched_sync + f.prefetched_async AS ahead_pages,
		f.demand_pages + f.prefetched_pages AS fetched_pages, f.stall_ns,
		-- In a sliced run a page that is still open may have been used while nobody looked.
		f.evicted_unused + iif(f.sliced, 0, f.resident_unused) AS unused_pages
	FROM v_file f
	WHERE f.pattern IN ('random', 'mixed', 'reread', 'shuffled_epoch')
		AND f.pattern_confidence >= :min_confidence
		AND NOT EXISTS (SELECT 1 FROM v_advice a
			WHERE a.file_id = f.file_id AND a.kind = 'random' AND a.call = 'fadvise')
), model AS ( -- what RANDOM would fetch, where the replay can be trusted
	SELECT a.file_id, a.fidelity,
		a.misses + a.prefetched - b.misses - b.prefetched AS saved_pages,
		a.misses + a.prefetched AS now_pages
	FROM v_whatif_readahead a JOIN v_whatif_readahead b
		ON b.traced_file_id = a.traced_file_id AND b.setting = 'random'
	WHERE a.actual = 1 AND a.fidelity >= 0.95
), cost AS (
	SELECT u.*, m.fidelity, coalesce(m.saved_pages, u.unused_pages) AS saved_pages, w.wall_s,
		u.stall_ns * w.s_per_stall_ns * coalesce(m.saved_pages * 1.0 / m.now_pages,
			u.unused_pages * 1.0 / nullif(u.fetched_pages, 0)) AS saved_s
	FROM unused u LEFT JOIN model m ON m.file_id = u.file_id LEFT JOIN v_wall w ON w.job_id = u.job_id
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
	min(0.95, c.pattern_confidence) AS confidence,
	'it is read ' || iif(c.pattern = 'reread', 'again and again, out of order',
			'at random and not advised so') ||
		coalesce(': of ' || c.ahead_pages || ' pages fetched ahead, ',
			': pages were fetched ahead, and ') || c.unused_pages || ' were not used' AS summary,
	json_array(
		json_object('metric', 'unused_pages', 'value', c.unused_pages, 'unit', 'pages',
			'scope', 'file'),
		json_object('metric', 'all_used', 'value', c.all_used, 'unit', 'pages', 'scope', 'file'),
		json_object('metric', 'misses', 'value', c.misses, 'unit', 'pages', 'scope', 'file'),
		json_object('metric', 'pattern.confidence', 'value', c.pattern_confidence, 'unit', 'ratio',
			'scope', 'file'),
		json_object('metric', 'whatif.saved_pages', 'value', iif(c.fidelity IS NULL, NULL, c.saved_pages),
			'unit', 'pages', 'scope', 'random')
	) AS evidence,
	coalesce(c.saved_s, c.saved_pages * c.page_size_bytes) AS gain_value,
	iif(c.saved_s IS NULL, 'bytes', 's') AS gain_unit,
	iif(c.fidelity IS NULL, 'bound', 'model') AS gain_method,
	'readahead:' || c.directory_id AS gain_cause
FROM cost c
WHERE c.unused_pages >= :min_unused_pages
	AND c.unused_pages >= :min_unused_share * (c.unused_pages + c.all_used)
