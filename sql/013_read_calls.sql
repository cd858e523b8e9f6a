-- SPDX-License-Identifier: BSD-2-Clause
-- Schema 13. How often a job's tasks read, by the kernel's own count: what was seen of it can be held
-- against that. Runs of before do not know.

ALTER TABLE job ADD COLUMN syscr_calls INTEGER;   -- calls of its tasks that read from anything
