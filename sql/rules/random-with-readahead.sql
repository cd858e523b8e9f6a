-- SPDX-License-Identifier: BSD-2-Clause
-- id: random-with-readahead
-- title: readahead during random reads fetches pages that are not used
-- version: 3
-- lever: direct
-- severity: high when the stall that it would save is at least high_share of the wall time, medium when at
--           least medium_share, else low
-- needs counters: evicted_unused used used_late
-- needs tables: analysis_pattern
-- param min_confidence = 0.6 ratio -- of the pattern
-- param min_unused_share = 0.4 ratio -- of the prefetched pages with a known fate, including those still cached
-- param min_unused_pages = 2048 pages -- 8 MiB of 4 KiB pages, summed over the files of a directory
-- param max_in_order_share = 0.9 ratio -- of the steps in a file that is read again; above this it is read sequentially
-- param medium_share = 0.05 ratio -- of the wall time
-- param high_share = 0.2 ratio -- of the wall time
WITH unused AS (
	SELECT
		f.job_id, f.file_id, f.directory_id, f.path, f.pattern, f.pattern_confidence, f.sliced,
		f.pattern_confidence IS NOT NULL AND f.pattern_confidence >= :min_confidence AS sure,
		f.page_size_bytes, f.pattern_doubt, f.all_used, f.misses,
		f.prefetched_pages AS ahead_pages, f.demand_pages + f.prefetched_pages AS fetched_pages,
		f.stall_ns,
		-- In a sliced run, a page without a fate may have been used between slices.
		f.evicted_unused + iif(f.sliced, 0, f.resident_unused) AS unused_pages
	FROM v_file f
	WHERE iif(f.pattern_confidence >= :min_confidence,
			f.pattern IN ('random', 'mixed', 'reread', 'shuffled_epoch'), f.lookups > 0)
		AND (f.pattern IS NOT 'reread' OR json_extract(f.pattern_features, '$.sequential_share') IS NULL
			OR json_extract(f.pattern_features, '$.sequential_share') <= :max_in_order_share)
		AND NOT EXISTS (SELECT 1 FROM v_advice a
			WHERE a.file_id = f.file_id AND a.kind = 'random' AND a.call = 'fadvise')
), model AS ( -- pages that RANDOM would fetch, if the replay is accurate
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
	WHERE u.unused_pages > 0 AND u.unused_pages >= :min_unused_share * (u.unused_pages + u.all_used)
), whole AS ( -- the shards of a dataset are one finding; if one is not known, all are not known
	SELECT
		job_id, directory_id, sure, max(pattern_doubt) AS pattern_doubt, count(*) AS files,
		max(path) AS path, max(page_size_bytes) AS page_size_bytes,
		min(pattern = 'reread') AS again, min(pattern_confidence) AS pattern_confidence,
		sum(unused_pages) AS unused_pages, max(wall_s) AS wall_s, min(fidelity) AS fidelity,
		iif(count(ahead_pages) = count(*), sum(ahead_pages), NULL) AS ahead_pages,
		iif(count(all_used) = count(*), sum(all_used), NULL) AS all_used,
		iif(count(misses) = count(*), sum(misses), NULL) AS misses,
		count(fidelity) = count(*) AS modelled, sum(saved_pages) AS saved_pages,
		iif(count(saved_s) = count(*), sum(saved_s), NULL) AS saved_s
	FROM cost
	GROUP BY job_id, directory_id, sure
)
SELECT
	c.job_id,
	iif(c.files = 1 OR d.path IS NULL, 'file', 'directory') AS subject_kind,
	iif(c.files = 1 OR d.path IS NULL, c.path, d.path) AS subject,
	CASE
		WHEN c.saved_s >= :high_share * c.wall_s THEN 'high'
		WHEN c.saved_s >= :medium_share * c.wall_s THEN 'medium'
		ELSE 'low'
	END AS severity,
	min(0.95, c.pattern_confidence) AS confidence,
	iif(c.files = 1, 'the file is read ', printf('%,d files are read ', c.files)) ||
		iif(c.again, 'repeatedly and out of order', 'at random without RANDOM advice') ||
		iif(c.ahead_pages IS NULL OR c.ahead_pages < c.unused_pages,
			printf('; %,d prefetched pages were not used', c.unused_pages),
			printf('; %,d of %,d prefetched pages were not used', c.unused_pages, c.ahead_pages)) AS summary,
	iif(c.pattern_confidence >= :min_confidence, json_array( -- files in doubt need no evidence
		json_object('metric', 'unused_pages', 'value', c.unused_pages, 'unit', 'pages',
			'scope', 'files'),
		json_object('metric', 'all_used', 'value', c.all_used, 'unit', 'pages', 'scope', 'files'),
		json_object('metric', 'misses', 'value', c.misses, 'unit', 'pages', 'scope', 'files'),
		json_object('metric', 'files', 'value', c.files, 'unit', 'files', 'scope', 'directory'),
		json_object('metric', 'pattern.confidence', 'value', c.pattern_confidence, 'unit', 'ratio',
			'scope', 'lowest of the files'),
		json_object('metric', 'whatif.saved_pages', 'value', iif(c.modelled, c.saved_pages, NULL),
			'unit', 'pages', 'scope', 'random')
	), NULL) AS evidence,
	coalesce(c.saved_s, c.saved_pages * c.page_size_bytes) AS gain_value,
	iif(c.saved_s IS NULL, 'bytes', 's') AS gain_unit,
	iif(c.modelled, 'model', 'bound') AS gain_method,
	'readahead:' || coalesce(c.directory_id, 0) AS gain_cause,
	iif(c.sure, NULL, c.pattern_doubt || printf(' of %.2f needed', :min_confidence)) AS not_judged
FROM whole c LEFT JOIN v_directory d ON d.directory_id = c.directory_id
WHERE c.unused_pages >= :min_unused_pages
