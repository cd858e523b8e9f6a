-- SPDX-License-Identifier: BSD-2-Clause
-- Schema 13. The kernel's own count of a job's read calls, to check how many of them were observed.
-- NULL in runs from before.

ALTER TABLE job ADD COLUMN syscr_calls INTEGER;   -- calls of its tasks that read from any source
