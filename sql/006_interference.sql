-- SPDX-License-Identifier: BSD-2-Clause
-- Schema 6. Whose reading and writing pushed out whose pages, and what became of the pages that
-- advice brought or dropped. Runs recorded before have no rows and NULL here.

-- Pages of the job that left the cache, by who made the kernel drop them. Sums of the run: over all
-- rows of a cause they are the job's evicted_* of that cause.
CREATE TABLE interference (
	id INTEGER PRIMARY KEY,
	job_id INTEGER NOT NULL REFERENCES job(id) ON DELETE CASCADE, -- whose pages
	cause TEXT NOT NULL CHECK (cause IN ('reclaim_kswapd', 'reclaim_direct', 'reclaim_memcg',
		'dontneed', 'drop_caches', 'truncate', 'direct_io', 'other')),
	evictor_kind TEXT CHECK (evictor_kind IN ('own', 'others', 'kernel')),
	                                        -- own: the job itself; others: anybody else, by command
	                                        -- and cgroup; NULL: not known
	evictor TEXT,                           -- command of the task, of the kernel's thread
	evictor_cgroup BLOB,                    -- of others: path of its cgroup; NULL: not known
	evictor_path BLOB,                      -- own: directory of the file that it read or wrote;
	                                        -- NULL: of none, or not known
	evictor_writes INTEGER CHECK (evictor_writes IN (0, 1)), -- NULL: neither read nor wrote a file
	owner_path BLOB,                        -- directory of the pages' file; NULL: not known
	pages INTEGER NOT NULL CHECK (pages >= 0),
	exact INTEGER NOT NULL CHECK (exact IN (0, 1)) -- 0: kswapd's, by share of what filled memory
) STRICT;

CREATE INDEX interference_of_job ON interference (job_id);

-- Fates of the pages that these calls brought: they add up to pages_brought. NULL: not followed, or
-- calls of two kinds brought pages that lie side by side.
ALTER TABLE advice ADD COLUMN used INTEGER CHECK (used >= 0);
ALTER TABLE advice ADD COLUMN used_late INTEGER CHECK (used_late >= 0);
ALTER TABLE advice ADD COLUMN evicted_unused INTEGER CHECK (evicted_unused >= 0);
ALTER TABLE advice ADD COLUMN resident_unused INTEGER CHECK (resident_unused >= 0);
ALTER TABLE advice ADD COLUMN untracked INTEGER CHECK (untracked >= 0);
-- Pages asked for that were in the cache at the call (advice_mode calls), whatever the kind.
ALTER TABLE advice ADD COLUMN cached_pages INTEGER CHECK (cached_pages >= 0);
-- The same of calls that bring pages: asked for in vain. What is missing then between pages_asked
-- and pages_brought + redundant_pages the kernel cut.
ALTER TABLE advice ADD COLUMN redundant_pages INTEGER CHECK (redundant_pages >= 0);
-- Of the pages that DONTNEED dropped, those that came again, by whatever way.
ALTER TABLE advice ADD COLUMN dropped_refaults INTEGER CHECK (dropped_refaults >= 0);
