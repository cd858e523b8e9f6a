-- SPDX-License-Identifier: BSD-2-Clause
-- id: nothing-wrong
-- title: no rule found anything worth changing
-- version: 5
-- severity: info
-- order: last
-- needs counters: lookups misses
-- param floor_share = 0.01 ratio -- of the wall time; a finding with a smaller gain is information only
-- param min_lookups = 1024 pages -- 4 MiB of 4 KiB pages; as many faults or directly read pages also suffice
-- param told_share = 0.05 ratio -- of the lookups: that many faults or direct bytes are mentioned
-- param good_hit_ratio = 0.8 ratio -- at least this share of the requested pages came from the page cache
-- param good_stall_share = 0.1 ratio -- with more waiting, an accelerator misses the 90 % that MLPerf Storage requires
-- param good_score = 0.8 ratio -- of the overall grade: A or B
-- param fair_score = 0.65 ratio -- A, B or C; a lower overall or stall grade needs an explanation
WITH judged AS (SELECT
	j.*,
	s.stall_share,
	o.score AS overall, o.grade AS overall_grade,
	-- The lowest of the other known grades.
	(SELECT iif(g.name = 'hits', 'reuse', g.name) || ' is graded ' || g.grade FROM v_grade g
		WHERE g.job_id = j.job_id AND g.name <> 'overall' AND g.score < :fair_score
		ORDER BY g.score LIMIT 1) AS bad_grade,
	printf('the job spent %.1f %% of its time waiting for reads', 100 * s.stall_share) AS waited,
	-- The start of a program itself causes lookups. Its accesses past them are reported
	-- instead.
	iif(j.lookups >= :min_lookups,
			printf(', and %,d of %,d lookups missed', j.misses, j.lookups)
				|| iif(j.stalls = 0 AND j.misses >= :min_lookups,
					'; none of them waited for a device, as in the holes of a sparse file', ''), '')
		|| iif(j.faults_major > 0 AND j.faults_major >= :told_share * j.lookups,
			printf(', and %,d faults had to read from the device', j.faults_major), '')
		|| iif(j.direct_read_bytes > 0 AND j.direct_read_bytes >= :told_share * j.read_bytes,
			printf(', and %,d MiB were read with O_DIRECT', j.direct_read_bytes / 1048576), '') AS missed,
	-- The share of all requested data, including direct reads and faults.
	j.lookups >= :min_lookups AND j.direct_read_bytes < j.read_bytes
		AND j.hits >= :good_hit_ratio * (j.lookups + j.faults_major) AS served
FROM v_job j
	JOIN v_stall s USING (job_id)
	LEFT JOIN v_grade o ON o.job_id = j.job_id AND o.name = 'overall'
WHERE (j.lookups >= :min_lookups OR j.faults_major >= :min_lookups
		OR j.direct_read_bytes / j.page_size_bytes >= :min_lookups)
	AND NOT EXISTS (SELECT 1 FROM v_finding f
		WHERE f.job_id = j.job_id AND (f.severity <> 'info' OR f.id = 'too-little-data')))
SELECT
	j.job_id,
	'job' AS subject_kind,
	j.name AS subject,
	'info' AS severity,
	-- A rule that could not be judged might have found something.
	1.0 - min(0.5, 0.05 * (SELECT count(*) FROM v_unjudged u WHERE u.job_id = j.job_id)) AS confidence,
	-- The text praises the cache only if waits, hits and grades are known and good.
	CASE
		WHEN j.stall_share IS NULL THEN 'no rule found anything worth changing; the waiting time '
			|| 'was not measured' || j.missed
		WHEN j.overall < :fair_score OR j.stall_share > 1 - :fair_score THEN 'no rule explains the low grade: '
			|| j.waited || j.missed
		WHEN j.bad_grade IS NOT NULL THEN 'no rule found anything worth changing, but ' || j.bad_grade
			|| '; ' || j.waited || j.missed
		WHEN j.overall >= :good_score AND j.served THEN
			'the page cache serves this job well: ' || j.waited || j.missed
			|| '; overall grade ' || j.overall_grade
		ELSE 'no rule found anything worth changing; ' || j.waited || j.missed
			|| iif(j.overall IS NULL, '; the job has no grade', '')
		END AS summary,
	json_array(
		json_object('metric', 'lookups', 'value', j.lookups, 'unit', 'pages', 'scope', 'job'),
		json_object('metric', 'hit_ratio', 'value', j.hit_ratio, 'unit', 'ratio', 'scope', 'job'),
		json_object('metric', 'stall_ns', 'value', j.stall_ns, 'unit', 'ns', 'scope', 'job'),
		json_object('metric', 'stall_share', 'value', j.stall_share, 'unit', 'ratio', 'scope', 'job'),
		json_object('metric', 'grade_overall', 'value', j.overall, 'unit', 'ratio', 'scope', 'job')
	) AS evidence,
	NULL AS gain_value,
	NULL AS gain_unit,
	NULL AS gain_method,
	NULL AS gain_cause,
	-- A finding is likely if only one of its conditions is unknown.
	(SELECT 'all known conditions of ' || group_concat(u.id, ', ') || ' hold, but some were not measured'
		FROM v_unjudged u WHERE u.job_id = j.job_id AND u.doubt HAVING count(*) > 0) AS not_judged
FROM judged j
