-- SPDX-License-Identifier: BSD-2-Clause
-- id: one-read-at-a-time
-- title: scattered reads are issued one at a time
-- version: 4
-- severity: high when the reads waited for are at least high_share of the wall time, else medium
-- needs counters: stall_ns stalls cpu_ns wall_ns misses faults_major
-- needs tables: analysis_pattern
-- param min_confidence = 0.6 ratio -- of the pattern
-- param max_async_share = 0.05 ratio -- of the windows: below it, counters are enough
-- param max_forced_share = 0.05 ratio -- of the windows: above it, the order is not known
-- param max_ahead_share = 0.1 ratio -- prefetched pages per miss: above it, there is some order
-- param min_by_chance = 32 pages -- that random reads would read again by chance: fewer: unknown
-- param max_chance_factor = 2 times -- between the pages read again and that number
-- param min_file_waits = 16 waits -- in a file without a trace: fewer are for reading it whole
-- param counted_confidence = 0.7 ratio -- of the finding, if only counters show it
-- param min_stall_share = 0.2 ratio -- of the wall time, waiting for files read at random
-- param high_share = 0.5 ratio -- of the wall time
-- param min_waits = 256 waits -- fewer are typical of a program's start
-- param max_tasks = 1.05 tasks -- running or waiting, on average
-- param depth = 8 requests -- in flight: most SSDs answer that many in about the time of one
WITH looked AS (
	SELECT f.*, coalesce(f.pattern_confidence >= :min_confidence, FALSE) AS shown,
		-- Pages read again, and about as many as random reads of the whole file read again by
		-- chance: L - N (1 - exp(-L / N)). Reads at a stride return to no page.
		f.hits - f.all_used AS again,
		1.0 * f.lookups * f.lookups / (2 * f.size_pages + f.lookups) AS by_chance,
		f.windows_sync + f.windows_async + f.windows_forced AS windows
	FROM v_file f
	WHERE f.stalls > 0
), judged AS (
	SELECT l.*,
		coalesce(l.windows_async <= :max_async_share * l.windows
			AND iif(l.pattern = 'mmap_random',
			-- Where the kernel may not read ahead, sequential faults look the same.
			l.windows_sync + l.windows_async > l.windows_forced,
			l.by_chance >= :min_by_chance AND 2 * l.again < l.lookups
				AND l.again BETWEEN l.by_chance / :max_chance_factor
					AND l.by_chance * :max_chance_factor), FALSE) AS by_return,
		-- The kernel looked for an order at each miss and found none. These counters are
		-- exact in a sliced run too.
		coalesce(l.windows_async <= :max_async_share * l.windows
			AND l.windows_forced <= :max_forced_share * l.windows
			AND l.prefetched_sync + l.prefetched_async <= :max_ahead_share * l.misses
			AND l.misses > l.faults_major, FALSE) AS by_windows
	FROM looked l
), waits AS (
	SELECT l.*,
		coalesce(l.pattern_confidence < :min_confidence
			AND (l.by_return OR l.by_windows), FALSE) AS counted,
		l.shown OR l.by_return AS at_random
	FROM judged l
	WHERE iif(l.shown, l.pattern IN ('random', 'shuffled_epoch', 'mmap_random'),
		l.stalls >= :min_file_waits AND (l.lookups > 0 OR l.misses > 0 OR l.faults_major > 0)
			-- Readahead foresaw most reads.
			AND coalesce(l.all_used <= l.misses, TRUE))
), whole AS (
	SELECT
		t.job_id, t.shown OR t.counted AS sure, count(*) AS files, max(t.path) AS path,
		min(t.at_random) AS at_random, sum(t.windows_sync) AS windows_sync,
		count(DISTINCT coalesce(t.directory_id, 0)) AS directories, max(t.directory_id) AS directory_id,
		max(t.pattern_doubt) AS pattern_doubt, min(t.pattern_confidence) AS pattern_confidence,
		min(iif(t.shown, t.pattern_confidence, :counted_confidence)) AS confidence,
		sum(t.stalls) AS stalls, sum(t.stall_ns) AS stall_ns, sum(t.misses + t.faults_major) AS fetches
	FROM waits t
	GROUP BY t.job_id, t.shown OR t.counted
), named AS (
	SELECT w.*,
		CASE WHEN w.files = 1 THEN 'file' WHEN w.directories = 1 AND d.path IS NOT NULL THEN 'directory'
			ELSE 'job' END AS kind,
		d.path AS directory
	FROM whole w LEFT JOIN v_directory d ON d.directory_id = w.directory_id
)
SELECT
	j.job_id,
	a.kind AS subject_kind,
	CASE a.kind WHEN 'file' THEN a.path WHEN 'directory' THEN a.directory ELSE j.name END AS subject,
	iif(a.stall_ns >= :high_share * j.wall_ns, 'high', 'medium') AS severity,
	min(0.9, a.confidence) AS confidence,
	printf('%s read %s, one request at a time; the job waited %,d times for %.2f ms on average, %.0f %% of its time',
		iif(a.files = 1, 'the file is', printf('%,d files are', a.files)),
		iif(a.at_random, 'at random', 'in pieces that readahead could not foresee'), a.stalls,
		a.stall_ns / 1e6 / a.stalls, 100.0 * a.stall_ns / j.wall_ns) AS summary,
	iif(a.sure, json_array( -- files in doubt need no evidence
		json_object('metric', 'stalls', 'value', a.stalls, 'unit', 'waits', 'scope', 'files'),
		json_object('metric', 'stall_ns', 'value', a.stall_ns, 'unit', 'ns', 'scope', 'files'),
		json_object('metric', 'fetches', 'value', a.fetches, 'unit', 'pages', 'scope', 'files'),
		json_object('metric', 'windows.sync', 'value', a.windows_sync, 'unit', 'windows',
			'scope', 'files'),
		json_object('metric', 'tasks_at_a_time', 'value', (j.stall_ns + j.cpu_ns) * 1.0 / j.wall_ns,
			'unit', 'tasks', 'scope', 'job'),
		json_object('metric', 'pattern.confidence', 'value', a.pattern_confidence, 'unit', 'ratio',
			'scope', 'lowest of the files')
	), NULL) AS evidence,
	-- With :depth reads in flight, the same reads take 1 / :depth of the time.
	a.stall_ns / 1e9 * (1 - 1.0 / :depth) AS gain_value,
	's' AS gain_unit,
	'bound' AS gain_method,
	'one-by-one' AS gain_cause,
	iif(a.sure, NULL, a.pattern_doubt || printf(' of %.2f needed', :min_confidence)) AS not_judged
FROM named a JOIN v_job j ON j.job_id = a.job_id
WHERE a.stalls >= :min_waits
	AND a.stall_ns >= :min_stall_share * j.wall_ns
	AND j.stall_ns + j.cpu_ns <= :max_tasks * j.wall_ns
