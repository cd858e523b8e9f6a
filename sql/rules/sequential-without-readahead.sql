-- SPDX-License-Identifier: BSD-2-Clause
-- id: sequential-without-readahead
-- title: a file is read sequentially with readahead switched off
-- version: 2
-- severity: high when the stall that it would save is at least high_share of the wall time, medium when at
--           least medium_share, else low
-- needs counters: misses lookups read_calls read_bytes
-- needs tables: analysis_pattern
-- param min_confidence = 0.6 ratio -- of the pattern
-- param min_miss_share = 0.5 ratio -- of the lookups
-- param min_misses = 1024 pages -- 4 MiB of 4 KiB pages
-- param max_direct_block_bytes = 131072 bytes -- per O_DIRECT call; larger calls need no readahead
-- param min_direct_bytes = 16777216 bytes -- read with O_DIRECT
-- param assumed_window_pages = 32 pages -- 128 KiB: one readahead request, used when no replay is available
-- param medium_share = 0.05 ratio -- of the wall time
-- param high_share = 0.2 ratio -- of the wall time
WITH off AS (
	SELECT
		f.*,
		CASE
			WHEN f.read_ahead_kb = 0 THEN 'read_ahead_kb is 0'
			WHEN EXISTS (SELECT 1 FROM v_advice a WHERE a.file_id = f.file_id AND a.kind = 'random'
				AND a.call = 'fadvise') THEN 'RANDOM advice was given'
		END AS why
	FROM v_file f
	WHERE iif(f.pattern_confidence >= :min_confidence,
			f.pattern IN ('sequential', 'scan_once', 'reread', 'append_follow'), f.lookups > 0)
		AND f.misses >= :min_misses AND f.misses >= :min_miss_share * f.lookups
), model AS ( -- without RANDOM, or with another window; settings that keep RANDOM save nothing
	SELECT a.file_id, 1 - min(b.requests) * 1.0 / nullif(a.requests, 0) AS saved_share
	FROM v_whatif_readahead a JOIN v_whatif_readahead b
		ON b.traced_file_id = a.traced_file_id AND b.setting IN ('sequential', 'ra_kb=128')
	WHERE a.actual = 1 AND a.fidelity >= 0.95
	GROUP BY a.traced_file_id
	HAVING min(b.requests) < a.requests
), found AS (
	SELECT
		o.job_id, o.file_id, o.path, o.why, o.pattern_confidence, o.misses, o.lookups,
		NULL AS direct_read_bytes, m.saved_share IS NOT NULL AS modelled, w.wall_s,
		o.stall_ns * w.s_per_stall_ns * coalesce(m.saved_share,
			1 - 1.0 / :assumed_window_pages * max(1.0, o.bytes_per_call / o.page_size_bytes)) AS saved_s,
		o.misses * o.page_size_bytes AS bytes,
		iif(o.pattern_confidence >= :min_confidence, NULL,
			o.pattern_doubt || printf(' of %.2f needed', :min_confidence)) AS not_judged
	FROM off o LEFT JOIN model m ON m.file_id = o.file_id LEFT JOIN v_wall w ON w.job_id = o.job_id
	WHERE o.why IS NOT NULL
		-- A call as large as a window gains nothing from readahead.
		AND o.bytes_per_call < :assumed_window_pages * o.page_size_bytes
	UNION ALL
	SELECT
		f.job_id, f.file_id, f.path, 'O_DIRECT is used with small blocks', f.pattern_confidence,
		NULL, NULL, f.direct_read_bytes, 0, w.wall_s, NULL, f.direct_read_bytes,
		iif(json_extract(f.pattern_features, '$.sequential_share') IS NULL,
			'all known conditions hold, but it is not known in which order ' || coalesce(CAST(f.path AS TEXT), 'a file without a name')
			|| ' is read with O_DIRECT', NULL)
	FROM v_file f LEFT JOIN v_wall w ON w.job_id = f.job_id
	WHERE f.direct_read_bytes >= :min_direct_bytes
		AND f.direct_read_bytes <= :max_direct_block_bytes * f.direct_read_calls
		AND iif(json_extract(f.pattern_features, '$.sequential_share') IS NULL, 1,
			json_extract(f.pattern_features, '$.sequential_share') >= :min_confidence)
)
SELECT
	d.job_id,
	'file' AS subject_kind,
	d.path AS subject,
	CASE
		WHEN d.saved_s >= :high_share * d.wall_s THEN 'high'
		WHEN d.saved_s >= :medium_share * d.wall_s THEN 'medium'
		ELSE 'low'
	END AS severity,
	min(0.95, d.pattern_confidence) AS confidence,
	printf('the file is read sequentially without readahead: %s', d.why) AS summary,
	iif(d.not_judged IS NULL, json_array( -- files in doubt need no evidence
		json_object('metric', 'misses', 'value', d.misses, 'unit', 'pages', 'scope', 'file'),
		json_object('metric', 'lookups', 'value', d.lookups, 'unit', 'pages', 'scope', 'file'),
		json_object('metric', 'direct_read_bytes', 'value', d.direct_read_bytes, 'unit', 'bytes',
			'scope', 'file'),
		json_object('metric', 'pattern.confidence', 'value', d.pattern_confidence, 'unit', 'ratio',
			'scope', 'file')
	), NULL) AS evidence,
	coalesce(d.saved_s, d.bytes) AS gain_value,
	iif(d.saved_s IS NULL, 'bytes', 's') AS gain_unit,
	iif(d.modelled, 'model', 'bound') AS gain_method,
	'readahead-off:' || d.file_id AS gain_cause,
	d.not_judged
FROM found d
