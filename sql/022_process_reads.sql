-- SPDX-License-Identifier: BSD-2-Clause
-- Schema 22. What each process read from anything, counted as in its /proc/PID/io. A task's reads
-- are counted when it stops running, so the sum may lack those of tasks that still ran. Each
-- interval has the 64 processes that waited longest, then those that read most. NULL: not known,
-- as in runs from before.
ALTER TABLE process_interval ADD COLUMN rchar_bytes INTEGER CHECK (rchar_bytes >= 0);
ALTER TABLE process_interval ADD COLUMN syscr_calls INTEGER CHECK (syscr_calls >= 0);
