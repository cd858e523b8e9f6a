-- SPDX-License-Identifier: BSD-2-Clause
-- id: one-read-at-a-time
-- title: random reads are issued one at a time
-- version: 2
-- severity: high when the reads waited for are at least high_share of the wall time, else medium
-- needs counters: stall_ns stalls cpu_ns wall_ns misses faults_major
-- needs tables: analysis_pattern
-- param min_confidence = 0.6 ratio -- of the pattern
-- param max_async_share = 0.05 ratio -- of the windows: below it, counters are enough
-- param counted_confidence = 0.7 ratio -- of the finding, if only counters show it
-- param min_stall_share = 0.2 ratio -- of the wall time, spent waiting for files that are read at random
-- param high_share = 0.5 ratio -- of the wall time
-- param min_waits = 256 waits -- fewer are typical of a program's start
-- param max_tasks = 1.05 tasks -- running or waiting, on average
-- param depth = 8 requests -- in flight: most SSDs answer that many in about the time of one
WITH waits AS (
	SELECT f.job_id, f.directory_id, f.path, f.stall_ns, f.stalls, f.misses, f.faults_major, f.pattern_doubt,
		f.pattern_confidence,
		f.pattern_confidence IS NOT NULL AND f.pattern_confidence >= :min_confidence AS shown,
		-- Where the kernel may not read ahead, sequential reads look the same.
		f.pattern IN ('random', 'mmap_random') AND coalesce(
			f.windows_sync + f.windows_async > f.windows_forced AND f.windows_async <= :max_async_share
				* (f.windows_sync + f.windows_async + f.windows_forced), FALSE) AS counted
	FROM v_file f
	WHERE f.stalls > 0 AND iif(f.pattern_confidence >= :min_confidence,
			f.pattern IN ('random', 'shuffled_epoch', 'mmap_random'), f.lookups > 0 OR f.faults_major > 0)
), whole AS ( -- shards of a dataset are one finding
	SELECT
		t.job_id, t.directory_id, t.shown OR t.counted AS sure, count(*) AS files, max(t.path) AS path,
		max(t.pattern_doubt) AS pattern_doubt, min(t.pattern_confidence) AS pattern_confidence,
		min(iif(t.shown, t.pattern_confidence, :counted_confidence)) AS confidence,
		sum(t.stalls) AS stalls, sum(t.stall_ns) AS stall_ns, sum(t.misses + t.faults_major) AS fetches
	FROM waits t
	GROUP BY t.job_id, t.directory_id, t.shown OR t.counted
)
SELECT
	j.job_id,
	iif(a.files = 1 OR d.path IS NULL, 'file', 'directory') AS subject_kind,
	iif(a.files = 1 OR d.path IS NULL, a.path, d.path) AS subject,
	iif(a.stall_ns >= :high_share * j.wall_ns, 'high', 'medium') AS severity,
	min(0.9, a.confidence) AS confidence,
	printf('%s read at random, one request at a time; the job waited %,d times for %.2f ms on average, %.0f %% of its time',
		iif(a.files = 1, 'the file is', printf('%,d files are', a.files)), a.stalls,
		a.stall_ns / 1e6 / a.stalls, 100.0 * a.stall_ns / j.wall_ns) AS summary,
	iif(a.sure, json_array( -- files in doubt need no evidence
		json_object('metric', 'stalls', 'value', a.stalls, 'unit', 'waits', 'scope', 'files'),
		json_object('metric', 'stall_ns', 'value', a.stall_ns, 'unit', 'ns', 'scope', 'files'),
		json_object('metric', 'fetches', 'value', a.fetches, 'unit', 'pages', 'scope', 'files'),
		json_object('metric', 'tasks_at_a_time', 'value', (j.stall_ns + j.cpu_ns) * 1.0 / j.wall_ns,
			'unit', 'tasks', 'scope', 'job'),
		json_object('metric', 'pattern.confidence', 'value', a.pattern_confidence, 'unit', 'ratio',
			'scope', 'lowest of the files')
	), NULL) AS evidence,
	-- With :depth reads in flight, the same reads take 1 / :depth of the time.
	a.stall_ns / 1e9 * (1 - 1.0 / :depth) AS gain_value,
	's' AS gain_unit,
	'bound' AS gain_method,
	'queue:' || coalesce(a.directory_id, 0) AS gain_cause,
	iif(a.sure, NULL, a.pattern_doubt || printf(' of %.2f needed', :min_confidence)) AS not_judged
FROM whole a JOIN v_job j ON j.job_id = a.job_id
	LEFT JOIN v_directory d ON d.directory_id = a.directory_id
WHERE a.stalls >= :min_waits
	AND a.stall_ns >= :min_stall_share * j.wall_ns
	AND j.stall_ns + j.cpu_ns <= :max_tasks * j.wall_ns
