-- SPDX-License-Identifier: BSD-2-Clause
-- id: prefetch-waste
-- title: many prefetched pages were evicted before use
-- version: 2
-- lever: symptom
-- severity: high when at least high_share of the prefetched pages with a fate were wasted, else medium; low
--           below min_bytes_medium
-- needs counters: evicted_unused used used_late untracked
-- param min_waste_share = 0.3 ratio -- of the pages with a settled fate; below this readahead is worth its cost
-- param min_waste_bytes = 16777216 bytes -- 16 MiB: less is not worth a change
-- param min_bytes_medium = 268435456 bytes -- 256 MiB: about a second of a SATA SSD
-- param high_share = 0.5 ratio -- more pages are wasted than used
WITH waste AS (
	SELECT
		d.*, 1 - d.accuracy AS wasted_share, w.wall_s,
		d.stall_ns * w.s_per_stall_ns * d.evicted_unused
			/ nullif(d.demand_pages + d.prefetched_pages, 0) AS saved_s
	FROM v_directory d LEFT JOIN v_wall w ON w.job_id = d.job_id
)
SELECT
	d.job_id,
	'directory' AS subject_kind,
	d.path AS subject,
	CASE
		WHEN d.waste_bytes < :min_bytes_medium THEN 'low'
		WHEN d.wasted_share >= :high_share THEN 'high'
		ELSE 'medium'
	END AS severity,
	-- A page of unknown fate may have been used.
	(d.all_used + d.evicted_unused) * 1.0 / (d.all_used + d.evicted_unused + d.untracked) AS confidence,
	printf('%.0f %% of the prefetched pages with a known fate left the cache unused',
		100 * d.wasted_share) AS summary,
	json_array(
		json_object('metric', 'evicted_unused', 'value', d.evicted_unused, 'unit', 'pages',
			'scope', 'directory'),
		json_object('metric', 'all_used', 'value', d.all_used, 'unit', 'pages', 'scope', 'directory'),
		json_object('metric', 'waste_bytes', 'value', d.waste_bytes, 'unit', 'bytes',
			'scope', 'directory'),
		json_object('metric', 'prefetch.accuracy', 'value', d.accuracy, 'unit', 'ratio',
			'scope', 'directory')
	) AS evidence,
	coalesce(d.saved_s, d.waste_bytes) AS gain_value,
	iif(d.saved_s IS NULL, 'bytes', 's') AS gain_unit,
	'measured' AS gain_method,
	'readahead:' || d.directory_id AS gain_cause,
	iif(d.accuracy IS NULL, 'of too many prefetched pages it cannot be known whether they were used', NULL)
		AS not_judged
FROM waste d
WHERE d.waste_bytes >= :min_waste_bytes
	AND (d.wasted_share >= :min_waste_share OR d.accuracy IS NULL)
	AND d.untracked IS NOT NULL
