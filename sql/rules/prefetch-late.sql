-- SPDX-License-Identifier: BSD-2-Clause
-- id: prefetch-late
-- title: readers wait for prefetched pages that have not arrived yet
-- version: 1
-- lever: symptom
-- severity: high when the job waits so at least high_share of its time, medium when at least medium_share, else low
-- needs counters: used_late stall_ns stalls windows_sync windows_forced faults_major misses wall_ns cpu_ns
-- param min_late_share = 0.25 ratio -- of all waits
-- param min_late_waits = 8 waits -- fewer are noise
-- param min_stall_share = 0.1 ratio -- of the job's stall and CPU time
-- param medium_share = 0.2 ratio -- of that time
-- param high_share = 0.5 ratio -- of that time
WITH late AS (
	SELECT j.*, l.late_waits, w.wall_s,
		w.stall_share * l.late_waits / nullif(l.stalls, 0) AS late_share,
		w.stall_wall_s * l.late_waits / nullif(l.stalls, 0) AS late_s
	FROM v_job j JOIN v_late l ON l.kind = 'job' AND l.subject_id = j.job_id
		JOIN v_wall w ON w.job_id = j.job_id
)
SELECT
	j.job_id,
	'job' AS subject_kind,
	j.name AS subject,
	CASE
		WHEN j.late_share >= :high_share THEN 'high'
		WHEN j.late_share >= :medium_share THEN 'medium'
		ELSE 'low'
	END AS severity,
	-- A saturated device makes every prefetch late, whatever the window; counters do not show
	-- that.
	iif(j.sliced, 0.5, 0.7) AS confidence,
	printf('%,d of %,d waits were for reads already in progress; they took %.0f %% of the job''s time', j.late_waits,
		j.stalls, 100 * j.late_share) AS summary,
	json_array(
		json_object('metric', 'late_waits', 'value', j.late_waits, 'unit', 'waits', 'scope', 'job'),
		json_object('metric', 'used_late', 'value', j.used_late, 'unit', 'pages', 'scope', 'job'),
		json_object('metric', 'prefetch.timeliness', 'value', j.timeliness, 'unit', 'ratio',
			'scope', 'job'),
		json_object('metric', 'stall_ns', 'value', j.stall_ns, 'unit', 'ns', 'scope', 'job'),
		json_object('metric', 'window_pages_max', 'value', j.window_pages_max, 'unit', 'pages',
			'scope', 'job')
	) AS evidence,
	j.late_s AS gain_value,
	's' AS gain_unit,
	'bound' AS gain_method,
	'late' AS gain_cause
FROM late j
WHERE j.used_late > 0
	AND j.late_waits >= :min_late_waits
	AND j.late_waits >= :min_late_share * j.stalls
	AND j.late_share >= :min_stall_share
