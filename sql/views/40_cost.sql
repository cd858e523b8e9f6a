-- SPDX-License-Identifier: BSD-2-Clause
-- Shared by the rules: the cost of a stall in wall-clock time, and the pages that came back after
-- reclaim. NULL: not measured.

-- v_wall: how the sleeps of a job's tasks become wall-clock time. Source: v_stall. Sleeps of
-- parallel tasks do not add up: if sleep and CPU time exceed the wall clock, sleep is scaled so
-- that their sum equals it.
CREATE TEMP VIEW v_wall AS SELECT
	job_id,
	wall_ns / 1e9 AS wall_s,  -- s the job existed
	stall_share,  -- 0..1
	stall_ns / 1e9 * wall_ns / nullif(max(wall_ns, stall_ns + cpu_ns), 0) AS stall_wall_s,
		-- s of wall-clock time spent in stall
	1e-9 * wall_ns / nullif(max(wall_ns, stall_ns + cpu_ns), 0) AS s_per_stall_ns
		-- s of wall-clock time per ns of stall
FROM v_stall;

-- v_dropped: pages of a directory that advice dropped, and how many came back. No row unless that
-- was recorded for all of them. Sources: v_advice, v_file.
CREATE TEMP VIEW v_dropped AS SELECT
	f.job_id,
	f.directory_id,
	sum(a.pages_dropped) AS pages_dropped,  -- pages
	sum(a.dropped_refaults) AS dropped_refaults,  -- pages
	sum(a.dropped_refaults_others) AS dropped_refaults_others  -- pages; NULL: not recorded
FROM v_advice a JOIN v_file f ON f.file_id = a.file_id
WHERE a.kind = 'dontneed'
GROUP BY f.job_id, f.directory_id
HAVING count(*) = count(a.dropped_refaults);

-- v_return: pages of a directory that reclaim evicted and that came back: a lower bound. A refault
-- may also be of a page that left for another cause, or was prefetched and never used. Such pages
-- do not need more memory, so their largest possible number is subtracted. Where use was not seen,
-- that is all that was prefetched. Sources: v_directory, v_dropped.
CREATE TEMP VIEW v_return AS SELECT
	d.job_id,
	d.directory_id,
	d.path,
	d.lookups,  -- pages
	d.added_pages,  -- pages
	d.refaults,  -- pages
	d.stall_ns,  -- ns
	d.added_pages - d.refaults AS first_pages,  -- pages that this run saw for the first time
	-- Pages that a fault or a write added were not looked up.
	d.lookups - max(0, min(d.lookups, d.added_pages - d.refaults, d.demand_pages + d.prefetched_pages
		- d.faults_major - d.prefetched_mmap_around)) AS repeat_lookups,
		-- pages looked up again, lower bound
	min(max(0, d.refaults - coalesce(d.evicted_unused, d.prefetched_pages) - d.evicted_drop_caches - d.evicted_direct_io
		- d.evicted_other - coalesce(d.evicted_invalidate, 0) - coalesce(d.evicted_dontcache, 0)
		- CASE WHEN x.pages_dropped = d.evicted_dontneed THEN x.dropped_refaults
			ELSE d.evicted_dontneed END),
		-- A page that is written again refaults too, but is not fetched.
		d.evicted_reclaim, d.demand_pages + d.prefetched_pages) AS returned_pages
		-- pages that came back after reclaim, lower bound
FROM v_directory d
	LEFT JOIN v_dropped x ON x.job_id = d.job_id AND x.directory_id = d.directory_id;

-- v_replay: whether the replay is accurate for any recorded file of a job. One row per job that
-- fetched anything; without fetches there is nothing to replay or to change. Source:
-- analysis_whatif_readahead.
CREATE TEMP VIEW v_replay AS SELECT
	j.job_id,
	(SELECT max(w.fidelity) FROM v_whatif_readahead w WHERE w.job_id = j.job_id AND w.fidelity >= 0.95)
		AS faithful_replay
		-- 0..1, the best fidelity; NULL: none reaches 0.95, so there is no prediction
FROM v_job j
WHERE j.demand_pages + j.prefetched_pages IS NOT 0;

-- v_named: cached pages that DONTNEED calls named. Source: advice.
CREATE TEMP VIEW v_named AS SELECT
	x.job_id,
	x.id AS advice_id,
	x.cached_pages  -- pages; NULL: not recorded (advice_mode effects)
FROM analysis_scope a JOIN job j ON j.run_id = a.run_id AND j.slot <> 0
	JOIN advice x ON x.job_id = j.id AND x.kind = 'dontneed';

-- v_late: waits for pages that were still in flight when the reader came. used_late counts all
-- pages of a folio for one wait, so this view counts waits, without those that a miss explains.
-- Sources: v_job, v_file.
CREATE TEMP VIEW v_late AS SELECT
	job_id,
	'job' AS kind,
	job_id AS subject_id,
	stalls,  -- sleeps
	max(0, stalls - windows_sync - faults_major
		- iif(prefetched_willneed + prefetched_readahead2 > 0, 0, windows_forced)) AS late_waits
		-- sleeps, lower bound
FROM v_job
UNION ALL
SELECT
	job_id, 'file', file_id, stalls,
	max(0, stalls - windows_sync - faults_major
		- iif(prefetched_willneed + prefetched_readahead2 > 0, 0, windows_forced))
FROM v_file;

-- v_pushed: pages of a directory that reclaim evicted or another process dropped, by evictor, and a
-- lower bound of how many came back: those that the evictions of all other evictors cannot explain.
-- Sources: v_interference, v_return, v_directory.
CREATE TEMP VIEW v_pushed AS
WITH by_who AS (
	SELECT
		job_id, owner_path,
		CASE WHEN evictor_kind <> 'own' THEN evictor_kind
			WHEN evictor_writes THEN 'own writes' ELSE 'own reads' END AS who,
		CASE evictor_kind WHEN 'job' THEN evictor_job WHEN 'own' THEN
			iif(evictor_writes, NULL, evictor_path) ELSE evictor END AS which,
		max(evictor_path) AS evictor_path, sum(pages) AS pages, min(exact) AS exact
	FROM v_interference
	WHERE cause IN ('reclaim_kswapd', 'reclaim_direct', 'reclaim_memcg') AND owner_path IS NOT NULL
		AND evictor_kind IS NOT NULL AND (evictor_kind <> 'own' OR evictor_writes IS NOT NULL)
	GROUP BY 1, 2, 3, 4
), whole AS (
	SELECT job_id, owner_path, sum(pages) AS pages
	FROM v_interference
	WHERE cause IN ('reclaim_kswapd', 'reclaim_direct', 'reclaim_memcg') AND owner_path IS NOT NULL
	GROUP BY 1, 2
), dropped AS (
	SELECT
		job_id, owner_path, evictor_kind AS who,
		iif(evictor_kind = 'job', evictor_job, evictor) AS which, sum(pages) AS pages
	FROM v_interference
	WHERE cause IN ('dontneed', 'drop_caches') AND owner_path IS NOT NULL
		AND evictor_kind IN ('job', 'others')
	GROUP BY 1, 2, 3, 4
)
SELECT
	b.job_id,
	b.owner_path,  -- bytes; directory of the pages
	b.who,  -- own writes, own reads, job (another job), others, kernel
	b.which,
		-- bytes or text; own reads: the directory that was read; job: its name; others: the
		-- command
	b.evictor_path,  -- bytes; directory that was read or written; NULL: not known
	b.pages,  -- pages evicted
	b.exact,  -- 0/1; 0: divided in proportion to what filled the memory
	min(b.pages, max(0, r.returned_pages - (t.pages - b.pages))) AS refaulted_pages
		-- pages of these that came back, lower bound
FROM by_who b JOIN whole t ON t.job_id = b.job_id AND t.owner_path = b.owner_path
	LEFT JOIN v_return r ON r.job_id = b.job_id AND r.path = b.owner_path
UNION ALL
SELECT
	p.job_id, p.owner_path, p.who, p.which, NULL, p.pages, 1,
	-- Pages that are written again need not be fetched.
	max(0, min(p.pages, d.demand_pages + d.prefetched_pages,
		d.refaults - (d.evicted_pages - d.evicted_truncate - p.pages)))
FROM dropped p LEFT JOIN v_directory d ON d.job_id = p.job_id AND d.path = p.owner_path;

-- v_asked: advice that brings pages. Columns of v_advice.
CREATE TEMP VIEW v_asked AS SELECT * FROM v_advice WHERE kind IN ('willneed', 'readahead');

-- v_evictors_unknown: jobs for most of whose reclaimed pages nobody recorded who caused the
-- reclaim. Sources: v_interference, v_return.
CREATE TEMP VIEW v_evictors_unknown AS
WITH reclaimed AS (
	SELECT job_id, sum(iif(evictor_kind IS NULL, pages, 0)) AS unknown_pages, sum(pages) AS pages
	FROM v_interference
	WHERE cause IN ('reclaim_kswapd', 'reclaim_direct', 'reclaim_memcg') GROUP BY job_id
), came_back AS (
	SELECT job_id, sum(returned_pages) AS returned_pages FROM v_return GROUP BY job_id
)
SELECT
	r.job_id,
	r.unknown_pages,  -- pages reclaimed, by whom is not known
	r.pages,  -- pages reclaimed
	min(r.unknown_pages, b.returned_pages) AS returned_pages,
		-- of the pages that came back after reclaim, at most this many have an unknown evictor
	printf('all known conditions hold, but who evicted %,d of the %,d reclaimed pages was not '
		|| 'recorded',
		r.unknown_pages, r.pages) AS why
FROM reclaimed r JOIN came_back b ON b.job_id = r.job_id
WHERE r.unknown_pages * 2 > r.pages;
