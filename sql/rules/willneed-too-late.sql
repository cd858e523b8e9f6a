-- SPDX-License-Identifier: BSD-2-Clause
-- id: willneed-too-late
-- title: reads catch up with WILLNEED advice and wait
-- version: 1
-- severity: high when the stall they explain is at least high_share of the wall time, medium when at
--           least medium_share, else low
-- needs counters: stall_ns stalls wall_ns cpu_ns used_late windows_sync windows_forced faults_major
-- needs tables: advice
-- needs facts: v_asked.used_late v_asked.used
-- param min_late_share = 0.3 ratio -- waits per call that fetched pages
-- param min_late_waits = 8 waits -- fewer are noise
-- param min_stall_share = 0.05 ratio -- of the run, spent waiting for these files
-- param medium_share = 0.05 ratio -- of the wall time
-- param high_share = 0.2 ratio -- of the wall time
WITH whole AS ( -- a dataset of many files is one finding
	SELECT
		a.job_id, f.directory_id, count(*) AS files, max(a.path) AS path, sum(a.used) AS used,
		sum(a.used_late) AS used_late, sum(a.calls) AS calls, max(w.wall_s) AS wall_s,
		-- The part of a file's late waits for advised pages, in proportion to pages.
		sum(l.late_waits * a.used_late * 1.0 / nullif(f.used_late, 0)) AS late_waits,
		sum(f.stall_ns * w.s_per_stall_ns * l.late_waits / nullif(l.stalls, 0)
			* a.used_late / nullif(f.used_late, 0)) AS saved_s
	FROM v_asked a LEFT JOIN v_file f ON f.file_id = a.file_id
		LEFT JOIN v_late l ON l.kind = 'file' AND l.subject_id = f.file_id
		LEFT JOIN v_wall w ON w.job_id = a.job_id
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
	printf('%,d calls requested pages, and reads waited %,d times for these pages', b.calls, b.late_waits) AS summary,
	json_array(
		json_object('metric', 'advice.used_late', 'value', b.used_late, 'unit', 'pages',
			'scope', 'advice'),
		json_object('metric', 'late_waits', 'value', CAST(b.late_waits AS INTEGER), 'unit', 'waits',
			'scope', 'advice'),
		json_object('metric', 'advice.used', 'value', b.used, 'unit', 'pages', 'scope', 'advice'),
		json_object('metric', 'files', 'value', b.files, 'unit', 'files', 'scope', 'advice')
	) AS evidence,
	b.saved_s AS gain_value,
	's' AS gain_unit,
	'bound' AS gain_method,
	'late' AS gain_cause
FROM whole b LEFT JOIN v_directory d ON d.directory_id = b.directory_id
WHERE b.used_late > 0
	AND b.late_waits >= :min_late_waits
	AND b.late_waits >= :min_late_share * b.calls
	AND b.saved_s >= :min_stall_share * b.wall_s
