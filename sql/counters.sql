-- SPDX-License-Identifier: BSD-2-Clause
-- The counters of x (a job, file, directory or filesystem) in run r: the columns that the views of
-- all four share. The build puts this file where a view names it. Every value is exact. In a sliced
-- run (level auto) the values that only the per-read hook measures are NULL. So are fates, unless
-- all of them were seen. NULL: not measured, or undefined (a ratio with denominator 0); never 0.
-- Arithmetic with NULL gives NULL.

	iif(r.sliced, NULL, x.read_calls) AS read_calls,
		-- calls; buffered reads that looked up a page
	iif(r.sliced, NULL, x.read_bytes) AS read_bytes,  -- bytes; what they returned
	iif(r.sliced, NULL, x.lookups) AS lookups,  -- pages that those reads requested
	iif(r.sliced, NULL, @hits(x.)@) AS hits,
		-- @about(hits)@
	iif(r.sliced, NULL, @hit_ratio(x.)@) AS hit_ratio,
		-- @about(hit_ratio)@
	iif(r.sliced, NULL, x.delayed_hits) AS delayed_hits,
		-- pages; hits that waited for I/O in progress
	x.misses,  -- pages; exact also in a sliced run
	x.demand_pages,  -- pages added because they were asked for
	x.prefetched_sync,  -- pages added ahead, origin sync
	x.prefetched_async,  -- pages added ahead, origin async
	x.prefetched_willneed,  -- pages added ahead, origin willneed
	x.prefetched_readahead2,  -- pages added ahead, origin readahead2
	x.prefetched_mmap_around,  -- pages added ahead, origin mmap_around
	@prefetched_pages(x.)@ AS prefetched_pages,
		-- @about(prefetched_pages)@
	iif(r.sliced AND x.untracked IS NOT 0, NULL, x.used) AS used,
		-- pages prefetched and used in time
	iif(r.sliced AND x.untracked IS NOT 0, NULL, x.used_late) AS used_late,
		-- pages prefetched whose reader had to wait
	iif(r.sliced AND x.untracked IS NOT 0, NULL, @all_used(x.)@) AS all_used,
		-- @about(all_used)@
	iif(r.sliced AND x.untracked IS NOT 0, NULL, x.evicted_unused) AS evicted_unused,
		-- pages prefetched that left unused
	CASE WHEN x.resident_unused >= 0 AND NOT (r.sliced AND x.untracked IS NOT 0)
		THEN x.resident_unused END AS resident_unused,
		-- pages prefetched, still cached, not used yet
	x.untracked,  -- pages prefetched whose fate cannot be known
	iif(r.sliced AND x.untracked IS NOT 0, NULL, @accuracy(x.)@) AS accuracy,
		-- @about(accuracy)@
	iif(r.sliced AND x.untracked IS NOT 0, NULL, @coverage(x.)@) AS coverage,
		-- @about(coverage)@
	iif(r.sliced AND x.untracked IS NOT 0, NULL, @timeliness(x.)@) AS timeliness,
		-- @about(timeliness)@
	iif(r.sliced AND x.untracked IS NOT 0, NULL, x.evicted_unused * r.page_size_bytes) AS waste_bytes,
		-- bytes; evicted_unused
	x.windows_sync,  -- windows issued for a page that was missing
	x.windows_async,  -- windows issued ahead
	x.windows_forced,  -- windows of advice and of RANDOM files
	@window_pages_mean(x.)@ AS window_pages_mean,
		-- @about(window_pages_mean)@
	CASE
		WHEN x.window_log2_15 > 0 THEN 65535
		WHEN x.window_log2_14 > 0 THEN 32767
		WHEN x.window_log2_13 > 0 THEN 16383
		WHEN x.window_log2_12 > 0 THEN 8191
		WHEN x.window_log2_11 > 0 THEN 4095
		WHEN x.window_log2_10 > 0 THEN 2047
		WHEN x.window_log2_9 > 0 THEN 1023
		WHEN x.window_log2_8 > 0 THEN 511
		WHEN x.window_log2_7 > 0 THEN 255
		WHEN x.window_log2_6 > 0 THEN 127
		WHEN x.window_log2_5 > 0 THEN 63
		WHEN x.window_log2_4 > 0 THEN 31
		WHEN x.window_log2_3 > 0 THEN 15
		WHEN x.window_log2_2 > 0 THEN 7
		WHEN x.window_log2_1 > 0 THEN 3
		WHEN x.window_log2_0 > 0 THEN 1 END AS window_pages_max,
		-- pages; no window added more than this (a power of two less one)
	x.written_pages,  -- pages added by buffered writes
	x.other_added_pages,  -- pages added in any other way
	@added_pages(x.)@ AS added_pages,  -- @about(added_pages)@
	x.evicted_reclaim_kswapd,  -- pages that left, cause reclaim_kswapd
	x.evicted_reclaim_direct,  -- pages that left, cause reclaim_direct
	x.evicted_reclaim_memcg,  -- pages that left, cause reclaim_memcg
	x.evicted_dontneed,  -- pages that left, cause dontneed
	x.evicted_drop_caches,  -- pages that left, cause drop_caches
	x.evicted_truncate,  -- pages that left, cause truncate
	x.evicted_direct_io,  -- pages that left, cause direct_io
	x.evicted_other,  -- pages that left, cause other
	x.evicted_invalidate,  -- pages that left, cause invalidate; NULL: recorded as direct_io
	x.evicted_dontcache,  -- pages that left, cause dontcache; NULL: recorded as other
	@evicted_reclaim(x.)@ AS evicted_reclaim,
		-- @about(evicted_reclaim)@
	@evicted_pages(x.)@ AS evicted_pages,
		-- @about(evicted_pages)@
	x.evicted_not_added,  -- pages evicted that the job had not added itself; NULL: not counted
	@plain(x.)@
	x.refault_distance_pages * 1.0 / nullif(x.refaults, 0) AS refault_distance_pages,
		-- pages evicted between eviction and return, mean
	x.refault_distance_ms / 1000.0 / nullif(x.refaults, 0) AS refault_distance_s,
		-- s between eviction and return, mean
	x.faults_major,  -- faults of file mappings, page not cached
	x.faults_minor,  -- faults of file mappings, page cached
	x.mapped_pages_upper_bound,  -- pages mapped around faults: an upper bound of their use
	x.direct_read_calls,  -- calls; O_DIRECT
	x.direct_read_bytes,  -- bytes; O_DIRECT
	iif(r.sliced AND r.cost_budget IS NULL, NULL, x.stall_ns) AS stall_ns,
		-- ns its tasks slept for the page cache
	iif(r.sliced AND r.cost_budget IS NULL, NULL, x.stalls) AS stalls,  -- sleeps
	iif(r.sliced, NULL, @bytes_per_call(x.)@) AS bytes_per_call
		-- @about(bytes_per_call)@
