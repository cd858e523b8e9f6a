-- SPDX-License-Identifier: BSD-2-Clause
-- Schema 11. Whether a run stayed within its overhead budget, what it gave up for it, and
-- estimates of the figures of reads in a sliced run. Runs from before have no such values.

ALTER TABLE run ADD COLUMN cost_budget REAL;      -- share of the job's CPU time; NULL: no budget
ALTER TABLE run ADD COLUMN cost_share REAL;       -- probes in the job's tasks and the collector, of that time
ALTER TABLE run ADD COLUMN cost_budget_kept INTEGER CHECK (cost_budget_kept IN (0, 1));
ALTER TABLE run ADD COLUMN cost_over_budget_by REAL; -- NULL: kept, or not known
-- Time of the probes in the job's tasks, by purpose.
ALTER TABLE run ADD COLUMN cost_reads_ns INTEGER;
ALTER TABLE run ADD COLUMN cost_pages_ns INTEGER; -- pages added and evicted
ALTER TABLE run ADD COLUMN cost_windows_ns INTEGER;
ALTER TABLE run ADD COLUMN cost_faults_ns INTEGER;
ALTER TABLE run ADD COLUMN cost_switches_ns INTEGER;
ALTER TABLE run ADD COLUMN cost_other_ns INTEGER;

-- Details that were given up to reduce overhead: one row per detail.
CREATE TABLE shed (
	run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
	detail TEXT NOT NULL,                   -- 'traces', 'references', ...; 'per_read_hook': slices
	reason TEXT NOT NULL,
	from_ns INTEGER NOT NULL CHECK (from_ns >= 0), -- since the start of the run
	to_ns INTEGER CHECK (to_ns >= from_ns), -- NULL: to the end of the run
	PRIMARY KEY (run_id, detail)
) STRICT, WITHOUT ROWID;

-- Figures that only the per-read hook measures: in a sliced run they are NULL in all other tables
-- and have a row here.
CREATE TABLE estimate (
	job_id INTEGER NOT NULL REFERENCES job(id) ON DELETE CASCADE,
	name TEXT NOT NULL,                     -- of a counter, or 'hits', 'hit_ratio'
	value REAL,                             -- NULL: absent, see reason
	low REAL,                               -- of the 90 % interval
	high REAL,
	reason TEXT,
	PRIMARY KEY (job_id, name),
	CHECK (value IS NULL OR (low <= value AND value <= high)),
	CHECK ((value IS NULL) = (reason IS NOT NULL))
) STRICT, WITHOUT ROWID;
