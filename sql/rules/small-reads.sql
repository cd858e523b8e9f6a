-- SPDX-License-Identifier: BSD-2-Clause
-- id: small-reads
-- title: many tiny reads per page
-- version: 1
-- severity: medium when the calls take at least medium_share of the job's CPU time, as assumed, else low
-- needs counters: read_calls read_bytes lookups
-- param max_bytes_per_call = 1024 bytes -- on average; less than a quarter of a 4 KiB page
-- param min_lookups_per_page = 4.0 ratio -- lookups per page of data
-- param min_calls = 50000 calls -- fewer take too little time to matter
-- param call_ns = 300 ns -- of CPU time for a cached read of a few bytes
-- param medium_share = 0.2 ratio -- of the job's CPU time
WITH tiny AS (
	SELECT
		d.*, j.cpu_ns,
		-- Only for sequential reads is it known that calls for the same page could be one.
		coalesce(d.pattern IN ('sequential', 'scan_once', 'reread', 'append_follow', 'backward'), 0)
			AS in_order, d.lookups * 1.0 * d.page_size_bytes / nullif(d.read_bytes, 0) AS lookups_per_page,
		-- Calls saved by one call per page.
		d.read_calls - d.read_bytes / d.page_size_bytes AS saved_calls
	FROM v_directory d JOIN v_job j ON j.job_id = d.job_id
)
SELECT
	t.job_id,
	'directory' AS subject_kind,
	t.path AS subject,
	iif(t.saved_calls * :call_ns >= :medium_share * t.cpu_ns, 'medium', 'low') AS severity,
	iif(t.in_order, 0.95, 0.6) AS confidence,
	printf('%,d calls read %.0f bytes each, which took %.0f lookups per page of data', t.read_calls,
		t.bytes_per_call, t.lookups_per_page) AS summary,
	json_array(
		json_object('metric', 'read_calls', 'value', t.read_calls, 'unit', 'calls',
			'scope', 'directory'),
		json_object('metric', 'read_bytes', 'value', t.read_bytes, 'unit', 'bytes',
			'scope', 'directory'),
		json_object('metric', 'lookups_per_page', 'value', t.lookups_per_page, 'unit', 'ratio',
			'scope', 'directory')
	) AS evidence,
	min(t.saved_calls * :call_ns, coalesce(t.cpu_ns, t.saved_calls * :call_ns)) / 1e9 AS gain_value,
	's' AS gain_unit,
	'bound' AS gain_method,
	'calls:' || t.directory_id AS gain_cause
FROM tiny t
WHERE t.read_calls >= :min_calls
	AND t.bytes_per_call <= :max_bytes_per_call
	AND t.lookups_per_page >= :min_lookups_per_page
