-- SPDX-License-Identifier: BSD-2-Clause
-- v_machine: the machine and its memory during the run, one row. Sources: run, machine,
-- machine_interval.
CREATE TEMP VIEW v_machine AS SELECT
	r.id AS run_id,
	coalesce(m.memory_total_bytes, r.memory_bytes) AS memory_total_bytes,  -- bytes
	m.swap_bytes,  -- bytes
	m.mglru,  -- 0/1
	m.nr_cpus, m.numa_nodes,
	r.page_size_bytes,  -- bytes
	s.free_bytes_min, s.available_bytes_min, s.available_bytes_mean,
		-- bytes over the intervals
	s.file_cached_bytes_max, s.file_cached_bytes_mean,  -- bytes of page cache
	s.dirty_bytes_max,  -- bytes
	s.job_limit_bytes,  -- bytes; lowest limit in force; NULL: no limit or not known
	s.job_usage_bytes_max, s.job_file_bytes_max, s.job_file_bytes_mean  -- bytes charged to the job's cgroup
FROM analysis_scope a JOIN run r ON r.id = a.run_id LEFT JOIN machine m ON m.run_id = r.id
	LEFT JOIN analysis_memory s ON s.run_id = r.id;

-- v_limit: the memory limit of a job. Source: job_limit.
CREATE TEMP VIEW v_limit AS SELECT
	x.job_id,
	x.limit_bytes,  -- bytes; NULL: none
	x.limit_bytes / r.page_size_bytes AS limit_pages,  -- pages
	x.oom_kills  -- processes that the OOM killer killed at that limit; NULL: not known
FROM analysis_scope a JOIN run r ON r.id = a.run_id JOIN job j ON j.run_id = r.id
	JOIN job_limit x ON x.job_id = j.id;

-- v_device: the devices of the job's files. Source: device.
CREATE TEMP VIEW v_device AS SELECT
	x.run_id, x.dev_major, x.dev_minor, x.name,
	x.rotational,  -- 0/1; NULL: not known
	x.read_ahead_kb,  -- KiB
	x.read_ahead_kb * 1024 / r.page_size_bytes AS read_ahead_pages,  -- pages
	x.max_sectors_kb,  -- KiB, the largest I/O
	x.io_pages,  -- pages, likewise
	x.network  -- 0/1
FROM analysis_scope a JOIN run r ON r.id = a.run_id JOIN device x ON x.run_id = r.id;
