-- SPDX-License-Identifier: BSD-2-Clause
-- id: readahead-too-small
-- title: the maximum readahead window limits sequential reads
-- version: 4
-- lever: direct
-- severity: high when the stall that it could save is at least high_share of the wall time, medium when at
--           least medium_share, else low
-- needs counters: stall_ns stalls wall_ns cpu_ns
-- needs tables: analysis_whatif_readahead
-- needs facts: v_replay.faithful_replay
-- param min_fidelity = 0.95 ratio -- of the windows, reproduced exactly; below this no prediction
-- param max_present_kb = 512 KiB -- the window in force; a larger one seldom limits a reader
-- param min_requests_saved = 0.3 ratio -- of the requests in the recorded reads
-- param max_waste_share = 0.1 ratio -- of the pages that the larger window fetches; for mapped files, the increase over the present window
-- param min_requests = 64 requests -- in the recorded reads; fewer are not a stream
-- param min_pages_per_request = 2 pages -- a stream fetches more than the requested page
-- param min_waits = 8 waits -- in the file; fewer are chance, as of prefetch-late
-- param min_stall_share = 0.05 ratio -- of the run, spent waiting for the file
-- param medium_share = 0.1 ratio -- of the wall time
-- param high_share = 0.3 ratio -- of the wall time
WITH other AS (
	SELECT
		a.job_id, a.traced_file_id, a.file_id, a.path, a.fidelity, a.page_size_bytes,
		a.requests AS now_requests, a.misses AS now_misses, a.ra_pages AS now_pages,
		b.setting, b.requests, b.misses, b.prefetched, b.wasted,
		CAST(substr(b.setting, 7) AS INTEGER) AS ra_kb,
		min(b.requests) OVER (PARTITION BY a.traced_file_id) AS least
	FROM v_whatif_readahead a JOIN v_whatif_readahead b
		ON b.traced_file_id = a.traced_file_id AND b.actual = 0 AND b.setting LIKE 'ra\_kb=%' ESCAPE '\'
	WHERE a.actual = 1 AND a.fidelity >= :min_fidelity AND a.requests >= :min_requests
		AND a.ra_pages * a.page_size_bytes <= :max_present_kb * 1024
		AND a.misses + a.prefetched >= :min_pages_per_request * a.requests
		AND CAST(substr(b.setting, 7) AS INTEGER) * 1024 > a.ra_pages * a.page_size_bytes
		AND iif(b.wasted IS NULL,
			b.misses + b.prefetched <= (1 + :max_waste_share) * (a.misses + a.prefetched),
			b.wasted <= :max_waste_share * (b.misses + b.prefetched))
), best AS ( -- the smallest window with 90 % of the possible saving
	SELECT *, row_number() OVER (PARTITION BY traced_file_id ORDER BY ra_kb) AS rank
	FROM other
	WHERE requests <= (1 - :min_requests_saved) * now_requests
		AND now_requests - requests >= 0.9 * (now_requests - least)
), cost AS (
	SELECT b.*, f.stall_ns, w.wall_s,
		f.stall_ns * w.s_per_stall_ns * (1 - b.requests * 1.0 / b.now_requests) AS saved_s,
		f.stall_ns * w.s_per_stall_ns / nullif(w.wall_s, 0) AS stall_share
	FROM best b JOIN v_file f ON f.file_id = b.file_id JOIN v_wall w ON w.job_id = b.job_id
	WHERE b.rank = 1 AND f.stalls >= :min_waits
		-- Random touches that reach most of a mapping would need no more pages either.
		AND (b.wasted IS NOT NULL OR coalesce(f.pattern, '') NOT IN ('random', 'mmap_random'))
		-- The device has a window of that size, but the file was opened before it was set.
		AND NOT EXISTS (SELECT 1 FROM v_filesystem x WHERE x.job_id = f.job_id
			AND x.dev_major = f.dev_major AND x.dev_minor = f.dev_minor AND x.read_ahead_kb >= b.ra_kb)
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
	0.8 * c.fidelity AS confidence,
	printf('with read_ahead_kb %d instead of %d, its reads would make %,d requests instead of %,d', c.ra_kb,
		c.now_pages * c.page_size_bytes / 1024, c.requests, c.now_requests) AS summary,
	json_array(
		json_object('metric', 'whatif.requests', 'value', c.now_requests, 'unit', 'requests',
			'scope', 'setting in force'),
		json_object('metric', 'whatif.requests', 'value', c.requests, 'unit', 'requests',
			'scope', c.setting),
		json_object('metric', 'whatif.wasted', 'value', c.wasted, 'unit', 'pages', 'scope', c.setting),
		json_object('metric', 'whatif.fidelity', 'value', c.fidelity, 'unit', 'ratio', 'scope', 'file'),
		json_object('metric', 'stall_ns', 'value', c.stall_ns, 'unit', 'ns', 'scope', 'file')
	) AS evidence,
	c.saved_s AS gain_value,
	's' AS gain_unit,
	'bound' AS gain_method,
	'late' AS gain_cause
FROM cost c
WHERE c.stall_share >= :min_stall_share
