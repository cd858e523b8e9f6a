-- SPDX-License-Identifier: BSD-2-Clause
-- id: direct-io-rereads
-- title: data that would fit in the cache is read repeatedly with O_DIRECT
-- version: 1
-- severity: medium when at least medium_bytes were read again, else low
-- needs counters: direct_read_bytes
-- needs tables: machine_interval
-- needs facts: v_machine.available_bytes_min
-- param min_passes = 1.5 ratio -- bytes read directly, divided by the file size
-- param min_reread_bytes = 16777216 bytes -- beyond one pass
-- param max_memory_share = 0.8 ratio -- of the memory available, or of the job's limit
-- param medium_bytes = 268435456 bytes -- 256 MiB: about a second of a SATA SSD
WITH again AS (
	SELECT
		f.job_id, f.directory_id, count(*) AS files, max(f.path) AS path,
		sum(f.direct_read_bytes) AS direct_read_bytes, sum(f.size_bytes) AS size_bytes,
		sum(f.direct_read_bytes - f.size_bytes) AS reread_bytes, max(f.run_id) AS run_id
	FROM v_file f
	WHERE f.size_bytes > 0 AND f.direct_read_bytes >= :min_passes * f.size_bytes
	GROUP BY f.job_id, f.directory_id
)
SELECT
	a.job_id,
	iif(a.files = 1 OR d.path IS NULL, 'file', 'directory') AS subject_kind,
	iif(a.files = 1 OR d.path IS NULL, a.path, d.path) AS subject,
	iif(a.reread_bytes >= :medium_bytes, 'medium', 'low') AS severity,
	0.9 AS confidence,
	printf('%,d MiB were read with O_DIRECT from files of %,d MiB, which would fit in the available memory',
		a.direct_read_bytes / 1048576, a.size_bytes / 1048576) AS summary,
	json_array(
		json_object('metric', 'direct_read_bytes', 'value', a.direct_read_bytes, 'unit', 'bytes',
			'scope', 'files read again'),
		json_object('metric', 'size_bytes', 'value', a.size_bytes, 'unit', 'bytes',
			'scope', 'files read again'),
		json_object('metric', 'available_bytes_min', 'value', m.available_bytes_min, 'unit', 'bytes',
			'scope', 'machine'),
		json_object('metric', 'limit_bytes', 'value', coalesce(l.limit_bytes, m.job_limit_bytes),
			'unit', 'bytes', 'scope', 'job')
	) AS evidence,
	a.reread_bytes AS gain_value,
	'bytes' AS gain_unit,
	'measured' AS gain_method,
	'direct:' || coalesce(a.directory_id, 0) AS gain_cause
FROM again a JOIN v_machine m ON m.run_id = a.run_id
	LEFT JOIN v_directory d ON d.directory_id = a.directory_id
	LEFT JOIN v_limit l ON l.job_id = a.job_id
WHERE a.reread_bytes >= :min_reread_bytes
	AND a.size_bytes <= :max_memory_share * min(m.available_bytes_min,
		coalesce(l.limit_bytes, m.job_limit_bytes, m.available_bytes_min))
