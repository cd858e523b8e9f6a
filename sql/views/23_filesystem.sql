-- SPDX-License-Identifier: BSD-2-Clause
-- v_filesystem: every device with a file of the job; they add up to the job. Sources: filesystem,
-- device.
CREATE TEMP VIEW v_filesystem AS SELECT
	x.id AS filesystem_id,  -- filesystem.id
	x.job_id,  -- job.id
	r.id AS run_id,  -- run.id
	x.type,  -- as in mountinfo
	x.mount,  -- bytes; NULL: not mounted at a visible place
	x.dev_major,  -- number; NULL: devices without a row of their own
	x.dev_minor,  -- number
	x.cover,  -- exact, partly, cache-bypassed, unknown
	x.why,  -- a sentence that explains cover
	x.files,  -- distinct files
	r.page_size_bytes AS page_size_bytes,  -- bytes
	r.sliced AS sliced,  -- 0/1
	d.name AS device,  -- name of the device; NULL: not recorded
	d.read_ahead_kb AS read_ahead_kb,  -- KiB
	d.io_pages AS io_pages,  -- pages
	d.rotational AS rotational,  -- 0/1
	d.network AS network,  -- 0/1
@sql/counters.sql@
FROM analysis_scope a JOIN run r ON r.id = a.run_id JOIN job j ON j.run_id = r.id AND j.slot <> 0
	JOIN filesystem x ON x.job_id = j.id
	LEFT JOIN device d ON d.run_id = r.id AND d.dev_major = x.dev_major AND d.dev_minor = x.dev_minor;
