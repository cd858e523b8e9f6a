-- SPDX-License-Identifier: BSD-2-Clause
-- Schema 6. Which reads and writes evicted which pages, and the fate of pages that advice brought
-- or dropped. Runs from before have no rows, and NULL here.

-- Evicted pages of the job, by the task that caused the eviction. The rows of one cause add up to
-- the job's evicted_* of that cause over the run.
CREATE TABLE interference (
	id INTEGER PRIMARY KEY,
	job_id INTEGER NOT NULL REFERENCES job(id) ON DELETE CASCADE, -- whose pages
	cause TEXT NOT NULL CHECK (cause IN ('reclaim_kswapd', 'reclaim_direct', 'reclaim_memcg',
		'dontneed', 'drop_caches', 'truncate', 'direct_io', 'other')),
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

-- Fates of the pages that these calls brought in; they add up to pages_brought. NULL: not followed,
-- or calls of two kinds brought in neighbouring pages.
ALTER TABLE advice ADD COLUMN used INTEGER CHECK (used >= 0);
ALTER TABLE advice ADD COLUMN used_late INTEGER CHECK (used_late >= 0);
ALTER TABLE advice ADD COLUMN evicted_unused INTEGER CHECK (evicted_unused >= 0);
ALTER TABLE advice ADD COLUMN resident_unused INTEGER CHECK (resident_unused >= 0);
ALTER TABLE advice ADD COLUMN untracked INTEGER CHECK (untracked >= 0);
-- Requested pages that were in the cache at the call, for every kind (advice_mode calls).
ALTER TABLE advice ADD COLUMN cached_pages INTEGER CHECK (cached_pages >= 0);
-- The same for calls that bring in pages: requests without effect. The kernel skipped pages_asked -
-- pages_brought - redundant_pages.
ALTER TABLE advice ADD COLUMN redundant_pages INTEGER CHECK (redundant_pages >= 0);
-- Pages that DONTNEED dropped and that came back in any way.
ALTER TABLE advice ADD COLUMN dropped_refaults INTEGER CHECK (dropped_refaults >= 0);
