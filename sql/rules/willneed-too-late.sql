-- SPDX-License-Identifier: BSD-2-Clause
-- id: willneed-too-late
-- title: reads catch up with the advice and wait
-- version: 1
-- severity: high when the stall that goes with them is at least high_share of the wall time, medium when at
--           least medium_share, else low
-- needs tables: advice
-- needs facts: v_advice.used_late v_advice.used
-- param min_late_share = 0.3 ratio -- of the advised pages that were used
-- param min_late_pages = 256 pages -- 1 MiB of 4 KiB pages; a wait is often for a folio of many pages
-- param medium_share = 0.05 ratio -- of the wall time
-- param high_share = 0.2 ratio -- of the wall time
WITH whole AS ( -- a dataset of many files is one finding
	SELECT
		a.job_id, f.directory_id, count(*) AS files, max(a.path) AS path, sum(a.used) AS used,
		sum(a.used_late) AS used_late, max(a.page_size_bytes) AS page_size_bytes, max(w.wall_s) AS wall_s,
		-- Of a file's waits those for advised pages: by pages, misses and other late ones beside them.
		sum(f.stall_ns * w.s_per_stall_ns * min(a.used_late, f.used_late)
			/ nullif(f.used_late + f.misses + f.faults_major, 0)) AS saved_s
	FROM v_advice a LEFT JOIN v_file f ON f.file_id = a.file_id LEFT JOIN v_wall w ON w.job_id = a.job_id
	WHERE a.kind IN ('willneed', 'readahead')
	GROUP BY a.job_id, f.directory_id
	HAVING count(a.used) = count(*) AND count(a.used_late) = count(*)
)
SELECT
	b.job_id,
	iif(b.files = 1 OR d.path IS NULL, 'file', 'directory') AS subject_kind,
	iif(b.files = 1 OR d.path IS NULL, b.path, d.path) AS subject,
	CASE
		WHEN b.saved_s >= :high_share * b.wall_s THEN 'high'
		WHEN b.saved_s >= :medium_share * b.wall_s THEN 'medium'
		ELSE 'low'
	END AS severity,
	0.9 AS confidence,
	printf('of %d advised pages that were read, %d had to be waited for', b.used + b.used_late,
		b.used_late) AS summary,
	json_array(
		json_object('metric', 'advice.used_late', 'value', b.used_late, 'unit', 'pages',
			'scope', 'advice'),
		json_object('metric', 'advice.used', 'value', b.used, 'unit', 'pages', 'scope', 'advice'),
		json_object('metric', 'files', 'value', b.files, 'unit', 'files', 'scope', 'advice')
	) AS evidence,
	coalesce(b.saved_s, b.used_late * b.page_size_bytes) AS gain_value,
	iif(b.saved_s IS NULL, 'bytes', 's') AS gain_unit,
	'bound' AS gain_method,
	'late' AS gain_cause
FROM whole b LEFT JOIN v_directory d ON d.directory_id = b.directory_id
WHERE b.used_late >= :min_late_pages
	AND b.used_late >= :min_late_share * (b.used + b.used_late)
