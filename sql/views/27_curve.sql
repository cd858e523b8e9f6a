-- SPDX-License-Identifier: BSD-2-Clause
-- v_curve: miss ratio for each cache size, of demand lookups by read(2). Source: analysis_curve.
CREATE TEMP VIEW v_curve AS SELECT
	job_id,
	cache_pages,  -- pages
	miss_ratio,  -- 0..1, of an LRU cache of that size
	low, high,  -- 0..1, the band
	opt_miss_ratio  -- 0..1, with optimal eviction at that size; NULL: not computed
FROM analysis_curve;

-- v_curve_fact: one row per job. Source: analysis_curve_fact.
CREATE TEMP VIEW v_curve_fact AS SELECT
	job_id,
	present_pages,  -- pages the job had in the cache
	floor,  -- 0..1, first touches, which no cache size avoids
	for90_pages,  -- pages for a hit ratio of 90 %; NULL: no size gives it
	uncertain,  -- 0/1; 1: the measured ratio, or the refault distances, contradict the curve
	second_opinion,  -- of the refault distances: same, other, weak (a bound that fits), none
	broken,  -- 0/1; 1: the sample ended before the run
	coalesce(absent, reason) AS reason,  -- why there is no curve, or why it is uncertain
	kernel_worse_up_to, kernel_better_up_to  -- 0..1, error of the LRU model
FROM analysis_curve_fact;
