-- SPDX-License-Identifier: BSD-2-Clause
-- Schema 7. The machine of a run: its hardware, its free memory, and the devices that were read.
-- NULL: the kernel does not report it. Runs from before have no rows here.

CREATE TABLE machine (
	run_id INTEGER PRIMARY KEY REFERENCES run(id) ON DELETE CASCADE,
	memory_total_bytes INTEGER CHECK (memory_total_bytes >= 0),
	swap_bytes INTEGER CHECK (swap_bytes >= 0),
	mglru INTEGER CHECK (mglru IN (0, 1)),  -- reclaim by generations; 0: by two lists
	nr_cpus INTEGER CHECK (nr_cpus > 0),    -- online
	numa_nodes INTEGER CHECK (numa_nodes > 0),
	thp TEXT                                -- as in transparent_hugepage/enabled
) STRICT;

-- As of the end of an interval; in merged intervals, as of the last one. The columns job_* describe
-- the memory cgroup in job_limit.
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

-- The devices of the job's files, as of the first access.
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
	network INTEGER NOT NULL CHECK (network IN (0, 1)),
	PRIMARY KEY (run_id, dev_major, dev_minor)
) STRICT, WITHOUT ROWID;

-- Changes of read_ahead_kb during the run, as seen at the end of an interval.
CREATE TABLE device_change (
	run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
	dev_major INTEGER NOT NULL,
	dev_minor INTEGER NOT NULL,
	seen_ns INTEGER NOT NULL,               -- since the start of the run
	read_ahead_kb INTEGER NOT NULL CHECK (read_ahead_kb >= 0),
	PRIMARY KEY (run_id, dev_major, dev_minor, seen_ns)
) STRICT, WITHOUT ROWID;

-- The tightest memory cgroup of the job, as of the last interval. No row: not known.
CREATE TABLE job_limit (
	job_id INTEGER PRIMARY KEY REFERENCES job(id) ON DELETE CASCADE,
	limit_bytes INTEGER CHECK (limit_bytes >= 0), -- NULL: no cgroup above it has a limit
	at BLOB NOT NULL                        -- the directory of that cgroup, else of the job's own
) STRICT;
