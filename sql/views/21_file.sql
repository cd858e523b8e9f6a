-- SPDX-License-Identifier: BSD-2-Clause
-- v_file: the files with a row of their own (the ledger keeps the most active; at most 8192 per job
-- are analysed). Sources: file, analysis_pattern, device.
CREATE TEMP VIEW v_file AS SELECT
	x.id AS file_id,  -- file.id
	x.job_id,  -- job.id
	r.id AS run_id,  -- run.id
	x.directory_id,  -- directory.id
	x.path,  -- bytes; last name seen; NULL: no name known
	x.dev_major,  -- number
	x.dev_minor,  -- number
	x.ino,  -- number, two's complement
	x.gen,  -- number
	x.fstype,  -- text
	x.size_bytes,  -- bytes
	(x.size_bytes + r.page_size_bytes - 1) / r.page_size_bytes AS size_pages,  -- pages
	x.deleted,  -- 0/1
	x.folded_before AS lower_bound,  -- 0/1; counts before it got its row are in its directory's only
	r.page_size_bytes AS page_size_bytes,  -- bytes
	r.sliced AS sliced,  -- 0/1
	p.name AS pattern,  -- pattern's name; NULL: none was computed
	p.confidence AS pattern_confidence,  -- 0..1
	p.features AS pattern_features,  -- JSON object
	'all else holds, but how ' || coalesce(CAST(x.path AS TEXT), 'a file without a name') || ' is read is not '
		|| 'sure enough' || iif(r.level = 'full', '', ' (watch --level full traces it)') || ': ' || coalesce(p.name || printf(', confidence %.2f', p.confidence), 'no pattern')
		AS pattern_doubt,
		-- text: why it is in doubt, for a rule of which all other conditions hold
	d.name AS device,  -- name of its device; NULL: not recorded
	d.read_ahead_kb AS read_ahead_kb,  -- KiB, of its device
	d.read_ahead_kb * 1024 / r.page_size_bytes AS read_ahead_pages,  -- pages
	d.io_pages AS io_pages,  -- pages of the device's largest I/O
	d.rotational AS rotational,  -- 0/1
	d.network AS network,  -- 0/1
	iif(r.sliced, NULL, x.lookups) * 1.0
		/ nullif((x.size_bytes + r.page_size_bytes - 1) / r.page_size_bytes, 0) AS reads_per_page,
		-- lookups / size_pages: mean number of lookups per page
@sql/counters.sql@
-- CROSS keeps this join order whatever the size of the tables.
FROM analysis_file c CROSS JOIN file x ON x.id = c.file_id
	JOIN job j ON j.id = x.job_id JOIN run r ON r.id = j.run_id
	LEFT JOIN analysis_pattern p ON p.job_id = x.job_id AND p.kind = 'file' AND p.subject_id = x.id
	LEFT JOIN device d ON d.run_id = r.id AND d.dev_major = x.dev_major AND d.dev_minor = x.dev_minor;
