-- SPDX-License-Identifier: BSD-2-Clause
-- Schema 18. How long the single sleeps of a job were. Runs of before have no rows.

-- The sleeps that stalls counts, by their length: an empty bucket has no row. Absent as stalls is.
CREATE TABLE wait_histogram (
	job_id INTEGER NOT NULL REFERENCES job(id) ON DELETE CASCADE,
	from_ns INTEGER NOT NULL CHECK (from_ns >= 0),
	to_ns INTEGER CHECK (to_ns > from_ns),  -- the first length that is too long; NULL: any is in it
	sleeps INTEGER NOT NULL CHECK (sleeps > 0),
	PRIMARY KEY (job_id, from_ns)
) STRICT, WITHOUT ROWID;
