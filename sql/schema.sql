-- SPDX-License-Identifier: BSD-2-Clause
-- Written by tests/unit/test_schema.c from the migrations: do not change.

PRAGMA application_id = 1667330920;

CREATE TABLE run (
	id INTEGER PRIMARY KEY,
	uuid TEXT NOT NULL UNIQUE,              -- survives merging databases
	cachemon TEXT NOT NULL,                 -- version of the writer
	host TEXT NOT NULL,
	kernel TEXT NOT NULL,
	arch TEXT NOT NULL,
	started_ns INTEGER NOT NULL,            -- CLOCK_REALTIME at the start;
	                                        -- other times are monotonic
	duration_ns INTEGER NOT NULL DEFAULT 0 CHECK (duration_ns >= 0), -- until the last interval
	state TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'complete', 'cut')),
	                                        -- open: being written, or its writer was killed;
	                                        -- cut: its writer was found to be gone
	-- The process that writes the run: while it lives, the run is not cut.
	writer_boot TEXT NOT NULL,              -- random/boot_id
	writer_pidns INTEGER NOT NULL,          -- inode of its pid namespace; 0: not known
	writer_pid INTEGER NOT NULL,
	writer_start_ticks INTEGER NOT NULL,    -- starttime of /proc/PID/stat; 0: not known
	level TEXT NOT NULL CHECK (level IN ('cold', 'full', 'auto')),
	sliced INTEGER NOT NULL DEFAULT 0 CHECK (sliced IN (0, 1)),
	                                        -- the per-read hook was off at some time
	read_on_ns INTEGER NOT NULL DEFAULT 0,  -- time with the per-read hook on
	advice_mode TEXT NOT NULL CHECK (advice_mode IN ('calls', 'effects')),
	interval_ns INTEGER NOT NULL,
	page_size_bytes INTEGER NOT NULL CHECK (page_size_bytes > 0),
	memory_bytes INTEGER NOT NULL,
	map_bytes INTEGER NOT NULL,             -- memory of the BPF maps; 0: not known
	exit_status INTEGER,
	                                        -- of the command, as in a shell; NULL: no command
	                                        -- or still running
	-- Overhead from the start to the last interval. NULL: the cost of some event is not known.
	cost_cpu_ns INTEGER,
	cost_probe_cpu_ns INTEGER,
	cost_collector_cpu_ns INTEGER,
	cost_probe_ns_per_lookup REAL,
	cost_share_of_job_cpu REAL,
	cost_advice_calls_ns REAL,
	-- losses
	loss_map_full INTEGER NOT NULL DEFAULT 0,
	loss_chunk_full INTEGER NOT NULL DEFAULT 0,
	loss_ring_drops INTEGER NOT NULL DEFAULT 0,
	loss_state_drops INTEGER NOT NULL DEFAULT 0,
	loss_ghosts_dropped INTEGER NOT NULL DEFAULT 0,
	loss_advice_full INTEGER NOT NULL DEFAULT 0,
	loss_intervals INTEGER NOT NULL DEFAULT 0, -- intervals that could not be written
	law_error_pages INTEGER NOT NULL DEFAULT 0
	                                        -- sum of |error| of the conservation law; 0: it
	                                        -- held
, loss_recursion_misses INTEGER
	CHECK (loss_recursion_misses >= 0), cost_budget REAL, cost_share REAL, cost_budget_kept INTEGER CHECK (cost_budget_kept IN (0, 1)), cost_over_budget_by REAL, cost_reads_ns INTEGER, cost_pages_ns INTEGER, cost_windows_ns INTEGER, cost_faults_ns INTEGER, cost_switches_ns INTEGER, cost_other_ns INTEGER, marks_dropped INTEGER, user TEXT) STRICT;

CREATE TABLE probe (
	run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
	role TEXT NOT NULL,
	hook TEXT,                              -- 'tp_btf:mm_filemap_get_pages'; NULL: none
	state TEXT NOT NULL CHECK (state IN ('live', 'absent', 'failed')),
	reason TEXT,
	PRIMARY KEY (run_id, role)
) STRICT, WITHOUT ROWID;

CREATE TABLE unmeasured (
	run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
	counter TEXT NOT NULL,
	reason TEXT NOT NULL,
	PRIMARY KEY (run_id, counter)
) STRICT, WITHOUT ROWID;

CREATE TABLE job (
	id INTEGER PRIMARY KEY,
	run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
	slot INTEGER NOT NULL,                  -- 0: (others), one directory row, no file rows
	name TEXT NOT NULL,
	selector TEXT NOT NULL,                 -- 'command: python train.py', 'pid: 12', 'cgroup: /a/b'
	processes INTEGER,
	alive INTEGER,                          -- processes still running at the last interval
	wall_ns INTEGER,
	cpu_ns INTEGER,
	rchar_bytes INTEGER,                    -- bytes its tasks read from any source
	rchar_read_on_bytes INTEGER,            -- the same, with the per-read hook on
	misses_read_on INTEGER,                 -- misses with the per-read hook on
	read_calls INTEGER CHECK (read_calls >= 0),
	read_bytes INTEGER CHECK (read_bytes >= 0),
	lookups INTEGER CHECK (lookups >= 0),
	delayed_hits INTEGER CHECK (delayed_hits >= 0),
	misses INTEGER CHECK (misses >= 0),
	demand_pages INTEGER CHECK (demand_pages >= 0),
	prefetched_sync INTEGER CHECK (prefetched_sync >= 0),
	prefetched_async INTEGER CHECK (prefetched_async >= 0),
	prefetched_willneed INTEGER CHECK (prefetched_willneed >= 0),
	prefetched_readahead2 INTEGER CHECK (prefetched_readahead2 >= 0),
	prefetched_mmap_around INTEGER CHECK (prefetched_mmap_around >= 0),
	used INTEGER CHECK (used >= 0),
	used_late INTEGER CHECK (used_late >= 0),
	evicted_unused INTEGER CHECK (evicted_unused >= 0),
	resident_unused INTEGER,
	untracked INTEGER CHECK (untracked >= 0),
	untracked_map_full INTEGER CHECK (untracked_map_full >= 0),
	windows_sync INTEGER CHECK (windows_sync >= 0),
	windows_async INTEGER CHECK (windows_async >= 0),
	windows_forced INTEGER CHECK (windows_forced >= 0),
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
	written_pages INTEGER CHECK (written_pages >= 0),
	other_added_pages INTEGER CHECK (other_added_pages >= 0),
	evicted_reclaim_kswapd INTEGER CHECK (evicted_reclaim_kswapd >= 0),
	evicted_reclaim_direct INTEGER CHECK (evicted_reclaim_direct >= 0),
	evicted_reclaim_memcg INTEGER CHECK (evicted_reclaim_memcg >= 0),
	evicted_dontneed INTEGER CHECK (evicted_dontneed >= 0),
	evicted_drop_caches INTEGER CHECK (evicted_drop_caches >= 0),
	evicted_truncate INTEGER CHECK (evicted_truncate >= 0),
	evicted_direct_io INTEGER CHECK (evicted_direct_io >= 0),
	evicted_other INTEGER CHECK (evicted_other >= 0),
	refaults INTEGER CHECK (refaults >= 0),
	refault_misses INTEGER CHECK (refault_misses >= 0),
	refault_distance_pages INTEGER CHECK (refault_distance_pages >= 0),
	refault_distance_ms INTEGER CHECK (refault_distance_ms >= 0),
	faults_major INTEGER CHECK (faults_major >= 0),
	faults_minor INTEGER CHECK (faults_minor >= 0),
	mapped_pages_upper_bound INTEGER CHECK (mapped_pages_upper_bound >= 0),
	direct_read_calls INTEGER CHECK (direct_read_calls >= 0),
	direct_read_bytes INTEGER CHECK (direct_read_bytes >= 0),
	stall_ns INTEGER CHECK (stall_ns >= 0),
	stalls INTEGER CHECK (stalls >= 0), evicted_invalidate INTEGER CHECK (evicted_invalidate >= 0), evicted_dontcache INTEGER CHECK (evicted_dontcache >= 0), syscr_calls INTEGER, evicted_not_added INTEGER CHECK (evicted_not_added >= 0), head_answer TEXT, head_grade TEXT, head_score REAL, head_finding TEXT, head_title TEXT, kind TEXT        -- how it was selected
	CHECK (kind IN ('command', 'pid', 'cgroup', 'slurm', 'unit', 'container', 'pod', 'vm')), external_id TEXT, uid INTEGER, step TEXT, job_name TEXT, partition TEXT,
	UNIQUE (run_id, slot)
) STRICT;

CREATE TABLE directory (
	id INTEGER PRIMARY KEY,
	job_id INTEGER NOT NULL REFERENCES job(id) ON DELETE CASCADE,
	path BLOB,
	files INTEGER,                          -- distinct files seen in it; NULL: not counted
	files_estimated INTEGER NOT NULL DEFAULT 0 CHECK (files_estimated IN (0, 1)),
	                                        -- 1: lower bound
	subdirectories INTEGER NOT NULL DEFAULT 0 CHECK (subdirectories IN (0, 1)),
	                                        -- 1: includes directories below it that have no row
	misses_read_on INTEGER,
	read_calls INTEGER CHECK (read_calls >= 0),
	read_bytes INTEGER CHECK (read_bytes >= 0),
	lookups INTEGER CHECK (lookups >= 0),
	delayed_hits INTEGER CHECK (delayed_hits >= 0),
	misses INTEGER CHECK (misses >= 0),
	demand_pages INTEGER CHECK (demand_pages >= 0),
	prefetched_sync INTEGER CHECK (prefetched_sync >= 0),
	prefetched_async INTEGER CHECK (prefetched_async >= 0),
	prefetched_willneed INTEGER CHECK (prefetched_willneed >= 0),
	prefetched_readahead2 INTEGER CHECK (prefetched_readahead2 >= 0),
	prefetched_mmap_around INTEGER CHECK (prefetched_mmap_around >= 0),
	used INTEGER CHECK (used >= 0),
	used_late INTEGER CHECK (used_late >= 0),
	evicted_unused INTEGER CHECK (evicted_unused >= 0),
	resident_unused INTEGER,
	untracked INTEGER CHECK (untracked >= 0),
	untracked_map_full INTEGER CHECK (untracked_map_full >= 0),
	windows_sync INTEGER CHECK (windows_sync >= 0),
	windows_async INTEGER CHECK (windows_async >= 0),
	windows_forced INTEGER CHECK (windows_forced >= 0),
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
	written_pages INTEGER CHECK (written_pages >= 0),
	other_added_pages INTEGER CHECK (other_added_pages >= 0),
	evicted_reclaim_kswapd INTEGER CHECK (evicted_reclaim_kswapd >= 0),
	evicted_reclaim_direct INTEGER CHECK (evicted_reclaim_direct >= 0),
	evicted_reclaim_memcg INTEGER CHECK (evicted_reclaim_memcg >= 0),
	evicted_dontneed INTEGER CHECK (evicted_dontneed >= 0),
	evicted_drop_caches INTEGER CHECK (evicted_drop_caches >= 0),
	evicted_truncate INTEGER CHECK (evicted_truncate >= 0),
	evicted_direct_io INTEGER CHECK (evicted_direct_io >= 0),
	evicted_other INTEGER CHECK (evicted_other >= 0),
	refaults INTEGER CHECK (refaults >= 0),
	refault_misses INTEGER CHECK (refault_misses >= 0),
	refault_distance_pages INTEGER CHECK (refault_distance_pages >= 0),
	refault_distance_ms INTEGER CHECK (refault_distance_ms >= 0),
	faults_major INTEGER CHECK (faults_major >= 0),
	faults_minor INTEGER CHECK (faults_minor >= 0),
	mapped_pages_upper_bound INTEGER CHECK (mapped_pages_upper_bound >= 0),
	direct_read_calls INTEGER CHECK (direct_read_calls >= 0),
	direct_read_bytes INTEGER CHECK (direct_read_bytes >= 0),
	stall_ns INTEGER CHECK (stall_ns >= 0),
	stalls INTEGER CHECK (stalls >= 0), evicted_invalidate INTEGER CHECK (evicted_invalidate >= 0), evicted_dontcache INTEGER CHECK (evicted_dontcache >= 0), evicted_not_added INTEGER CHECK (evicted_not_added >= 0),
	UNIQUE (job_id, path)
) STRICT;

CREATE TABLE file (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	job_id INTEGER NOT NULL REFERENCES job(id) ON DELETE CASCADE,
	directory_id INTEGER REFERENCES directory(id),
	dev_major INTEGER NOT NULL,
	dev_minor INTEGER NOT NULL,
	ino INTEGER NOT NULL,
	gen INTEGER NOT NULL,
	fstype TEXT,
	size_bytes INTEGER,
	path BLOB,                              -- raw bytes, last name seen; NULL: no name known
	deleted INTEGER NOT NULL DEFAULT 0 CHECK (deleted IN (0, 1)),
	folded_before INTEGER NOT NULL DEFAULT 0 CHECK (folded_before IN (0, 1)),
	                                        -- 1: lower bound; earlier counts are
	                                        -- only in the row of its directory
	misses_read_on INTEGER,
	read_calls INTEGER CHECK (read_calls >= 0),
	read_bytes INTEGER CHECK (read_bytes >= 0),
	lookups INTEGER CHECK (lookups >= 0),
	delayed_hits INTEGER CHECK (delayed_hits >= 0),
	misses INTEGER CHECK (misses >= 0),
	demand_pages INTEGER CHECK (demand_pages >= 0),
	prefetched_sync INTEGER CHECK (prefetched_sync >= 0),
	prefetched_async INTEGER CHECK (prefetched_async >= 0),
	prefetched_willneed INTEGER CHECK (prefetched_willneed >= 0),
	prefetched_readahead2 INTEGER CHECK (prefetched_readahead2 >= 0),
	prefetched_mmap_around INTEGER CHECK (prefetched_mmap_around >= 0),
	used INTEGER CHECK (used >= 0),
	used_late INTEGER CHECK (used_late >= 0),
	evicted_unused INTEGER CHECK (evicted_unused >= 0),
	resident_unused INTEGER,
	untracked INTEGER CHECK (untracked >= 0),
	untracked_map_full INTEGER CHECK (untracked_map_full >= 0),
	windows_sync INTEGER CHECK (windows_sync >= 0),
	windows_async INTEGER CHECK (windows_async >= 0),
	windows_forced INTEGER CHECK (windows_forced >= 0),
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
	written_pages INTEGER CHECK (written_pages >= 0),
	other_added_pages INTEGER CHECK (other_added_pages >= 0),
	evicted_reclaim_kswapd INTEGER CHECK (evicted_reclaim_kswapd >= 0),
	evicted_reclaim_direct INTEGER CHECK (evicted_reclaim_direct >= 0),
	evicted_reclaim_memcg INTEGER CHECK (evicted_reclaim_memcg >= 0),
	evicted_dontneed INTEGER CHECK (evicted_dontneed >= 0),
	evicted_drop_caches INTEGER CHECK (evicted_drop_caches >= 0),
	evicted_truncate INTEGER CHECK (evicted_truncate >= 0),
	evicted_direct_io INTEGER CHECK (evicted_direct_io >= 0),
	evicted_other INTEGER CHECK (evicted_other >= 0),
	refaults INTEGER CHECK (refaults >= 0),
	refault_misses INTEGER CHECK (refault_misses >= 0),
	refault_distance_pages INTEGER CHECK (refault_distance_pages >= 0),
	refault_distance_ms INTEGER CHECK (refault_distance_ms >= 0),
	faults_major INTEGER CHECK (faults_major >= 0),
	faults_minor INTEGER CHECK (faults_minor >= 0),
	mapped_pages_upper_bound INTEGER CHECK (mapped_pages_upper_bound >= 0),
	direct_read_calls INTEGER CHECK (direct_read_calls >= 0),
	direct_read_bytes INTEGER CHECK (direct_read_bytes >= 0),
	stall_ns INTEGER CHECK (stall_ns >= 0),
	stalls INTEGER CHECK (stalls >= 0), evicted_invalidate INTEGER CHECK (evicted_invalidate >= 0), evicted_dontcache INTEGER CHECK (evicted_dontcache >= 0), evicted_not_added INTEGER CHECK (evicted_not_added >= 0),
	UNIQUE (job_id, dev_major, dev_minor, ino, gen)
) STRICT;

CREATE INDEX file_directory ON file (directory_id);

CREATE TABLE interval (
	id INTEGER PRIMARY KEY,
	run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
	start_ns INTEGER NOT NULL,              -- since the start of the run
	duration_ns INTEGER NOT NULL,
	read_on_ns INTEGER NOT NULL,
	rolled INTEGER NOT NULL DEFAULT 1       -- intervals merged into this row
) STRICT;

CREATE INDEX interval_run ON interval (run_id, start_ns);

CREATE TABLE job_interval (
	interval_id INTEGER NOT NULL REFERENCES interval(id) ON DELETE CASCADE,
	job_id INTEGER NOT NULL REFERENCES job(id) ON DELETE CASCADE,
	cpu_ns INTEGER,
	rchar_bytes INTEGER,
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
	stalls INTEGER, evicted_invalidate INTEGER, evicted_dontcache INTEGER, evicted_not_added INTEGER,
	PRIMARY KEY (interval_id, job_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE file_interval (
	interval_id INTEGER NOT NULL REFERENCES interval(id) ON DELETE CASCADE,
	file_id INTEGER NOT NULL,               -- file.id, never reused
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
	stalls INTEGER, evicted_invalidate INTEGER, evicted_dontcache INTEGER, evicted_not_added INTEGER,
	PRIMARY KEY (interval_id, file_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE advice (
	id INTEGER PRIMARY KEY,
	job_id INTEGER NOT NULL REFERENCES job(id) ON DELETE CASCADE,
	dev_major INTEGER NOT NULL,
	dev_minor INTEGER NOT NULL,
	ino INTEGER NOT NULL,
	gen INTEGER NOT NULL,
	path BLOB,
	kind TEXT NOT NULL CHECK (kind IN ('willneed', 'dontneed', 'sequential', 'random', 'normal', 'noreuse', 'readahead')),
	call TEXT NOT NULL CHECK (call IN ('fadvise', 'madvise', 'readahead')),
	calls INTEGER,                          -- advice_mode effects: only calls that moved pages
	offset_bytes INTEGER,                   -- lowest offset requested
	length_bytes INTEGER,                   -- highest end requested; NULL: end of the file
	pages_asked INTEGER,
	pages_brought INTEGER,
	pages_dropped INTEGER, used INTEGER CHECK (used >= 0), used_late INTEGER CHECK (used_late >= 0), evicted_unused INTEGER CHECK (evicted_unused >= 0), resident_unused INTEGER CHECK (resident_unused >= 0), untracked INTEGER CHECK (untracked >= 0), cached_pages INTEGER CHECK (cached_pages >= 0), redundant_pages INTEGER CHECK (redundant_pages >= 0), dropped_refaults INTEGER CHECK (dropped_refaults >= 0), dropped_refaults_others INTEGER CHECK (dropped_refaults_others >= 0),
	UNIQUE (job_id, dev_major, dev_minor, ino, gen, kind, call)
) STRICT;

CREATE TABLE filesystem (
	id INTEGER PRIMARY KEY,
	job_id INTEGER NOT NULL REFERENCES job(id) ON DELETE CASCADE,
	dev_major INTEGER,
	dev_minor INTEGER,
	type TEXT,                              -- as in mountinfo, else the kernel's name for it
	mount BLOB,                             -- NULL: not mounted at a visible place
	cover TEXT CHECK (cover IN ('exact', 'partly', 'cache-bypassed', 'unknown')),
	why TEXT,                               -- a sentence that explains the cover
	files INTEGER,                          -- distinct files seen on it
	files_estimated INTEGER NOT NULL DEFAULT 0 CHECK (files_estimated IN (0, 1)),
	                                        -- 1: lower bound
	misses_read_on INTEGER,
	read_calls INTEGER CHECK (read_calls >= 0),
	read_bytes INTEGER CHECK (read_bytes >= 0),
	lookups INTEGER CHECK (lookups >= 0),
	delayed_hits INTEGER CHECK (delayed_hits >= 0),
	misses INTEGER CHECK (misses >= 0),
	demand_pages INTEGER CHECK (demand_pages >= 0),
	prefetched_sync INTEGER CHECK (prefetched_sync >= 0),
	prefetched_async INTEGER CHECK (prefetched_async >= 0),
	prefetched_willneed INTEGER CHECK (prefetched_willneed >= 0),
	prefetched_readahead2 INTEGER CHECK (prefetched_readahead2 >= 0),
	prefetched_mmap_around INTEGER CHECK (prefetched_mmap_around >= 0),
	used INTEGER CHECK (used >= 0),
	used_late INTEGER CHECK (used_late >= 0),
	evicted_unused INTEGER CHECK (evicted_unused >= 0),
	resident_unused INTEGER,
	untracked INTEGER CHECK (untracked >= 0),
	untracked_map_full INTEGER CHECK (untracked_map_full >= 0),
	windows_sync INTEGER CHECK (windows_sync >= 0),
	windows_async INTEGER CHECK (windows_async >= 0),
	windows_forced INTEGER CHECK (windows_forced >= 0),
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
	written_pages INTEGER CHECK (written_pages >= 0),
	other_added_pages INTEGER CHECK (other_added_pages >= 0),
	evicted_reclaim_kswapd INTEGER CHECK (evicted_reclaim_kswapd >= 0),
	evicted_reclaim_direct INTEGER CHECK (evicted_reclaim_direct >= 0),
	evicted_reclaim_memcg INTEGER CHECK (evicted_reclaim_memcg >= 0),
	evicted_dontneed INTEGER CHECK (evicted_dontneed >= 0),
	evicted_drop_caches INTEGER CHECK (evicted_drop_caches >= 0),
	evicted_truncate INTEGER CHECK (evicted_truncate >= 0),
	evicted_direct_io INTEGER CHECK (evicted_direct_io >= 0),
	evicted_other INTEGER CHECK (evicted_other >= 0),
	refaults INTEGER CHECK (refaults >= 0),
	refault_misses INTEGER CHECK (refault_misses >= 0),
	refault_distance_pages INTEGER CHECK (refault_distance_pages >= 0),
	refault_distance_ms INTEGER CHECK (refault_distance_ms >= 0),
	faults_major INTEGER CHECK (faults_major >= 0),
	faults_minor INTEGER CHECK (faults_minor >= 0),
	mapped_pages_upper_bound INTEGER CHECK (mapped_pages_upper_bound >= 0),
	direct_read_calls INTEGER CHECK (direct_read_calls >= 0),
	direct_read_bytes INTEGER CHECK (direct_read_bytes >= 0),
	stall_ns INTEGER CHECK (stall_ns >= 0),
	stalls INTEGER CHECK (stalls >= 0), evicted_invalidate INTEGER CHECK (evicted_invalidate >= 0), evicted_dontcache INTEGER CHECK (evicted_dontcache >= 0), evicted_not_added INTEGER CHECK (evicted_not_added >= 0),
		UNIQUE (job_id, dev_major, dev_minor)
) STRICT;

CREATE TABLE reference_sample (
	job_id INTEGER PRIMARY KEY REFERENCES job(id) ON DELETE CASCADE,
	state TEXT NOT NULL CHECK (state IN ('whole', 'broken')), -- broken: it ends before the run
	reason TEXT,                            -- why it is broken
	threshold INTEGER NOT NULL CHECK (threshold BETWEEN 0 AND 4294967296), -- of 2^32
	pages INTEGER NOT NULL CHECK (pages >= 0),   -- distinct pages in the sample
	refs INTEGER NOT NULL CHECK (refs >= 0),     -- lookups of these pages, without removals
	lookups INTEGER NOT NULL CHECK (lookups >= 0), -- all lookups of the job while sampled
	distinct_pages INTEGER CHECK (distinct_pages >= 0),
	                                        -- pages the job looked up; NULL: not known
	distinct_error REAL CHECK (distinct_error >= 0)     -- its relative standard error; 0: exact
) STRICT;

CREATE TABLE reference_page (
	job_id INTEGER NOT NULL REFERENCES job(id) ON DELETE CASCADE,
	number INTEGER NOT NULL CHECK (number >= 0),
	dev_major INTEGER NOT NULL,
	dev_minor INTEGER NOT NULL,
	ino INTEGER NOT NULL,
	gen INTEGER NOT NULL,
	page_index INTEGER NOT NULL,
	hash INTEGER NOT NULL CHECK (hash BETWEEN 0 AND 4294967295),
	PRIMARY KEY (job_id, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE reference_chunk (
	job_id INTEGER NOT NULL REFERENCES job(id) ON DELETE CASCADE,
	seq INTEGER NOT NULL CHECK (seq >= 0),
	start_ns INTEGER NOT NULL,              -- since the start of the run
	lookups INTEGER NOT NULL,
	                                        -- of the job, from its start to the end of this
	                                        -- chunk
	refs INTEGER NOT NULL,                  -- entries in data, including removals
	data BLOB NOT NULL,
	                                        -- one LEB128 varint per entry: number << 1 |
	                                        -- removed
	PRIMARY KEY (job_id, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE reference_absent (
	job_id INTEGER PRIMARY KEY REFERENCES job(id) ON DELETE CASCADE,
	reason TEXT NOT NULL
) STRICT;

CREATE TABLE traced_file (
	id INTEGER PRIMARY KEY,
	job_id INTEGER NOT NULL REFERENCES job(id) ON DELETE CASCADE,
	dev_major INTEGER NOT NULL,
	dev_minor INTEGER NOT NULL,
	ino INTEGER NOT NULL,
	gen INTEGER NOT NULL,
	path BLOB,                              -- last name seen
	fstype TEXT,
	size_bytes INTEGER,                     -- last size seen
	ra_pages INTEGER,                       -- readahead of its device when it was chosen
	io_pages INTEGER,
	max_order INTEGER,
	                                        -- largest folio order; 0: single pages; NULL: not
	                                        -- known
	stratum INTEGER,
	                                        -- class of its size when chosen: 0 is below 16 KiB,
	                                        -- each next one 8 times as large; NULL: chosen
	                                        -- because it was read most
	stands_for REAL,
	                                        -- files of its stratum that it represents, itself
	                                        -- included; NULL: it represents none
	state TEXT NOT NULL CHECK (state IN ('whole', 'broken')),
	reason TEXT,                            -- of broken
	began TEXT NOT NULL CHECK (began IN ('cold', 'warm')),
	                                        -- cold: traced since its first access in the run,
	                                        -- with none of its pages cached
	UNIQUE (job_id, dev_major, dev_minor, ino, gen)
) STRICT;

CREATE TABLE trace_chunk (
	traced_file_id INTEGER NOT NULL REFERENCES traced_file(id) ON DELETE CASCADE,
	seq INTEGER NOT NULL,
	events INTEGER NOT NULL CHECK (events > 0),
	data BLOB NOT NULL,
	PRIMARY KEY (traced_file_id, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE trace_absent (
	job_id INTEGER PRIMARY KEY REFERENCES job(id) ON DELETE CASCADE,
	reason TEXT NOT NULL
) STRICT;

CREATE TABLE machine (
	run_id INTEGER PRIMARY KEY REFERENCES run(id) ON DELETE CASCADE,
	memory_total_bytes INTEGER CHECK (memory_total_bytes >= 0),
	swap_bytes INTEGER CHECK (swap_bytes >= 0),
	mglru INTEGER CHECK (mglru IN (0, 1)),  -- reclaim by generations; 0: by two lists
	nr_cpus INTEGER CHECK (nr_cpus > 0),    -- online
	numa_nodes INTEGER CHECK (numa_nodes > 0),
	thp TEXT                                -- as in transparent_hugepage/enabled
) STRICT;

CREATE TABLE machine_interval (
	interval_id INTEGER NOT NULL REFERENCES interval(id) ON DELETE CASCADE,
	free_bytes INTEGER CHECK (free_bytes >= 0),           -- MemFree
	available_bytes INTEGER CHECK (available_bytes >= 0), -- MemAvailable
	file_cached_bytes INTEGER CHECK (file_cached_bytes >= 0), -- without shared memory
	dirty_bytes INTEGER CHECK (dirty_bytes >= 0),         -- Dirty and Writeback
	swap_free_bytes INTEGER CHECK (swap_free_bytes >= 0),
	job_limit_bytes INTEGER CHECK (job_limit_bytes >= 0), -- NULL: no limit, or not known
	job_usage_bytes INTEGER CHECK (job_usage_bytes >= 0),
	job_file_bytes INTEGER CHECK (job_file_bytes >= 0),   -- page cache charged to it
	PRIMARY KEY (interval_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE device (
	run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
	dev_major INTEGER NOT NULL,
	dev_minor INTEGER NOT NULL,
	name TEXT,                              -- of the block device; NULL: no block device
	rotational INTEGER CHECK (rotational IN (0, 1)),
	read_ahead_kb INTEGER CHECK (read_ahead_kb >= 0), -- for files opened afterwards
	max_sectors_kb INTEGER CHECK (max_sectors_kb >= 0),
	io_pages INTEGER CHECK (io_pages >= 0), -- limit of one forced read, if above
	                                        -- read_ahead_kb; NULL: not reported by the kernel
	network INTEGER NOT NULL CHECK (network IN (0, 1)), reads INTEGER CHECK (reads >= 0), read_ms INTEGER CHECK (read_ms >= 0),
	PRIMARY KEY (run_id, dev_major, dev_minor)
) STRICT, WITHOUT ROWID;

CREATE TABLE device_change (
	run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
	dev_major INTEGER NOT NULL,
	dev_minor INTEGER NOT NULL,
	seen_ns INTEGER NOT NULL,               -- since the start of the run
	read_ahead_kb INTEGER NOT NULL CHECK (read_ahead_kb >= 0),
	PRIMARY KEY (run_id, dev_major, dev_minor, seen_ns)
) STRICT, WITHOUT ROWID;

CREATE TABLE job_limit (
	job_id INTEGER PRIMARY KEY REFERENCES job(id) ON DELETE CASCADE,
	limit_bytes INTEGER CHECK (limit_bytes >= 0), -- NULL: no cgroup above it has a limit
	at BLOB NOT NULL                        -- the directory of that cgroup, else of the job's own
, oom_kills INTEGER CHECK (oom_kills >= 0)) STRICT;

CREATE TABLE job_cgroup (
	job_id INTEGER PRIMARY KEY REFERENCES job(id) ON DELETE CASCADE,
	path BLOB NOT NULL                      -- from the hierarchy's root, as interference.evictor_cgroup
) STRICT;

CREATE TABLE wording (
	id INTEGER PRIMARY KEY,
	run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
	job_id INTEGER REFERENCES job(id) ON DELETE CASCADE,
	asked_ns INTEGER NOT NULL,              -- CLOCK_REALTIME
	question TEXT,                          -- of 'cachemon ask'; NULL: words for the findings
	prompt_sha256 TEXT NOT NULL CHECK (length(prompt_sha256) = 64),
	                                        -- of the output of --llm-dry-run
	api TEXT NOT NULL CHECK (api IN ('openai', 'anthropic')),
	host TEXT NOT NULL,                     -- of the endpoint
	model TEXT NOT NULL,
	outcome TEXT NOT NULL,                  -- 'answered', or why there is no answer
	reason TEXT,                            -- one line; NULL: answered
	tokens_in INTEGER CHECK (tokens_in >= 0),   -- as reported by the server; NULL: not reported
	tokens_out INTEGER CHECK (tokens_out >= 0),
	attempts INTEGER NOT NULL CHECK (attempts >= 0),
	duration_ns INTEGER NOT NULL CHECK (duration_ns >= 0),
	redacted INTEGER NOT NULL CHECK (redacted IN (0, 1)),
	kept INTEGER NOT NULL CHECK (kept >= 0),    -- statements
	dropped INTEGER NOT NULL CHECK (dropped >= 0),
	answer TEXT NOT NULL                    -- JSON: "wording" as in a report
) STRICT;

CREATE INDEX wording_run ON wording (run_id);

CREATE TABLE shed (
	run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
	detail TEXT NOT NULL,                   -- 'traces', 'references', ...; 'per_read_hook': slices
	reason TEXT NOT NULL,
	from_ns INTEGER NOT NULL CHECK (from_ns >= 0), -- since the start of the run
	to_ns INTEGER CHECK (to_ns >= from_ns), -- NULL: to the end of the run
	PRIMARY KEY (run_id, detail)
) STRICT, WITHOUT ROWID;

CREATE TABLE estimate (
	job_id INTEGER NOT NULL REFERENCES job(id) ON DELETE CASCADE,
	name TEXT NOT NULL,                     -- of a counter, or 'hits', 'hit_ratio'
	value REAL,                             -- NULL: absent, see reason
	low REAL,                               -- of the 90 % interval
	high REAL,
	reason TEXT,
	PRIMARY KEY (job_id, name),
	CHECK (value IS NULL OR (low <= value AND value <= high)),
	CHECK ((value IS NULL) = (reason IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE TABLE "interference" (
	id INTEGER PRIMARY KEY,
	job_id INTEGER NOT NULL REFERENCES job(id) ON DELETE CASCADE, -- whose pages
	cause TEXT NOT NULL CHECK (cause IN ('reclaim_kswapd', 'reclaim_direct', 'reclaim_memcg',
		'dontneed', 'drop_caches', 'truncate', 'direct_io', 'other', 'invalidate', 'dontcache')),
	evictor_kind TEXT CHECK (evictor_kind IN ('own', 'others', 'kernel')),
	                                        -- own: the job itself; others: another process;
	                                        -- NULL: not known
	evictor TEXT,                           -- command of the task, of the kernel's thread
	evictor_cgroup BLOB,                    -- of others: path of its cgroup; NULL: not known
	evictor_path BLOB,                      -- own: directory of the file it read or wrote;
	                                        -- NULL: no such file, or not known
	evictor_writes INTEGER CHECK (evictor_writes IN (0, 1)),
	                                        -- NULL: no file was read or written
	owner_path BLOB,                        -- directory of the pages' file; NULL: not known
	pages INTEGER NOT NULL CHECK (pages >= 0),
	exact INTEGER NOT NULL CHECK (exact IN (0, 1)) -- 0: kswapd's, by share of what filled memory
) STRICT;

CREATE INDEX interference_of_job ON interference (job_id);

CREATE VIEW evicting_job AS
SELECT x.id AS interference_id, g.job_id, length(g.path) AS depth_bytes
FROM interference x JOIN job j ON j.id = x.job_id JOIN run r ON r.id = j.run_id
	JOIN job_cgroup g ON x.evictor_cgroup = g.path
		OR substr(x.evictor_cgroup, 1, length(g.path) + 1) = CAST(g.path || '/' AS BLOB)
	JOIN job e ON e.id = g.job_id JOIN run o ON o.id = e.run_id
WHERE x.evictor_kind = 'others' AND o.id <> r.id AND o.writer_boot = r.writer_boot
	AND o.started_ns < r.started_ns + r.duration_ns AND r.started_ns < o.started_ns + o.duration_ns;

CREATE TABLE directory_interval (
	interval_id INTEGER NOT NULL REFERENCES interval(id) ON DELETE CASCADE,
	directory_id INTEGER NOT NULL,          -- directory.id; deleted with its interval
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
	evicted_invalidate INTEGER,
	evicted_dontcache INTEGER,
	evicted_not_added INTEGER,
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
	PRIMARY KEY (interval_id, directory_id)
) STRICT, WITHOUT ROWID;

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
	evicted_not_added INTEGER, late_ns INTEGER CHECK (late_ns >= 0),
	PRIMARY KEY (job_id, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE pass_interval (
	interval_id INTEGER NOT NULL REFERENCES interval(id) ON DELETE CASCADE,
	pass INTEGER NOT NULL CHECK (pass > 0),
	read_bytes INTEGER NOT NULL,
	file_bytes INTEGER NOT NULL,            -- sizes of the files whose pass begins in it
	brought_pages INTEGER NOT NULL,         -- pages added by the files of this pass
	file_pages INTEGER NOT NULL,            -- likewise
	PRIMARY KEY (interval_id, pass)
) STRICT, WITHOUT ROWID;

CREATE TABLE wait_histogram (
	job_id INTEGER NOT NULL REFERENCES job(id) ON DELETE CASCADE,
	from_ns INTEGER NOT NULL CHECK (from_ns >= 0),
	to_ns INTEGER CHECK (to_ns > from_ns),  -- shorter than this; NULL: no upper limit
	sleeps INTEGER NOT NULL CHECK (sleeps > 0),
	PRIMARY KEY (job_id, from_ns)
) STRICT, WITHOUT ROWID;

CREATE TABLE file_wait (
	file_id INTEGER NOT NULL REFERENCES file(id) ON DELETE CASCADE,
	from_ns INTEGER NOT NULL CHECK (from_ns >= 0),
	to_ns INTEGER CHECK (to_ns > from_ns),
	sleeps INTEGER NOT NULL CHECK (sleeps > 0),
	PRIMARY KEY (file_id, from_ns)
) STRICT, WITHOUT ROWID;

CREATE TABLE "process_interval" (
	interval_id INTEGER NOT NULL REFERENCES interval(id) ON DELETE CASCADE,
	pid INTEGER NOT NULL CHECK (pid >= 0),  -- as cachemon sees it; 0: it has none there
	command TEXT,                           -- of its first thread, at most 15 bytes
	stall_ns INTEGER CHECK (stall_ns >= 0),
	stalls INTEGER CHECK (stalls >= 0),
	rchar_bytes INTEGER CHECK (rchar_bytes >= 0),
	syscr_calls INTEGER CHECK (syscr_calls >= 0),
	PRIMARY KEY (interval_id, pid)
) STRICT, WITHOUT ROWID;
