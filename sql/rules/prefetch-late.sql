-- SPDX-License-Identifier: BSD-2-Clause
-- id: prefetch-late
-- title: readers wait for pages that were fetched ahead but have not arrived
-- version: 1
-- severity: high when the job waits at least high_share of its time, medium when at least medium_share, else low
-- needs counters: used used_late stall_ns stalls misses
-- param min_late_share = 0.25 ratio -- of the prefetched pages that were used
-- param min_late_pages = 256 pages -- 1 MiB of 4 KiB pages; a wait is often for a folio of many pages
-- param min_stall_share = 0.1 ratio -- of the time that the job's tasks ran or slept for the page cache
-- param medium_share = 0.2 ratio -- of that time
-- param high_share = 0.5 ratio -- of that time
SELECT
	j.job_id,
	'job' AS subject_kind,
	j.name AS subject,
	CASE
		WHEN w.stall_share >= :high_share THEN 'high'
		WHEN w.stall_share >= :medium_share THEN 'medium'
		ELSE 'low'
	END AS severity,
	-- A device at its limit makes every prefetch late, and no window helps: counters cannot tell.
	iif(j.sliced, 0.5, 0.7) AS confidence,
	printf('%d of %d prefetched pages that were used had to be waited for', j.used_late, j.all_used)
		AS summary,
	json_array(
		json_object('metric', 'used_late', 'value', j.used_late, 'unit', 'pages', 'scope', 'job'),
		json_object('metric', 'prefetch.timeliness', 'value', j.timeliness, 'unit', 'ratio',
			'scope', 'job'),
		json_object('metric', 'stall_ns', 'value', j.stall_ns, 'unit', 'ns', 'scope', 'job'),
		json_object('metric', 'stall_share', 'value', w.stall_share, 'unit', 'ratio', 'scope', 'job'),
		json_object('metric', 'window_pages_max', 'value', j.window_pages_max, 'unit', 'pages',
			'scope', 'job')
	) AS evidence,
	w.stall_wall_s * j.used_late / nullif(j.used_late + j.misses, 0) AS gain_value,
	's' AS gain_unit,
	'bound' AS gain_method,
	'late' AS gain_cause
FROM v_job j JOIN v_wall w ON w.job_id = j.job_id
WHERE j.used_late >= :min_late_pages
	AND j.used_late >= :min_late_share * j.all_used
	AND w.stall_share >= :min_stall_share
