-- SPDX-License-Identifier: BSD-2-Clause
-- id: stride-defeats-readahead
-- title: readahead does not recognise the constant stride of the reads
-- version: 2
-- severity: high when the stall in these misses is at least high_share of the wall time, medium when at least
--           medium_share, else low
-- needs counters: misses lookups
-- needs tables: analysis_pattern
-- param min_confidence = 0.6 ratio -- of the pattern
-- param min_miss_share = 0.5 ratio -- of the lookups
-- param min_misses = 512 pages -- 2 MiB of 4 KiB pages; each piece waits separately
-- param medium_share = 0.05 ratio -- of the wall time
-- param high_share = 0.2 ratio -- of the wall time
WITH cost AS (
	SELECT f.*, w.wall_s,
		f.stall_ns * w.s_per_stall_ns * f.misses / nullif(f.misses + f.used_late, 0) AS saved_s
	FROM v_file f LEFT JOIN v_wall w ON w.job_id = f.job_id
	WHERE iif(f.pattern_confidence >= :min_confidence, f.pattern = 'strided', f.lookups > 0)
		AND f.misses >= :min_misses AND f.misses >= :min_miss_share * f.lookups
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
	printf('the file is read at a constant stride, and %,d of %,d lookups missed', c.misses, c.lookups)
		AS summary,
	iif(c.pattern_confidence >= :min_confidence, json_array( -- files in doubt need no evidence
		json_object('metric', 'misses', 'value', c.misses, 'unit', 'pages', 'scope', 'file'),
		json_object('metric', 'lookups', 'value', c.lookups, 'unit', 'pages', 'scope', 'file'),
		json_object('metric', 'stride', 'value', json_extract(c.pattern_features, '$.stride_bytes'),
			'unit', 'bytes', 'scope', 'file'),
		json_object('metric', 'stall_ns', 'value', c.stall_ns, 'unit', 'ns', 'scope', 'file')
	), NULL) AS evidence,
	coalesce(c.saved_s, c.misses * c.page_size_bytes) AS gain_value,
	iif(c.saved_s IS NULL, 'bytes', 's') AS gain_unit,
	'bound' AS gain_method,
	'stride:' || c.file_id AS gain_cause,
	iif(c.pattern_confidence >= :min_confidence, NULL,
		c.pattern_doubt || printf(' of %.2f needed', :min_confidence)) AS not_judged
FROM cost c
