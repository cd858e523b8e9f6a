-- SPDX-License-Identifier: BSD-2-Clause
-- id: small-files
-- title: the dataset consists of many small files, and opening them dominates
-- version: 1
-- severity: high when the stall in them is at least high_share of the wall time, medium when at least
--           medium_share, else low
-- needs counters: misses stall_ns read_bytes wall_ns cpu_ns demand_pages prefetched_pages
-- param min_files = 500 files -- together
-- param max_file_bytes = 262144 bytes -- brought in for each file, on average
-- param min_miss_share = 0.2 ratio -- of the pages brought in: files end before readahead helps
-- param min_stall_share = 0.1 ratio -- of the run, in these files
-- param shard_window_pages = 32 pages -- 128 KiB, one readahead request in a large file
-- param medium_share = 0.2 ratio -- of the wall time
-- param high_share = 0.5 ratio -- of the wall time
WITH small AS (
	SELECT
		d.job_id, count(*) AS directories, max(d.path) AS path, sum(d.files) AS files,
		sum(d.demand_pages + d.prefetched_pages) AS fetched_pages, sum(d.misses) AS misses,
		sum(d.stall_ns) AS stall_ns, max(d.page_size_bytes) AS page_size_bytes
	FROM v_directory d
	WHERE d.files > 0 AND d.demand_pages + d.prefetched_pages > 0
		AND (d.demand_pages + d.prefetched_pages) * d.page_size_bytes <= :max_file_bytes * d.files
	GROUP BY d.job_id
), cost AS (
	SELECT s.*, j.name, w.wall_s, s.stall_ns * w.s_per_stall_ns AS stall_s,
		-- In large files one request fetches a window. This is the largest possible saving
		-- of waits.
		s.stall_ns * w.s_per_stall_ns * max(0, 1 - s.fetched_pages * 1.0 / :shard_window_pages
			/ nullif(s.misses, 0)) AS saved_s
	FROM small s JOIN v_job j ON j.job_id = s.job_id JOIN v_wall w ON w.job_id = s.job_id
)
SELECT
	c.job_id,
	iif(c.directories = 1, 'directory', 'job') AS subject_kind,
	iif(c.directories = 1, c.path, c.name) AS subject,
	CASE
		WHEN c.stall_s >= :high_share * c.wall_s THEN 'high'
		WHEN c.stall_s >= :medium_share * c.wall_s THEN 'medium'
		ELSE 'low'
	END AS severity,
	0.85 AS confidence,
	printf('its tasks waited %.1f s for %,d files, and fetched %,d KiB for each on average',
		c.stall_ns / 1e9, c.files, c.fetched_pages * c.page_size_bytes / c.files / 1024) AS summary,
	json_array(
		json_object('metric', 'files', 'value', c.files, 'unit', 'files',
			'scope', 'directories of small files'),
		json_object('metric', 'fetched_pages', 'value', c.fetched_pages, 'unit', 'pages',
			'scope', 'directories of small files'),
		json_object('metric', 'misses', 'value', c.misses, 'unit', 'pages',
			'scope', 'directories of small files'),
		json_object('metric', 'stall_ns', 'value', c.stall_ns, 'unit', 'ns',
			'scope', 'directories of small files')
	) AS evidence,
	c.saved_s AS gain_value,
	's' AS gain_unit,
	'bound' AS gain_method,
	'small-files' AS gain_cause
FROM cost c
WHERE c.files >= :min_files
	AND c.misses >= :min_miss_share * c.fetched_pages
	AND c.stall_s >= :min_stall_share * c.wall_s
