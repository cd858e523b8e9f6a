-- SPDX-License-Identifier: BSD-2-Clause
-- Schema 19. How long each sleep of a job was. Older runs have no rows.

-- The sleeps that stalls counts, by length; an empty bucket has no row. Absent if stalls is absent.
CREATE TABLE wait_histogram (
	job_id INTEGER NOT NULL REFERENCES job(id) ON DELETE CASCADE,
	from_ns INTEGER NOT NULL CHECK (from_ns >= 0),
	to_ns INTEGER CHECK (to_ns > from_ns),  -- shorter than this; NULL: no upper limit
	sleeps INTEGER NOT NULL CHECK (sleeps > 0),
	PRIMARY KEY (job_id, from_ns)
) STRICT, WITHOUT ROWID;
