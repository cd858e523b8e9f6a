-- SPDX-License-Identifier: BSD-2-Clause
-- id: prefetch-waste
-- title: prefetched pages are evicted unused
-- version: 1
-- severity: high when at least half of the prefetched pages with a fate were wasted, else medium; low
--           below min_bytes_medium
-- needs counters: evicted_unused used used_late
-- param min_share = 0.3 ratio -- of the pages with a fate; below it readahead earns what it costs
-- param min_pages = 4096 pages -- 16 MiB of 4 KiB pages: less is not worth a change
-- param min_bytes_medium = 268435456 bytes -- 256 MiB: about a second of a SATA SSD
-- param high_share = 0.5 ratio -- more is thrown away than is used
SELECT
	d.job_id,
	'directory' AS subject_kind,
	d.path AS subject,
	CASE
		WHEN d.waste_bytes < :min_bytes_medium THEN 'low'
		WHEN 1 - d.accuracy >= :high_share THEN 'high'
		ELSE 'medium'
	END AS severity,
	-- A fate that cannot be known may have been a use.
	(d.all_used + d.evicted_unused) * 1.0 / (d.all_used + d.evicted_unused + d.untracked) AS confidence,
	printf('%.0f %% of the prefetched pages with a known fate left the cache unused', 100 * (1 - d.accuracy))
		AS summary,
	json_array(
		json_object('metric', 'evicted_unused', 'value', d.evicted_unused, 'unit', 'pages',
			'scope', 'directory'),
		json_object('metric', 'all_used', 'value', d.all_used, 'unit', 'pages', 'scope', 'directory'),
		json_object('metric', 'waste_bytes', 'value', d.waste_bytes, 'unit', 'bytes', 'scope', 'directory'),
		json_object('metric', 'prefetch.accuracy', 'value', d.accuracy, 'unit', 'ratio',
			'scope', 'directory')
	) AS evidence,
	d.waste_bytes AS gain_value,
	'bytes' AS gain_unit,
	'measured' AS gain_method,
	'readahead-waste:' || d.directory_id AS gain_cause
FROM v_directory d
WHERE d.evicted_unused >= :min_pages AND 1 - d.accuracy >= :min_share
