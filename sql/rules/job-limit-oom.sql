-- SPDX-License-Identifier: BSD-2-Clause
-- id: job-limit-oom
-- title: the job's memory limit killed some of its processes
-- version: 1
-- severity: high
-- needs facts: v_limit.oom_kills
WITH looked AS ( -- the job's cgroup when its memory without page cache was largest; the kill came between two samples
	SELECT a.run_id, m.job_usage_bytes - m.job_file_bytes AS other_bytes, m.job_file_bytes AS file_bytes
	FROM analysis_scope a JOIN interval i ON i.run_id = a.run_id
		JOIN machine_interval m ON m.interval_id = i.id
	WHERE m.job_usage_bytes >= m.job_file_bytes
	ORDER BY other_bytes DESC, i.id DESC LIMIT 1
)
SELECT
	j.job_id,
	'job' AS subject_kind,
	j.name AS subject,
	'high' AS severity,
	0.95 AS confidence,
	printf('the memory limit%s killed %,d process%s', iif(l.limit_bytes IS NULL, '', printf(' of %,d MiB', l.limit_bytes / 1048576)),
			l.oom_kills, iif(l.oom_kills = 1, '', 'es'))
		|| iif(k.other_bytes IS NULL, '', printf('; the largest use recorded was %,d MiB without page cache, plus %,d MiB of page cache',
			k.other_bytes / 1048576, k.file_bytes / 1048576)) AS summary,
	json_array(
		json_object('metric', 'oom_kills', 'value', l.oom_kills, 'unit', 'processes', 'scope', 'job'),
		json_object('metric', 'limit_bytes', 'value', l.limit_bytes, 'unit', 'bytes', 'scope', 'job'),
		json_object('metric', 'job_other_bytes_max', 'value', k.other_bytes, 'unit', 'bytes', 'scope', 'job'),
		json_object('metric', 'job_file_bytes', 'value', k.file_bytes, 'unit', 'bytes', 'scope', 'job')
	) AS evidence,
	NULL AS gain_value,
	NULL AS gain_unit,
	NULL AS gain_method,
	NULL AS gain_cause
FROM v_job j JOIN v_limit l ON l.job_id = j.job_id LEFT JOIN looked k ON k.run_id = j.run_id
WHERE l.oom_kills > 0
