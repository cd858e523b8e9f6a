-- SPDX-License-Identifier: BSD-2-Clause
-- id: cache-thrash-loop
-- title: the job repeatedly reads more data than the cache holds, and fetches nearly all of it again each time
-- version: 3
-- lever: symptom
-- severity: high when the stall it explains is at least high_share of the wall time, medium when at
--           least medium_share, else low
-- needs counters: lookups refaults evicted_unused evicted_dontneed evicted_reclaim_memcg demand_pages
--           prefetched_pages added_pages evicted_reclaim evicted_drop_caches evicted_direct_io evicted_other
--           faults_major prefetched_mmap_around
-- param min_refetched_share = 0.7 ratio -- of the repeated lookups; 0.77 for a shuffled set that fits to 60 %
-- param min_loop_share = 0.5 ratio -- of the first touches: at least half of a second pass
-- param min_pages = 4096 pages -- 16 MiB of 4 KiB pages
-- param medium_share = 0.05 ratio -- of the wall time
-- param high_share = 0.2 ratio -- of the wall time
WITH loop AS (
	SELECT
		job_id, count(*) AS directories, max(path) AS path, sum(returned_pages) AS returned_pages,
		sum(repeat_lookups) AS repeat_lookups, sum(first_pages) AS first_pages,
		sum(stall_ns * (returned_pages * 1.0 / added_pages)) AS stall_ns
	FROM v_return
	WHERE added_pages > 0 AND returned_pages > 0
		AND returned_pages >= :min_refetched_share * repeat_lookups
		AND returned_pages >= :min_loop_share * first_pages
	GROUP BY job_id
)
SELECT
	j.job_id,
	iif(l.directories = 1, 'directory', 'job') AS subject_kind,
	iif(l.directories = 1, l.path, j.name) AS subject,
	CASE
		WHEN l.stall_ns * w.s_per_stall_ns >= :high_share * w.wall_s THEN 'high'
		WHEN l.stall_ns * w.s_per_stall_ns >= :medium_share * w.wall_s THEN 'medium'
		ELSE 'low'
	END AS severity,
	0.95 AS confidence,
	-- Pages that mapping faults fetched again were not looked up.
	iif(l.returned_pages <= l.repeat_lookups,
		printf('%,d of %,d repeated lookups had to fetch the page again after reclaim', l.returned_pages,
			l.repeat_lookups),
		printf('%,d pages had to be fetched again after reclaim', l.returned_pages)
			|| iif(l.repeat_lookups > 0,
				printf('; at least %,d lookups were repeated', l.repeat_lookups), ''))
		|| CASE WHEN j.evicted_reclaim_memcg * 2 < j.evicted_reclaim THEN ''
			WHEN x.limit_bytes IS NULL THEN '; the job''s memory limit evicted most of them'
			ELSE printf('; the job''s memory limit of %,d MiB evicted most of them',
				x.limit_bytes / 1048576) END AS summary,
	json_array(
		json_object('metric', 'returned_pages', 'value', l.returned_pages, 'unit', 'pages',
			'scope', 'directories in a loop'),
		json_object('metric', 'repeat_lookups', 'value', l.repeat_lookups, 'unit', 'pages',
			'scope', 'directories in a loop'),
		json_object('metric', 'first_pages', 'value', l.first_pages, 'unit', 'pages',
			'scope', 'directories in a loop'),
		json_object('metric', 'refault_distance_pages', 'value', j.refault_distance_pages,
			'unit', 'pages', 'scope', 'job'),
		json_object('metric', 'stall_ns', 'value', CAST(l.stall_ns AS INTEGER), 'unit', 'ns',
			'scope', 'directories in a loop')
	) AS evidence,
	coalesce(l.stall_ns * w.s_per_stall_ns, l.returned_pages * j.page_size_bytes) AS gain_value,
	iif(l.stall_ns * w.s_per_stall_ns IS NULL, 'bytes', 's') AS gain_unit,
	'measured' AS gain_method,
	'capacity' AS gain_cause
FROM loop l JOIN v_job j ON j.job_id = l.job_id LEFT JOIN v_wall w ON w.job_id = l.job_id
	LEFT JOIN v_limit x ON x.job_id = l.job_id
WHERE l.returned_pages >= :min_pages
