-- SPDX-License-Identifier: BSD-2-Clause
-- id: too-little-data
-- title: too little data was read to judge, or the run was too short
-- version: 5
-- severity: info
-- order: late
-- needs counters: lookups faults_major demand_pages
-- param min_pages = 1024 pages -- 4 MiB of 4 KiB pages; a pattern in fewer may be chance
-- param min_wall_ns = 200000000 ns -- a shorter run with fewer than 8 x min_pages is only a program's start
-- param min_outside_bytes = 16777216 bytes -- read from elsewhere; at least this much is mentioned
SELECT
	j.job_id,
	'job' AS subject_kind,
	j.name AS subject,
	'info' AS severity,
	1.0 AS confidence,
	printf('the job requested %,d pages%s, too few to judge', j.lookups + j.faults_major,
		iif(j.wall_ns IS NULL, '', printf(' in %.1f s', j.wall_ns / 1e9)))
		|| iif(j.rchar_bytes - j.read_bytes - j.direct_read_bytes >= :min_outside_bytes,
			printf('; no figure includes %,d MiB that it read from pipes, sockets or past the cache',
				(j.rchar_bytes - j.read_bytes - j.direct_read_bytes) / 1048576), '') AS summary,
	json_array(
		json_object('metric', 'lookups', 'value', j.lookups, 'unit', 'pages', 'scope', 'job'),
		json_object('metric', 'faults.major', 'value', j.faults_major, 'unit', 'faults', 'scope', 'job'),
		json_object('metric', 'direct_read_bytes', 'value', j.direct_read_bytes, 'unit', 'bytes',
			'scope', 'job'),
		json_object('metric', 'wall_ns', 'value', j.wall_ns, 'unit', 'ns', 'scope', 'job')
	) AS evidence,
	NULL AS gain_value,
	NULL AS gain_unit,
	NULL AS gain_method,
	NULL AS gain_cause,
	iif(max(j.lookups + j.faults_major, j.added_pages) + j.direct_read_bytes IS NULL,
		'few pages were looked up, and added pages or direct reads were not measured', NULL) AS not_judged
FROM v_job j
-- If a rule found something, there was enough data to judge that.
WHERE NOT EXISTS (SELECT 1 FROM v_finding f WHERE f.job_id = j.job_id)
	AND ((j.wall_ns < :min_wall_ns
		AND max(j.lookups + j.faults_major, j.added_pages) + j.direct_read_bytes / j.page_size_bytes
			< 8 * :min_pages)
	-- If direct reads could not be seen, the sum is NULL, because nothing shows that it is
	-- small. If the rest alone is large enough, direct reads do not matter.
	OR (max(j.lookups + j.faults_major, j.added_pages) + j.direct_read_bytes IS NULL
		AND j.lookups + j.faults_major < :min_pages)
	OR max(j.lookups + j.faults_major, j.added_pages)
		+ j.direct_read_bytes / j.page_size_bytes < :min_pages)
