-- SPDX-License-Identifier: BSD-2-Clause
-- id: small-files
-- title: the dataset consists of many small files, and opening them dominates
-- version: 3
-- severity: high when the stall in them is at least high_share of the wall time, medium when at least
--           medium_share, else low
-- needs counters: misses stalls stall_ns read_bytes wall_ns cpu_ns demand_pages prefetched_pages
-- param min_files = 500 files -- of the dataset
-- param max_file_bytes = 262144 bytes -- brought in for each file, on average
-- param min_miss_share = 0.2 ratio -- of the pages brought in: files end before readahead helps
-- param min_stall_share = 0.1 ratio -- of the run, in these files
-- param shard_window_pages = 32 pages -- 128 KiB, one readahead request in a large file
-- param min_saved_share = 0.5 ratio -- of that waiting, at most, with large files
-- param medium_share = 0.2 ratio -- of the wall time
-- param high_share = 0.5 ratio -- of the wall time
WITH RECURSIVE program_place(place) AS (
	VALUES ('/usr/*'), ('/lib/*'), ('/lib32/*'), ('/lib64/*'), ('/etc/*'), ('/proc/*'), ('/sys/*'),
		('*/lib/python[0-9]*'), ('*/site-packages/*'), ('*/dist-packages/*'), ('*/__pycache__/*')
), small AS (
	SELECT
		d.directory_id, d.job_id, CAST(d.path AS TEXT) AS path, d.files,
		d.demand_pages + d.prefetched_pages AS fetched_pages, d.misses, d.stalls,
		d.stall_ns, d.page_size_bytes
	FROM v_directory d
	WHERE d.files > 0 AND d.path IS NOT NULL AND d.demand_pages + d.prefetched_pages > 0
		AND (d.demand_pages + d.prefetched_pages) * d.page_size_bytes <= :max_file_bytes * d.files
		-- Not those of programs: Python reads hundreds at its start.
		AND NOT EXISTS (SELECT 1 FROM program_place p WHERE CAST(d.path AS TEXT) || '/' GLOB p.place)
), tree(directory_id, at, below) AS (
	-- Each directory, and each above it with the one that leads there.
	SELECT directory_id, path, '' FROM small
	UNION
	SELECT directory_id, rtrim(rtrim(at, replace(at, '/', '')), '/'), at FROM tree
	WHERE at LIKE '/_%/_%'
), branch AS (
	SELECT
		s.job_id, t.at, t.below, sum(s.files) AS files, sum(s.fetched_pages) AS fetched_pages,
		sum(s.misses) AS misses, sum(s.stalls) AS stalls, sum(s.stall_ns) AS stall_ns,
		max(s.page_size_bytes) AS page_size_bytes
	FROM tree t JOIN small s ON s.directory_id = t.directory_id GROUP BY s.job_id, t.at, t.below
), dataset AS (
	SELECT
		job_id, at AS path, sum(files) AS files, sum(fetched_pages) AS fetched_pages,
		sum(misses) AS misses, sum(stalls) AS stalls, sum(stall_ns) AS stall_ns,
		max(page_size_bytes) AS page_size_bytes,
		row_number() OVER (PARTITION BY job_id ORDER BY sum(stall_ns) DESC) AS place
	FROM branch GROUP BY job_id, at
	-- A dataset has one directory, or one for each class: else most files are in one of those
	-- below, which is the dataset.
	HAVING max(iif(below = '', 0, files)) * 2 <= sum(files)
), cost AS (
	SELECT s.*, w.wall_s, s.stall_ns * w.s_per_stall_ns AS stall_s,
		-- In large files one request, and so at most one wait, fetches a window.
		s.stall_ns * w.s_per_stall_ns * max(0, 1 - s.fetched_pages * 1.0 / :shard_window_pages
			/ nullif(s.stalls, 0)) AS saved_s
	FROM dataset s JOIN v_wall w ON w.job_id = s.job_id WHERE s.place = 1
)
SELECT
	c.job_id,
	'directory' AS subject_kind,
	CAST(c.path AS BLOB) AS subject,
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
			'scope', 'small files in it and below'),
		json_object('metric', 'fetched_pages', 'value', c.fetched_pages, 'unit', 'pages',
			'scope', 'small files in it and below'),
		json_object('metric', 'misses', 'value', c.misses, 'unit', 'pages',
			'scope', 'small files in it and below'),
		json_object('metric', 'stalls', 'value', c.stalls, 'unit', 'waits',
			'scope', 'small files in it and below'),
		json_object('metric', 'stall_ns', 'value', c.stall_ns, 'unit', 'ns',
			'scope', 'small files in it and below')
	) AS evidence,
	c.saved_s AS gain_value,
	's' AS gain_unit,
	'bound' AS gain_method,
	'one-by-one' AS gain_cause
FROM cost c
WHERE c.files >= :min_files
	AND c.misses >= :min_miss_share * c.fetched_pages
	AND c.stall_s >= :min_stall_share * c.wall_s
	-- In larger files, it is their data that is waited for.
	AND c.saved_s >= :min_saved_share * c.stall_s
