-- SPDX-License-Identifier: BSD-2-Clause
-- Schema 19. How long each sleep for the page cache was, and how long reads took on the devices.
-- Older runs have no rows of the first, and NULL in the second.

-- The sleeps counted in stalls, by length; an empty bucket has no row. Absent if stalls is absent.
CREATE TABLE wait_histogram (
	job_id INTEGER NOT NULL REFERENCES job(id) ON DELETE CASCADE,
	from_ns INTEGER NOT NULL CHECK (from_ns >= 0),
	to_ns INTEGER CHECK (to_ns > from_ns),  -- shorter than this; NULL: no upper limit
	sleeps INTEGER NOT NULL CHECK (sleeps > 0),
	PRIMARY KEY (job_id, from_ns)
) STRICT, WITHOUT ROWID;

-- The same for files. They add up to the file's stalls; if not, some waits found no room.
CREATE TABLE file_wait (
	file_id INTEGER NOT NULL REFERENCES file(id) ON DELETE CASCADE,
	from_ns INTEGER NOT NULL CHECK (from_ns >= 0),
	to_ns INTEGER CHECK (to_ns > from_ns),
	sleeps INTEGER NOT NULL CHECK (sleeps > 0),
	PRIMARY KEY (file_id, from_ns)
) STRICT, WITHOUT ROWID;

-- By the kernel's own count, during the run, of all processes. NULL: it counts none of this device.
ALTER TABLE device ADD COLUMN reads INTEGER CHECK (reads >= 0);     -- requests that ended
ALTER TABLE device ADD COLUMN read_ms INTEGER CHECK (read_ms >= 0); -- their times, with the queue
