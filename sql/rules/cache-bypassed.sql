-- SPDX-License-Identifier: BSD-2-Clause
-- id: cache-bypassed
-- title: some data bypasses the page cache
-- version: 1
-- severity: low for a filesystem whose reads are not observed, info for direct reads, which are a choice
-- needs tables: filesystem
-- needs counters: read_bytes direct_read_bytes
-- needs facts: v_filesystem.cover
-- param min_direct_share = 0.5 ratio -- of all bytes that the job read from observed files
-- param min_direct_bytes = 16777216 bytes -- read directly
-- param min_outside_bytes = 16777216 bytes -- read by the job but not included in any figure, such as pipes and sockets
WITH past AS (
	SELECT
		x.job_id, 'device' AS subject_kind, coalesce(x.mount, x.type) AS subject, 'low' AS severity,
		printf('%s: %s; no figure includes %,d MiB that the job read', x.type,
			coalesce(x.why, 'its data is not in the page cache'),
			(j.rchar_bytes - j.read_bytes - j.direct_read_bytes) / 1048576) AS summary,
		x.direct_read_bytes, x.read_bytes, x.files,
		j.rchar_bytes - j.read_bytes - j.direct_read_bytes AS outside_read_bytes,
		-- Includes pipes and sockets.
		0.6 AS confidence
	FROM v_filesystem x JOIN v_job j ON j.job_id = x.job_id
	WHERE x.cover = 'cache-bypassed'
		-- These filesystems are memory, or hold no data.
		AND x.type NOT IN ('tmpfs', 'devtmpfs', 'ramfs', 'hugetlbfs', 'proc', 'sysfs', 'cgroup',
			'cgroup2', 'debugfs', 'tracefs', 'securityfs', 'devpts', 'mqueue', 'pipefs', 'sockfs')
		AND j.rchar_bytes - j.read_bytes - j.direct_read_bytes >= :min_outside_bytes
	UNION ALL
	SELECT
		j.job_id, 'job', j.name, 'info',
		printf('%,d of %,d MiB were read with O_DIRECT, bypassing the cache', j.direct_read_bytes / 1048576,
			(j.direct_read_bytes + j.read_bytes) / 1048576),
		j.direct_read_bytes, j.read_bytes, NULL,
		max(0, j.rchar_bytes - j.read_bytes - j.direct_read_bytes), 0.95
	FROM v_job j
	WHERE j.direct_read_bytes >= :min_direct_bytes
		AND j.direct_read_bytes >= :min_direct_share * (j.direct_read_bytes + j.read_bytes)
)
SELECT
	p.job_id,
	p.subject_kind,
	p.subject,
	p.severity,
	p.confidence,
	p.summary,
	json_array(
		json_object('metric', 'direct_read_bytes', 'value', p.direct_read_bytes, 'unit', 'bytes',
			'scope', p.subject_kind),
		json_object('metric', 'read_bytes', 'value', p.read_bytes, 'unit', 'bytes',
			'scope', p.subject_kind),
		json_object('metric', 'outside_read_bytes', 'value', p.outside_read_bytes, 'unit', 'bytes',
			'scope', 'job'),
		json_object('metric', 'files', 'value', p.files, 'unit', 'files', 'scope', p.subject_kind)
	) AS evidence,
	NULL AS gain_value,
	NULL AS gain_unit,
	NULL AS gain_method,
	NULL AS gain_cause
FROM past p
