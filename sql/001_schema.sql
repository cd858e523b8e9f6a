-- SPDX-License-Identifier: BSD-2-Clause
-- Schema 1. Counts are base pages unless the name has another unit. NULL = not measured; table
-- unmeasured has the reason. The counter columns are those of bpf/cachemon.h, in its order; a test
-- compares the two. INTEGER columns hold 64 bits; unsigned ids of the kernel (ino) are stored as
-- two's complement and printed unsigned. resident_unused and window_log2_* are sums of increments
-- and decrements. In a row that began to count while a page or window already existed they may be
-- negative; such a figure is not known.

PRAGMA application_id = 1667330920;             -- 'cach': identifies databases of cachemon

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
) STRICT;

-- The probe plan of a run: one row per role.
CREATE TABLE probe (
	run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
	role TEXT NOT NULL,
	hook TEXT,                              -- 'tp_btf:mm_filemap_get_pages'; NULL: none
	state TEXT NOT NULL CHECK (state IN ('live', 'absent', 'failed')),
	reason TEXT,
	PRIMARY KEY (run_id, role)
) STRICT, WITHOUT ROWID;

-- Why a counter is NULL in a run: one row per counter that was not measured.
CREATE TABLE unmeasured (
	run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
	counter TEXT NOT NULL,
	reason TEXT NOT NULL,
	PRIMARY KEY (run_id, counter)
) STRICT, WITHOUT ROWID;

-- Counters of a job since its start: exact totals of all its files, with or without rows.
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
	stalls INTEGER CHECK (stalls >= 0),
	UNIQUE (run_id, slot)
) STRICT;

-- Every directory with a file of the job: exact totals of the files directly in it, with or without
-- rows of their own. path NULL: files without a name.
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
	stalls INTEGER CHECK (stalls >= 0),
	UNIQUE (job_id, path)
) STRICT;

-- The top files of a job. The counts of other files are in the rows of their directories: job = sum
-- of directories.
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
	stalls INTEGER CHECK (stalls >= 0),
	UNIQUE (job_id, dev_major, dev_minor, ino, gen)
) STRICT;
CREATE INDEX file_directory ON file (directory_id);

-- Old intervals are merged: after 15 minutes one row per minute, after a day one per 15 minutes.
CREATE TABLE interval (
	id INTEGER PRIMARY KEY,
	run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
	start_ns INTEGER NOT NULL,              -- since the start of the run
	duration_ns INTEGER NOT NULL,
	read_on_ns INTEGER NOT NULL,
	rolled INTEGER NOT NULL DEFAULT 1       -- intervals merged into this row
) STRICT;
CREATE INDEX interval_run ON interval (run_id, start_ns);

-- Increments within an interval.
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
	stalls INTEGER,
	PRIMARY KEY (interval_id, job_id)
) STRICT, WITHOUT ROWID;

-- The most active files of an interval. There is no foreign key to file, because its index would
-- touch one page per file and interval. Rows may remain of a file that lost its row in file.
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
	stalls INTEGER,
	PRIMARY KEY (interval_id, file_id)
) STRICT, WITHOUT ROWID;

-- Advice: what the job's madvise, posix_fadvise and readahead calls requested and moved.
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
	pages_dropped INTEGER,
	UNIQUE (job_id, dev_major, dev_minor, ino, gen, kind, call)
) STRICT;
