-- SPDX-License-Identifier: BSD-2-Clause
-- Schema 16. Moments that the job marked, with its counters at that time. Runs from before have no
-- rows.

-- A mark ends an interval: a sample was taken for it. The counters are sums since the start of the
-- run, so that the difference between two marks is exact however old the intervals are.
CREATE TABLE mark (
	job_id INTEGER NOT NULL REFERENCES job(id) ON DELETE CASCADE,
	number INTEGER NOT NULL CHECK (number > 0), -- 1, 2, ... in order of time
	at_ns INTEGER NOT NULL CHECK (at_ns >= 0), -- since the start of the run
	text BLOB NOT NULL,                     -- the job's text: any bytes, at most 256
	read_on_ns INTEGER NOT NULL,            -- time with the per-read hook on, until then
	cpu_ns INTEGER,
	read_calls INTEGER,
	read_bytes INTEGER,
	lookups INTEGER,
	delayed_hits INTEGER,
	misses INTEGER,
	demand_pages INTEGER,
	prefetched_sync INTEGER,
	prefetched_async INTEGER,
	prefetched_willneed INTEGER,
	prefetched_readahead2 INTEGER,
	prefetched_mmap_around INTEGER,
	used INTEGER,
	used_late INTEGER,
	evicted_unused INTEGER,
	resident_unused INTEGER,
	untracked INTEGER,
	untracked_map_full INTEGER,
	windows_sync INTEGER,
	windows_async INTEGER,
	windows_forced INTEGER,
	window_log2_0 INTEGER,
	window_log2_1 INTEGER,
	window_log2_2 INTEGER,
	window_log2_3 INTEGER,
	window_log2_4 INTEGER,
	window_log2_5 INTEGER,
	window_log2_6 INTEGER,
	window_log2_7 INTEGER,
	window_log2_8 INTEGER,
	window_log2_9 INTEGER,
	window_log2_10 INTEGER,
	window_log2_11 INTEGER,
	window_log2_12 INTEGER,
	window_log2_13 INTEGER,
	window_log2_14 INTEGER,
	window_log2_15 INTEGER,
	written_pages INTEGER,
	other_added_pages INTEGER,
	evicted_reclaim_kswapd INTEGER,
	evicted_reclaim_direct INTEGER,
	evicted_reclaim_memcg INTEGER,
	evicted_dontneed INTEGER,
	evicted_drop_caches INTEGER,
	evicted_truncate INTEGER,
	evicted_direct_io INTEGER,
	evicted_other INTEGER,
	refaults INTEGER,
	refault_misses INTEGER,
	refault_distance_pages INTEGER,
	refault_distance_ms INTEGER,
	faults_major INTEGER,
	faults_minor INTEGER,
	mapped_pages_upper_bound INTEGER,
	direct_read_calls INTEGER,
	direct_read_bytes INTEGER,
	stall_ns INTEGER,
	stalls INTEGER,
	evicted_invalidate INTEGER,
	evicted_dontcache INTEGER,
	evicted_not_added INTEGER,
	PRIMARY KEY (job_id, number)
) STRICT, WITHOUT ROWID;

ALTER TABLE run ADD COLUMN marks_dropped INTEGER; -- marks lost because the buffer was full

-- Which bytes an interval read for the first time, the second time and so on; epochs are detected
-- from these. Only files of known size count: the k-th pass over a file is its k-th size in bytes.
CREATE TABLE pass_interval (
	interval_id INTEGER NOT NULL REFERENCES interval(id) ON DELETE CASCADE,
	pass INTEGER NOT NULL CHECK (pass > 0),
	read_bytes INTEGER NOT NULL,
	file_bytes INTEGER NOT NULL,            -- sizes of the files whose pass begins in it
	brought_pages INTEGER NOT NULL,         -- pages added by the files of this pass
	file_pages INTEGER NOT NULL,            -- likewise
	PRIMARY KEY (interval_id, pass)
) STRICT, WITHOUT ROWID;
