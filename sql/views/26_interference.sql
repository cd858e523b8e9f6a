-- SPDX-License-Identifier: BSD-2-Clause
-- v_interference: whose reads and writes pushed out which pages of the watched jobs. Source: interference.
CREATE TEMP VIEW v_interference AS SELECT
	x.job_id,  -- job.id of the owner of the pages
	x.cause,  -- as the evicted_* counters: reclaim_kswapd, reclaim_direct, reclaim_memcg, ...
	x.evictor_kind,  -- own: the job itself; job: another watched job; others; kernel; NULL: not known
	x.evictor,  -- command of the task, or of the kernel's thread
	x.evictor_cgroup,  -- bytes; of others: path of its cgroup; NULL: not known
	x.evictor_path,  -- bytes; directory whose reading or writing made room necessary; NULL: not known
	x.evictor_writes,  -- 0/1; it wrote; NULL: not known
	x.owner_path,  -- bytes; directory of the evicted pages
	x.pages,  -- pages evicted
	x.refaulted_pages,  -- pages of those that came back; NULL: not measured
	x.refaulted_pages * 1.0 / nullif(x.pages, 0) AS refaulted_share,  -- 0..1
	x.exact,  -- 0/1; 0: in proportion to what filled the memory
	r.page_size_bytes  -- bytes
FROM analysis_scope a JOIN run r ON r.id = a.run_id JOIN job j ON j.run_id = r.id AND j.slot <> 0
	JOIN interference x ON x.job_id = j.id;
