-- SPDX-License-Identifier: BSD-2-Clause
-- id: interleaved-streams
-- title: several streams share an open file and disturb each other's readahead
-- version: 3
-- severity: high when the stall in this file's misses is at least high_share of the wall time, medium when at
--           least medium_share, else low
-- needs counters: misses lookups evicted_unused
-- needs tables: analysis_pattern
-- param min_confidence = 0.6 ratio -- of the pattern
-- param min_bad_share = 0.2 ratio -- misses of the lookups, or unused of the prefetched pages
-- param min_bad_pages = 512 pages -- 2 MiB of 4 KiB pages
-- param medium_share = 0.05 ratio -- of the wall time
-- param high_share = 0.2 ratio -- of the wall time
WITH bad AS (
	SELECT f.*, w.wall_s,
		f.evicted_unused + iif(f.sliced, 0, f.resident_unused) AS unused_pages,
		f.stall_ns * w.s_per_stall_ns * f.misses / nullif(f.misses + f.used_late, 0) AS saved_s
	FROM v_file f LEFT JOIN v_wall w ON w.job_id = f.job_id
	WHERE iif(f.pattern_confidence >= :min_confidence, f.pattern = 'interleaved', f.lookups > 0)
)
SELECT
	b.job_id,
	'file' AS subject_kind,
	b.path AS subject,
	CASE
		WHEN b.saved_s >= :high_share * b.wall_s THEN 'high'
		WHEN b.saved_s >= :medium_share * b.wall_s THEN 'medium'
		ELSE 'low'
	END AS severity,
	min(0.95, b.pattern_confidence) AS confidence,
	printf('several streams share the open file: %,d of %,d lookups missed, and %,d prefetched pages were not used',
		b.misses, b.lookups, b.unused_pages) AS summary,
	iif(b.pattern_confidence >= :min_confidence, json_array( -- files in doubt need no evidence
		json_object('metric', 'misses', 'value', b.misses, 'unit', 'pages', 'scope', 'file'),
		json_object('metric', 'lookups', 'value', b.lookups, 'unit', 'pages', 'scope', 'file'),
		json_object('metric', 'unused_pages', 'value', b.unused_pages, 'unit', 'pages',
			'scope', 'file'),
		json_object('metric', 'window_pages_mean', 'value', b.window_pages_mean, 'unit', 'pages',
			'scope', 'file')
	), NULL) AS evidence,
	coalesce(b.saved_s, (b.misses + b.unused_pages) * b.page_size_bytes) AS gain_value,
	iif(b.saved_s IS NULL, 'bytes', 's') AS gain_unit,
	'bound' AS gain_method,
	'interleaved:' || b.file_id AS gain_cause,
	iif(b.pattern_confidence >= :min_confidence, NULL,
		b.pattern_doubt || printf(' of %.2f needed', :min_confidence)) AS not_judged
FROM bad b
WHERE (b.misses >= :min_bad_pages AND b.misses >= :min_bad_share * b.lookups)
	OR (b.unused_pages >= :min_bad_pages
		AND b.unused_pages >= :min_bad_share * (b.unused_pages + b.all_used))
