-- SPDX-License-Identifier: BSD-2-Clause
-- id: mmap-random-faults
-- title: random access to a mapping fetches neighbouring pages that are not used
-- version: 3
-- lever: direct
-- severity: high when the stall it explains is at least high_share of the wall time, medium when at
--           least medium_share, else low
-- needs counters: faults_major prefetched_mmap_around mapped_pages_upper_bound
-- needs tables: analysis_pattern
-- param min_confidence = 0.6 ratio -- of the pattern
-- param min_major_faults = 200 faults -- that had to read
-- param min_around_per_fault = 4.0 ratio -- pages fetched around a fault
-- param min_unused_share = 0.3 ratio -- of the pages around the faults; up to 16 are mapped with the fault and may be used
-- param medium_share = 0.05 ratio -- of the wall time
-- param high_share = 0.2 ratio -- of the wall time
WITH around AS (
	SELECT
		f.*, w.wall_s, f.demand_pages + f.prefetched_pages AS fetched_pages,
		-- Touched pages were mapped first, at a fault or around it. So pages fetched around
		-- faults and never mapped were not used.
		max(0, f.prefetched_mmap_around - max(0, f.mapped_pages_upper_bound - f.faults_major))
			AS unused_min_pages,
		w.s_per_stall_ns
	FROM v_file f LEFT JOIN v_wall w ON w.job_id = f.job_id
	WHERE iif(f.pattern_confidence >= :min_confidence, f.pattern = 'mmap_random', 1)
		AND f.faults_major >= :min_major_faults
		AND f.prefetched_mmap_around >= :min_around_per_fault * f.faults_major
		AND NOT EXISTS (SELECT 1 FROM v_advice a
			WHERE a.file_id = f.file_id AND a.kind = 'random' AND a.call = 'madvise')
), cost AS (
	SELECT a.*, coalesce(max(a.evicted_unused + iif(a.sliced, 0, a.resident_unused), a.unused_min_pages),
			a.unused_min_pages)
			AS unused_pages,
		a.stall_ns * a.s_per_stall_ns * a.prefetched_mmap_around / nullif(a.fetched_pages, 0) AS saved_s
	FROM around a
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
	min(0.9, c.pattern_confidence) AS confidence,
	printf('%,d faults at random offsets fetched %,d neighbouring pages', c.faults_major,
		c.prefetched_mmap_around) AS summary,
	iif(c.pattern_confidence >= :min_confidence, json_array( -- files in doubt need no evidence
		json_object('metric', 'faults.major', 'value', c.faults_major, 'unit', 'faults',
			'scope', 'file'),
		json_object('metric', 'prefetch.origin.mmap_around', 'value', c.prefetched_mmap_around,
			'unit', 'pages', 'scope', 'file'),
		json_object('metric', 'unused_pages', 'value', c.unused_pages, 'unit', 'pages',
			'scope', 'file'),
		json_object('metric', 'mapped_pages_upper_bound', 'value', c.mapped_pages_upper_bound,
			'unit', 'pages', 'scope', 'file'),
		json_object('metric', 'stall_ns', 'value', c.stall_ns, 'unit', 'ns', 'scope', 'file')
	), NULL) AS evidence,
	coalesce(c.saved_s, c.unused_pages * c.page_size_bytes) AS gain_value,
	iif(c.saved_s IS NULL, 'bytes', 's') AS gain_unit,
	'model' AS gain_method,
	'readahead:' || c.directory_id AS gain_cause,
	iif(c.pattern_confidence >= :min_confidence, NULL,
		c.pattern_doubt || printf(' of %.2f needed', :min_confidence)) AS not_judged
FROM cost c
WHERE c.unused_pages >= :min_unused_share * c.prefetched_mmap_around
