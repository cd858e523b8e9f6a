-- SPDX-License-Identifier: BSD-2-Clause
-- id: dontneed-harmful
-- title: pages that DONTNEED advice dropped were read again
-- version: 4
-- severity: high when the stall they explain is at least high_share of the wall time, medium when at
--           least medium_share, else low
-- needs counters: evicted_dontneed refaults demand_pages prefetched_pages
-- needs tables: advice
-- param min_returned_share = 0.3 ratio -- of the pages that the advice dropped
-- param min_returned_pages = 1024 pages -- 4 MiB of 4 KiB pages
-- param max_memory_share = 0.95 ratio -- of the available memory or the limit: what the job read must fit in this
-- param medium_share = 0.05 ratio -- of the wall time
-- param high_share = 0.2 ratio -- of the wall time
WITH own AS ( -- what the job's own calls dropped; DONTNEED of others is evicted-by-neighbour
	SELECT f.job_id, f.directory_id, sum(a.pages_dropped) AS pages_dropped
	FROM v_advice a JOIN v_file f ON f.file_id = a.file_id
	WHERE a.kind = 'dontneed' AND a.pages_dropped > 0
	GROUP BY f.job_id, f.directory_id
), dropped AS (
	SELECT
		d.job_id, d.directory_id, d.path, d.page_size_bytes, o.pages_dropped, d.refaults,
		d.refault_misses, d.demand_pages + d.prefetched_pages AS fetched_pages, d.stall_ns,
		x.dropped_refaults IS NOT NULL AS recorded,
		x.dropped_refaults_others AS others_pages,
		-- If it is not known which pages came back: refaults that no other cause can
		-- explain. Pages that are written again come back too, without a fetch.
		max(0, min(o.pages_dropped, d.demand_pages + d.prefetched_pages, coalesce(x.dropped_refaults,
			d.refaults - (d.evicted_pages - o.pages_dropped - d.evicted_truncate)))) AS own_pages
	FROM v_directory d JOIN own o ON o.job_id = d.job_id AND o.directory_id = d.directory_id
		LEFT JOIN v_dropped x ON x.job_id = d.job_id AND x.directory_id = d.directory_id
	WHERE d.evicted_dontneed > 0
), room AS ( -- whether everything that the job brought in would have fitted
	SELECT
		j.job_id, (j.added_pages - j.refaults) * j.page_size_bytes AS set_bytes,
		min(m.available_bytes_min, coalesce(l.limit_bytes, m.job_limit_bytes, m.available_bytes_min))
			AS room_bytes
	FROM v_job j LEFT JOIN v_machine m ON m.run_id = j.run_id LEFT JOIN v_limit l ON l.job_id = j.job_id
), cost AS (
	SELECT d.*, w.wall_s, r.set_bytes, r.room_bytes,
		iif(d.others_pages > 0, min(d.pages_dropped, d.own_pages + d.others_pages), d.own_pages)
			AS returned_pages,
		-- Waits of other processes are not time of this job.
		d.stall_ns * w.s_per_stall_ns * d.own_pages / nullif(d.fetched_pages, 0) AS saved_s
	FROM dropped d JOIN room r ON r.job_id = d.job_id LEFT JOIN v_wall w ON w.job_id = d.job_id
)
SELECT
	c.job_id,
	'directory' AS subject_kind,
	c.path AS subject,
	CASE
		WHEN c.saved_s >= :high_share * c.wall_s THEN 'high'
		WHEN c.saved_s >= :medium_share * c.wall_s THEN 'medium'
		ELSE 'low'
	END AS severity,
	CASE WHEN c.room_bytes IS NULL THEN 0.6 WHEN c.recorded THEN 0.95 ELSE 0.85 END AS confidence,
	printf('the job''s own calls dropped %,d pages, %,d of which were read again%s', c.pages_dropped, c.returned_pages,
		iif(c.others_pages, printf(' (%,d of them by other processes)', min(c.others_pages, c.returned_pages)), '')) AS summary,
	json_array(
		json_object('metric', 'advice.pages_dropped', 'value', c.pages_dropped, 'unit', 'pages',
			'scope', 'directory'),
		json_object('metric', 'returned_pages', 'value', c.returned_pages, 'unit', 'pages',
			'scope', 'directory'),
		json_object('metric', 'returned_pages.others', 'value', c.others_pages, 'unit', 'pages',
			'scope', 'machine'),
		json_object('metric', 'refaults', 'value', c.refaults, 'unit', 'pages', 'scope', 'directory'),
		json_object('metric', 'refault_misses', 'value', c.refault_misses, 'unit', 'pages',
			'scope', 'directory'),
		json_object('metric', 'stall_ns', 'value', c.stall_ns, 'unit', 'ns', 'scope', 'directory')
	) AS evidence,
	iif(c.own_pages AND c.saved_s IS NOT NULL, c.saved_s, c.returned_pages * c.page_size_bytes) AS gain_value,
	iif(c.own_pages AND c.saved_s IS NOT NULL, 's', 'bytes') AS gain_unit,
	'measured' AS gain_method,
	'dontneed:' || c.directory_id AS gain_cause,
	NULL AS not_judged
FROM cost c
WHERE c.returned_pages >= :min_returned_pages
	AND c.returned_pages >= :min_returned_share * c.pages_dropped
	-- Dropping is right if memory is short. If that is not known, the confidence is lower.
	AND (c.room_bytes IS NULL OR c.set_bytes <= :max_memory_share * c.room_bytes)
UNION ALL -- so many left by DONTNEED and came back, but which of them the job's own calls dropped is not known
SELECT
	d.job_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
	'how many pages DONTNEED dropped in ' || coalesce(CAST(d.path AS TEXT), 'a directory without a name')
		|| ' was not measured'
FROM v_directory d
WHERE d.evicted_dontneed >= :min_returned_pages
	AND d.refaults >= :min_returned_pages
	AND EXISTS (SELECT 1 FROM v_advice a JOIN v_file f ON f.file_id = a.file_id
		WHERE a.kind = 'dontneed' AND a.pages_dropped IS NULL AND f.job_id = d.job_id
			AND f.directory_id = d.directory_id)
