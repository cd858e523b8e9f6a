-- SPDX-License-Identifier: BSD-2-Clause
-- id: first-touch-only
-- title: nearly all data is read only once, so no cache size helps
-- version: 2
-- lever: symptom
-- order: late
-- severity: medium when the job waits at least medium_stall_share of its time, low when at least
--           low_stall_share, else info
-- needs counters: lookups refaults demand_pages used prefetched_pages added_pages used_late faults_major
-- param min_first_share = 0.9 ratio -- of the lookups needed a page that was not cached before
-- param max_refault_share = 0.02 ratio -- of the pages brought in had been cached before
-- param min_pages = 4096 pages -- brought in; 16 MiB of 4 KiB pages
-- param min_explained_share = 0.5 ratio -- of the waiting: what saves it is the cause
-- param low_stall_share = 0.2 ratio -- of the wall time
-- param medium_stall_share = 0.4 ratio -- of the wall time
WITH fetched AS (
	SELECT job_id, lookups, refaults, added_pages,
		-- Without written pages, and without prefetched pages that no lookup used.
		demand_pages + used + used_late - faults_major AS first_pages
	FROM v_job
)
SELECT
	j.job_id,
	'job' AS subject_kind,
	j.name AS subject,
	CASE
		WHEN w.stall_share >= :medium_stall_share THEN 'medium'
		WHEN w.stall_share >= :low_stall_share THEN 'low'
		ELSE 'info'
	END AS severity,
	0.9 AS confidence,
	printf('%,d of %,d pages looked up were first reads; %,d were fetched again',
		min(f.first_pages, f.lookups), f.lookups, f.refaults) AS summary,
	json_array(
		json_object('metric', 'first_pages', 'value', f.first_pages, 'unit', 'pages', 'scope', 'job'),
		json_object('metric', 'lookups', 'value', f.lookups, 'unit', 'pages', 'scope', 'job'),
		json_object('metric', 'refaults', 'value', f.refaults, 'unit', 'pages', 'scope', 'job'),
		json_object('metric', 'stall_share', 'value', w.stall_share, 'unit', 'ratio', 'scope', 'job')
	) AS evidence,
	w.stall_wall_s AS gain_value,
	iif(w.stall_wall_s IS NULL, NULL, 's') AS gain_unit,
	iif(w.stall_wall_s IS NULL, NULL, 'bound') AS gain_method,
	-- All waits are for first reads, so a finding that saves most of them has the remedy. Fewer
	-- calls save CPU time instead.
	iif(w.stall_wall_s IS NULL, NULL, coalesce((SELECT o.gain_cause FROM v_finding o
		WHERE o.job_id = j.job_id AND o.severity <> 'info' AND o.id <> 'small-reads'
			AND o.gain_s >= :min_explained_share * w.stall_wall_s
		ORDER BY o.gain_s DESC, o.id LIMIT 1), 'first-touch')) AS gain_cause
FROM fetched f JOIN v_job j ON j.job_id = f.job_id LEFT JOIN v_wall w ON w.job_id = f.job_id
WHERE NOT j.sliced
	AND f.first_pages >= :min_pages
	AND f.first_pages >= :min_first_share * f.lookups
	AND f.refaults <= :max_refault_share * f.added_pages
