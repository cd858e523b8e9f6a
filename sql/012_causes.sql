-- SPDX-License-Identifier: BSD-2-Clause
-- Schema 12. More causes of evictions. Runs from before have these pages under another cause, and
-- NULL here.

ALTER TABLE job ADD COLUMN evicted_invalidate INTEGER CHECK (evicted_invalidate >= 0);
ALTER TABLE job ADD COLUMN evicted_dontcache INTEGER CHECK (evicted_dontcache >= 0);
ALTER TABLE directory ADD COLUMN evicted_invalidate INTEGER CHECK (evicted_invalidate >= 0);
ALTER TABLE directory ADD COLUMN evicted_dontcache INTEGER CHECK (evicted_dontcache >= 0);
ALTER TABLE file ADD COLUMN evicted_invalidate INTEGER CHECK (evicted_invalidate >= 0);
ALTER TABLE file ADD COLUMN evicted_dontcache INTEGER CHECK (evicted_dontcache >= 0);
ALTER TABLE filesystem ADD COLUMN evicted_invalidate INTEGER CHECK (evicted_invalidate >= 0);
ALTER TABLE filesystem ADD COLUMN evicted_dontcache INTEGER CHECK (evicted_dontcache >= 0);
ALTER TABLE job_interval ADD COLUMN evicted_invalidate INTEGER;
ALTER TABLE job_interval ADD COLUMN evicted_dontcache INTEGER;
ALTER TABLE file_interval ADD COLUMN evicted_invalidate INTEGER;
ALTER TABLE file_interval ADD COLUMN evicted_dontcache INTEGER;

INSERT INTO unmeasured (run_id, counter, reason)
SELECT id, 'evicted_invalidate', 'this run counted it as evicted_direct_io' FROM run
UNION ALL SELECT id, 'evicted_dontcache', 'this run counted it as evicted_other' FROM run;

-- SQLite cannot change a CHECK, so the table is created again. The view that uses it is dropped
-- first.
DROP VIEW evicting_job;
CREATE TABLE interference_new (
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
INSERT INTO interference_new SELECT * FROM interference;
DROP TABLE interference;
ALTER TABLE interference_new RENAME TO interference;
CREATE INDEX interference_of_job ON interference (job_id);
CREATE VIEW evicting_job AS
SELECT x.id AS interference_id, g.job_id, length(g.path) AS depth_bytes
FROM interference x JOIN job j ON j.id = x.job_id JOIN run r ON r.id = j.run_id
	JOIN job_cgroup g ON x.evictor_cgroup = g.path
		OR substr(x.evictor_cgroup, 1, length(g.path) + 1) = CAST(g.path || '/' AS BLOB)
	JOIN job e ON e.id = g.job_id JOIN run o ON o.id = e.run_id
WHERE x.evictor_kind = 'others' AND o.id <> r.id AND o.writer_boot = r.writer_boot
	AND o.started_ns < r.started_ns + r.duration_ns AND r.started_ns < o.started_ns + o.duration_ns;
