-- SPDX-License-Identifier: BSD-2-Clause
-- Schema 23. The waits of a process can be NULL: not measured. Before, they were 0 then.
CREATE TABLE process_interval_23 (
	interval_id INTEGER NOT NULL REFERENCES interval(id) ON DELETE CASCADE,
	pid INTEGER NOT NULL CHECK (pid >= 0),  -- as cachemon sees it; 0: it has none there
	command TEXT,                           -- of its first thread, at most 15 bytes
	stall_ns INTEGER CHECK (stall_ns >= 0),
	stalls INTEGER CHECK (stalls >= 0),
	rchar_bytes INTEGER CHECK (rchar_bytes >= 0),
	syscr_calls INTEGER CHECK (syscr_calls >= 0),
	PRIMARY KEY (interval_id, pid)
) STRICT, WITHOUT ROWID;

INSERT INTO process_interval_23 SELECT * FROM process_interval;
UPDATE process_interval_23 SET stall_ns = NULL, stalls = NULL WHERE interval_id IN (
	SELECT interval_id FROM job_interval JOIN job ON job.id = job_id
	WHERE slot = 1 AND job_interval.stall_ns IS NULL);
DROP TABLE process_interval;
ALTER TABLE process_interval_23 RENAME TO process_interval;
