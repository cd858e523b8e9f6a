-- SPDX-License-Identifier: BSD-2-Clause
-- The input of an analysis: the run, and the results of the models, all in TEMP tables; the
-- database is only read. By hand, with the installed views (or those in gen/sql/views of a build):
--     sqlite3 -readonly run.db
--     CREATE TEMP TABLE analysis_scope AS SELECT max(id) AS run_id FROM run;
--     .read share/cachemon/sql/views/00_tables.sql      and all others in order of their names
--     INSERT INTO analysis_file SELECT id FROM file;

-- The analysed files: all that have a row, at most 8192 per job.
CREATE TEMP TABLE analysis_file (file_id INTEGER PRIMARY KEY);

-- The timeline of the watched jobs; counters as in v_job, deltas.
CREATE TEMP TABLE analysis_interval (
	job_id INTEGER, interval_id INTEGER, start_ns INTEGER, duration_ns INTEGER, read_on_ns INTEGER,
	rolled INTEGER, cpu_ns INTEGER, rchar_bytes INTEGER, read_calls INTEGER, read_bytes INTEGER,
	lookups INTEGER, delayed_hits INTEGER, misses INTEGER, demand_pages INTEGER,
	prefetched_pages INTEGER, used INTEGER, used_late INTEGER, evicted_unused INTEGER,
	written_pages INTEGER, evicted_reclaim INTEGER, evicted_reclaim_memcg INTEGER,
	evicted_pages INTEGER, refaults INTEGER, refault_misses INTEGER, faults_major INTEGER,
	direct_read_bytes INTEGER, stall_ns INTEGER, stalls INTEGER,
	PRIMARY KEY (job_id, start_ns, interval_id)
) WITHOUT ROWID;

-- Memory of the machine, and the job's limit, over the run.
CREATE TEMP TABLE analysis_memory (
	run_id INTEGER PRIMARY KEY, intervals INTEGER, free_bytes_min INTEGER, available_bytes_min INTEGER,
	available_bytes_mean REAL, file_cached_bytes_max INTEGER, file_cached_bytes_mean REAL,
	dirty_bytes_max INTEGER, job_limit_bytes INTEGER, job_usage_bytes_max INTEGER,
	job_file_bytes_max INTEGER, job_file_bytes_mean REAL
);

-- Models.
CREATE TEMP TABLE analysis_pattern (
	job_id INTEGER, kind TEXT, subject_id INTEGER, name TEXT, confidence REAL, features TEXT,
	PRIMARY KEY (job_id, kind, subject_id)
) WITHOUT ROWID;
CREATE TEMP TABLE analysis_curve (
	job_id INTEGER, cache_pages INTEGER, miss_ratio REAL, low REAL, high REAL, opt_miss_ratio REAL,
	PRIMARY KEY (job_id, cache_pages)
) WITHOUT ROWID;
CREATE TEMP TABLE analysis_curve_fact (
	job_id INTEGER PRIMARY KEY, absent TEXT, lookups INTEGER, distinct_pages REAL, floor REAL,
	removed_again REAL, present_pages INTEGER, present_miss_ratio REAL, present_low REAL,
	present_high REAL, present_opt_miss_ratio REAL, measured_miss_ratio REAL, limit_pages INTEGER,
	memory_pages INTEGER, for90_pages INTEGER, for90_low_pages INTEGER, for90_high_pages INTEGER,
	reread_order TEXT, epochs REAL, hot_moves INTEGER, kernel_better_up_to REAL,
	kernel_worse_up_to REAL, model_error REAL, mae_note TEXT, broken INTEGER, uncertain INTEGER,
	second_opinion TEXT, reason TEXT
);
CREATE TEMP TABLE analysis_whatif_readahead (
	job_id INTEGER, traced_file_id INTEGER, setting TEXT, misses INTEGER, prefetched INTEGER,
	wasted INTEGER, requests INTEGER, windows INTEGER, fidelity REAL, actual INTEGER, note TEXT,
	PRIMARY KEY (job_id, traced_file_id, setting)
) WITHOUT ROWID;
CREATE TEMP TABLE analysis_verdict (advice_id INTEGER PRIMARY KEY, verdict TEXT, why TEXT);
CREATE TEMP TABLE analysis_grade (
	job_id INTEGER, kind TEXT, subject_id INTEGER, name TEXT, grade TEXT, score REAL, formula TEXT,
	PRIMARY KEY (job_id, kind, subject_id, name)
) WITHOUT ROWID;

-- Findings so far, and rules that could not be judged; for rules with "order: late" or "order:
-- last".
CREATE TEMP TABLE analysis_finding (
	job_id INTEGER, id TEXT, severity TEXT, confidence REAL, subject_kind TEXT, subject BLOB,
	gain_s REAL, gain_cause TEXT
);
CREATE TEMP TABLE analysis_unjudged (job_id INTEGER, id TEXT, reason TEXT, doubt INTEGER);
