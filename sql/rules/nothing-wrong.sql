-- SPDX-License-Identifier: BSD-2-Clause
-- id: nothing-wrong
-- title: the page cache serves this job well
-- version: 1
-- severity: info
-- order: last
-- needs counters: lookups misses
-- param min_lookups = 1024 pages -- 4 MiB of 4 KiB pages; as many faults, or pages read directly, do as well
SELECT
	j.job_id,
	'job' AS subject_kind,
	j.name AS subject,
	'info' AS severity,
	-- What could not be judged might have been wrong.
	1.0 - min(0.5, 0.05 * (SELECT count(*) FROM v_unjudged u WHERE u.job_id = j.job_id)) AS confidence,
	printf('of %d pages asked for, %d were not cached; no rule found anything to change',
		j.lookups, j.misses) AS summary,
	json_array(
		json_object('metric', 'lookups', 'value', j.lookups, 'unit', 'pages', 'scope', 'job'),
		json_object('metric', 'hit_ratio', 'value', j.hit_ratio, 'unit', 'ratio', 'scope', 'job'),
		json_object('metric', 'stall_ns', 'value', j.stall_ns, 'unit', 'ns', 'scope', 'job')
	) AS evidence,
	NULL AS gain_value,
	NULL AS gain_unit,
	NULL AS gain_method,
	NULL AS gain_cause
FROM v_job j
WHERE (j.lookups >= :min_lookups OR j.faults_major >= :min_lookups
		OR j.direct_read_bytes / j.page_size_bytes >= :min_lookups)
	AND NOT EXISTS (SELECT 1 FROM v_finding f
		WHERE f.job_id = j.job_id AND (f.severity <> 'info' OR f.id = 'too-little-data'))
