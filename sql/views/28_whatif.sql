-- SPDX-License-Identifier: BSD-2-Clause
-- v_whatif_readahead: predicted reads of traced files with other settings. Sources:
-- analysis_whatif_readahead, traced_file, file. actual = 1 is the setting of the run; compare the
-- others with it.
CREATE TEMP VIEW v_whatif_readahead AS SELECT
	w.job_id,
	w.traced_file_id,
	t.path,  -- bytes
	f.id AS file_id,  -- file.id; NULL: no row of its own
	w.setting,  -- 'ra_kb=1024', 'random', 'sequential'
	w.actual,  -- 0/1
	w.misses, w.prefetched,  -- pages
	w.wasted,  -- pages; NULL for a mapped file, whose use cannot be seen
	w.requests, w.windows,  -- numbers
	w.fidelity,
		-- 0..1, share of the real windows that the model reproduces; below 0.95 there is no
		-- prediction
	w.note,
	t.stands_for,  -- number of files that this one represents
	t.ra_pages, t.io_pages,  -- pages, as the file was opened
	r.page_size_bytes  -- bytes
FROM analysis_whatif_readahead w JOIN traced_file t ON t.id = w.traced_file_id
	JOIN job j ON j.id = w.job_id JOIN run r ON r.id = j.run_id
	LEFT JOIN file f ON f.job_id = t.job_id AND f.dev_major = t.dev_major AND f.dev_minor = t.dev_minor
		AND f.ino = t.ino AND f.gen = t.gen;
