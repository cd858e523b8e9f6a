-- SPDX-License-Identifier: BSD-2-Clause
-- v_run: the analysed run. Source: run.
CREATE TEMP VIEW v_run AS SELECT
	r.id AS run_id,
	r.host,
	r.kernel,  -- release
	r.arch,
	r.level,  -- cold, full, auto
	r.sliced,  -- 0/1; the per-read hook was off at some time
	r.advice_mode,  -- calls: every advice call; effects: those that moved pages
	r.duration_ns,  -- ns
	r.duration_ns / 1e9 AS duration_s,  -- s
	r.read_on_ns,  -- ns with the per-read hook on
	r.interval_ns,  -- ns
	r.page_size_bytes,  -- bytes
	r.memory_bytes,  -- bytes, of the machine
	r.memory_bytes / r.page_size_bytes AS memory_pages,  -- pages
	r.loss_map_full, r.loss_chunk_full, r.loss_ring_drops,  -- times, times, names
	r.loss_state_drops, r.loss_ghosts_dropped, r.loss_advice_full,
		-- tasks, pages, calls of advice
	r.law_error_pages  -- pages; 0: the conservation law held
FROM analysis_scope a JOIN run r ON r.id = a.run_id;
