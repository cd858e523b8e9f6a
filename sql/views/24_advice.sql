-- SPDX-License-Identifier: BSD-2-Clause
-- v_advice: what the job's advice requested and moved, with its effect: one row per file, kind and
-- call. Sources: advice, file, device, analysis_verdict. NULL: not measured.
CREATE TEMP VIEW v_advice AS SELECT
	x.id AS advice_id,  -- advice.id
	x.job_id,  -- job.id
	f.id AS file_id,  -- file.id; NULL: the file has no row of its own
	x.path,  -- bytes
	x.kind,  -- willneed dontneed sequential random normal noreuse readahead
	x.call,  -- fadvise madvise readahead
	r.advice_mode,
		-- calls: all calls; effects: only those that moved pages, so that calls and
		-- pages_asked are lower bounds
	x.calls,  -- calls
	x.offset_bytes,  -- bytes; lowest offset requested
	x.length_bytes,  -- bytes; NULL: to the end of the file
	x.pages_asked,  -- pages in the requested ranges
	x.pages_brought,  -- pages; exact
	x.pages_dropped,  -- pages; exact
	x.cached_pages,  -- pages requested that were in the cache at the call, for every kind
	x.redundant_pages,  -- the same for calls that bring pages: requested without effect
	x.pages_asked - x.redundant_pages AS pages_missing,  -- pages requested that were not cached
	iif(r.sliced AND x.untracked > 0, NULL, x.used) AS used,
		-- pages brought and used in time; NULL in a sliced run that did not follow all of
		-- them
	iif(r.sliced AND x.untracked > 0, NULL, x.used_late) AS used_late,
		-- pages brought whose reader had to wait; NULL likewise
	iif(r.sliced AND x.untracked > 0, NULL, x.evicted_unused) AS evicted_unused,
		-- pages brought that were evicted unused; NULL likewise
	iif(r.sliced AND x.untracked > 0, NULL, x.resident_unused) AS resident_unused,
		-- pages brought, still cached, not used yet; NULL likewise
	x.untracked,  -- pages brought whose fate cannot be known
	x.dropped_refaults,  -- pages it dropped that came back, read or written
	x.dropped_refaults_others,  -- pages it dropped that other processes read back
	x.pages_asked * 1.0 / nullif(x.calls, 0) AS pages_asked_per_call,  -- pages
	r.page_size_bytes,  -- bytes
	f.size_bytes,  -- bytes of the file
	d.read_ahead_kb,  -- KiB, of the file's device
	d.io_pages,  -- pages of the device's largest I/O
	-- pages one call can bring: the larger of read_ahead_kb and the largest I/O
	max(d.io_pages, d.read_ahead_kb * 1024 / r.page_size_bytes) AS call_limit_pages,
	v.verdict,  -- helped, no effect, harmful, cut short, redundant, too late; NULL: not judged
	v.why AS verdict_why  -- a sentence
FROM analysis_scope a JOIN run r ON r.id = a.run_id JOIN job j ON j.run_id = r.id AND j.slot <> 0
	JOIN advice x ON x.job_id = j.id
	LEFT JOIN file f ON f.job_id = x.job_id AND f.dev_major = x.dev_major AND f.dev_minor = x.dev_minor
		AND f.ino = x.ino AND f.gen = x.gen
	LEFT JOIN device d ON d.run_id = r.id AND d.dev_major = x.dev_major AND d.dev_minor = x.dev_minor
	LEFT JOIN analysis_verdict v ON v.advice_id = x.id;
