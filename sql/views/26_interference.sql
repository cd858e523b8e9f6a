-- SPDX-License-Identifier: BSD-2-Clause
-- v_interference: which reads and writes evicted which pages of the watched jobs. Sources:
-- interference, evicting_job.
CREATE TEMP VIEW v_interference AS SELECT
	x.job_id,  -- job.id of the pages' owner
	x.cause,  -- as the evicted_* counters: reclaim_kswapd, reclaim_direct, reclaim_memcg, ...
	iif(e.id IS NULL, x.evictor_kind, 'job') AS evictor_kind,
		-- own: the job itself; job: another job watched at the same time, found by its
		-- cgroup; others: another process; kernel; NULL: not known
	e.name AS evictor_job,  -- name of that other job; else NULL
	x.evictor,  -- command of the task, or of the kernel's thread
	x.evictor_cgroup,  -- bytes; of others: path of its cgroup; NULL: not known
	x.evictor_path,
		-- bytes; directory whose reads or writes needed the memory; NULL: not known
	x.evictor_writes,  -- 0/1; 1: it wrote; NULL: not known
	x.owner_path,  -- bytes; directory of the evicted pages
	x.pages,  -- pages evicted
	x.exact,  -- 0/1; 0: divided in proportion to what filled the memory
	r.page_size_bytes  -- bytes
FROM analysis_scope a JOIN run r ON r.id = a.run_id JOIN job j ON j.run_id = r.id AND j.slot <> 0
	JOIN interference x ON x.job_id = j.id
	LEFT JOIN job e ON e.id = (SELECT b.job_id FROM evicting_job b WHERE b.interference_id = x.id
		ORDER BY b.depth_bytes DESC, b.job_id DESC LIMIT 1);
