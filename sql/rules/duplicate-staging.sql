-- SPDX-License-Identifier: BSD-2-Clause
-- id: duplicate-staging
-- title: several readers fetch the same pages, each after they were evicted
-- version: 2
-- severity: high when the stall it explains is at least high_share of the wall time, medium when at
--           least medium_share, else low
-- needs counters: refaults evicted_reclaim_memcg processes lookups demand_pages prefetched_pages evicted_unused
--           evicted_reclaim evicted_pages
-- needs tables: analysis_pattern
-- param min_readers = 2 readers -- tasks that each read at least 80 % of the file, or jobs
-- param min_cover_share = 0.8 ratio -- of the file, by each reader on average
-- param min_refault_share = 0.3 ratio -- of the pages brought in
-- param min_pages = 2048 pages -- brought in again
-- param medium_share = 0.05 ratio -- of the wall time
-- param high_share = 0.2 ratio -- of the wall time
WITH read AS (
	SELECT
		-- A task that opens the file again is the same reader. So tasks are counted, which
		-- only a trace shows.
		f.*, json_extract(f.pattern_features, '$.readers') AS readers,
		f.lookups * 1.0 / nullif(f.size_pages, 0) AS covered,
		-- Refaults that other causes and unused prefetch cannot explain.
		max(0, f.refaults - f.evicted_unused - (f.evicted_pages - f.evicted_reclaim - f.evicted_truncate))
			AS returned_pages
	FROM v_file f
), one AS ( -- processes of one job
	SELECT r.*, w.wall_s,
		r.stall_ns * w.s_per_stall_ns * r.returned_pages
			/ nullif(r.demand_pages + r.prefetched_pages, 0) AS saved_s
	FROM read r JOIN v_job j ON j.job_id = r.job_id LEFT JOIN v_wall w ON w.job_id = r.job_id
	WHERE j.processes >= :min_readers AND iif(r.readers IS NULL, r.covered >= :min_cover_share * :min_readers,
		r.readers >= :min_readers AND r.covered >= :min_cover_share * r.readers)
), jobs AS ( -- jobs of one run
	SELECT r.*, w.wall_s,
		r.stall_ns * w.s_per_stall_ns * r.returned_pages
			/ nullif(r.demand_pages + r.prefetched_pages, 0) AS saved_s,
		(SELECT count(DISTINCT o.job_id) FROM v_file o WHERE o.dev_major = r.dev_major
			AND o.dev_minor = r.dev_minor AND o.ino = r.ino AND o.gen = r.gen) AS nr_jobs
	FROM read r LEFT JOIN v_wall w ON w.job_id = r.job_id
	WHERE r.covered >= :min_cover_share AND (SELECT count(*) FROM v_job) > 1
), found AS (
	SELECT job_id, file_id, path, readers, returned_pages, covered, size_pages, refaults, stall_ns,
		page_size_bytes, demand_pages + prefetched_pages AS fetched_pages, saved_s, wall_s,
		iif(readers IS NULL, 'all known conditions hold, but it is not known how many of the job''s processes read '
			|| coalesce(CAST(path AS TEXT), 'a file without a name') || ', which was not traced',
			NULL) AS not_judged
	FROM one
	UNION ALL
	SELECT job_id, file_id, path, nr_jobs, returned_pages, covered, size_pages, refaults, stall_ns,
		page_size_bytes, demand_pages + prefetched_pages, saved_s, wall_s, NULL
	FROM jobs WHERE nr_jobs >= :min_readers AND coalesce(readers, 1) < :min_readers
)
SELECT
	f.job_id,
	'file' AS subject_kind,
	f.path AS subject,
	CASE
		WHEN f.saved_s >= :high_share * f.wall_s THEN 'high'
		WHEN f.saved_s >= :medium_share * f.wall_s THEN 'medium'
		ELSE 'low'
	END AS severity,
	0.8 AS confidence,
	printf('%,d readers read the file, and %,d of its pages had to be fetched again', f.readers,
		f.returned_pages) AS summary,
	json_array(
		json_object('metric', 'readers', 'value', f.readers, 'unit', 'readers', 'scope', 'file'),
		json_object('metric', 'returned_pages', 'value', f.returned_pages, 'unit', 'pages',
			'scope', 'file'),
		json_object('metric', 'size_pages', 'value', f.size_pages, 'unit', 'pages', 'scope', 'file'),
		json_object('metric', 'passes', 'value', f.covered, 'unit', 'ratio', 'scope', 'file'),
		json_object('metric', 'stall_ns', 'value', f.stall_ns, 'unit', 'ns', 'scope', 'file')
	) AS evidence,
	coalesce(f.saved_s, f.returned_pages * f.page_size_bytes) AS gain_value,
	iif(f.saved_s IS NULL, 'bytes', 's') AS gain_unit,
	'measured' AS gain_method,
	'capacity' AS gain_cause,
	f.not_judged
FROM found f
WHERE f.returned_pages >= :min_pages
	AND f.returned_pages >= :min_refault_share * f.fetched_pages
