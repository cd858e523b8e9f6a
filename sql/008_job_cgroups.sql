-- SPDX-License-Identifier: BSD-2-Clause
-- Schema 8. Evictors that are themselves watched jobs, in another run of this database. Jobs from
-- before have no rows.

-- A watched job that is a cgroup in the hierarchy that limits memory.
CREATE TABLE job_cgroup (
	job_id INTEGER PRIMARY KEY REFERENCES job(id) ON DELETE CASCADE,
	path BLOB NOT NULL                      -- from the hierarchy's root, as interference.evictor_cgroup
) STRICT;

-- The watched job whose cgroup contains the evictor's, among jobs on the same machine at the same
-- time. If several match, the one with the largest depth_bytes is the innermost.
CREATE VIEW evicting_job AS
SELECT x.id AS interference_id, g.job_id, length(g.path) AS depth_bytes
FROM interference x JOIN job j ON j.id = x.job_id JOIN run r ON r.id = j.run_id
	JOIN job_cgroup g ON x.evictor_cgroup = g.path
		OR substr(x.evictor_cgroup, 1, length(g.path) + 1) = CAST(g.path || '/' AS BLOB)
	JOIN job e ON e.id = g.job_id JOIN run o ON o.id = e.run_id
WHERE x.evictor_kind = 'others' AND o.id <> r.id AND o.writer_boot = r.writer_boot
	AND o.started_ns < r.started_ns + r.duration_ns AND r.started_ns < o.started_ns + o.duration_ns;
