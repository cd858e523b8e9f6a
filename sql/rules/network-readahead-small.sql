-- SPDX-License-Identifier: BSD-2-Clause
-- id: network-readahead-small
-- title: sequential reads from a network filesystem use a small readahead window
-- version: 2
-- lever: direct
-- severity: high when the stall that it could save is at least high_share of the wall time, medium when at
--           least medium_share, else low
-- needs counters: stall_ns wall_ns cpu_ns demand_pages prefetched_pages
-- needs tables: analysis_pattern device
-- param min_confidence = 0.6 ratio -- of the pattern
-- param max_read_ahead_kb = 1024 KiB -- what counts as small over a network
-- param want_kb = 15360 KiB -- what nfsrahead and distributions set
-- param min_stall_share = 0.05 ratio -- of the run, spent waiting for the files
-- param min_pages = 2048 pages -- brought in from the filesystem
-- param medium_share = 0.1 ratio -- of the wall time
-- param high_share = 0.3 ratio -- of the wall time
WITH remote AS (
	SELECT
		x.filesystem_id, x.job_id, x.mount, x.type, x.read_ahead_kb, x.page_size_bytes,
		count(*) FILTER (WHERE f.pattern_confidence >= :min_confidence) AS files,
		sum(f.demand_pages + f.prefetched_pages) FILTER (WHERE f.pattern_confidence >= :min_confidence)
			AS fetched_pages,
		sum(f.stall_ns) FILTER (WHERE f.pattern_confidence >= :min_confidence) AS stall_ns,
		avg(f.pattern_confidence) FILTER (WHERE f.pattern_confidence >= :min_confidence) AS confidence,
		-- Includes files that may or may not be read in order.
		sum(f.demand_pages + f.prefetched_pages) AS most_fetched_pages, sum(f.stall_ns) AS most_stall_ns,
		min(iif(f.pattern_confidence >= :min_confidence, NULL, f.pattern_doubt)) AS doubt
	FROM v_filesystem x JOIN v_file f
		ON f.job_id = x.job_id AND f.dev_major = x.dev_major AND f.dev_minor = x.dev_minor
	WHERE (x.network = 1 OR x.type IN ('nfs', 'nfs4', 'cifs', 'smb3', 'ceph', '9p', 'afs', 'fuse', 'virtiofs')
			OR x.type LIKE 'fuse.%')
		AND x.read_ahead_kb <= :max_read_ahead_kb
		AND iif(f.pattern_confidence >= :min_confidence,
			f.pattern IN ('sequential', 'scan_once', 'reread', 'mmap_sequential'), 1)
	GROUP BY x.filesystem_id
), cost AS (
	SELECT r.*, w.wall_s, r.stall_ns * w.s_per_stall_ns AS stall_s,
		r.most_stall_ns * w.s_per_stall_ns AS most_stall_s,
		r.stall_ns * w.s_per_stall_ns * (1 - r.read_ahead_kb * 1.0 / :want_kb) AS saved_s
	FROM remote r JOIN v_wall w ON w.job_id = r.job_id
), judged AS (
	SELECT *, coalesce(fetched_pages >= :min_pages AND stall_s >= :min_stall_share * wall_s, FALSE) AS holds
	FROM cost
)
SELECT
	c.job_id,
	'device' AS subject_kind,
	coalesce(c.mount, c.type) AS subject,
	CASE
		WHEN c.saved_s >= :high_share * c.wall_s THEN 'high'
		WHEN c.saved_s >= :medium_share * c.wall_s THEN 'medium'
		ELSE 'low'
	END AS severity,
	min(0.9, c.confidence) AS confidence,
	printf('the job waited %.1f s for %s on %s, read sequentially with read_ahead_kb %d', c.stall_s,
		iif(c.files = 1, 'a file', c.files || ' files'), c.type, c.read_ahead_kb) AS summary,
	json_array(
		json_object('metric', 'read_ahead_kb', 'value', c.read_ahead_kb, 'unit', 'KiB',
			'scope', 'filesystem'),
		json_object('metric', 'fetched_pages', 'value', c.fetched_pages, 'unit', 'pages',
			'scope', 'files read in order'),
		json_object('metric', 'stall_ns', 'value', c.stall_ns, 'unit', 'ns',
			'scope', 'files read in order')
	) AS evidence,
	c.saved_s AS gain_value,
	's' AS gain_unit,
	'bound' AS gain_method,
	'late' AS gain_cause,
	iif(c.holds, NULL, c.doubt || printf(' of %.2f needed', :min_confidence)) AS not_judged
FROM judged c
WHERE c.holds OR (c.doubt IS NOT NULL AND c.most_fetched_pages >= :min_pages
	AND c.most_stall_s >= :min_stall_share * c.wall_s)
