-- SPDX-License-Identifier: BSD-2-Clause
-- Schema 14. Evictions of files that the job uses count for it, whoever brought the pages. Runs of before
-- counted only pages that the job had added itself, and have NULL here.

-- Of the evicted_* of all causes together: pages that the job had not added itself.
ALTER TABLE job ADD COLUMN evicted_not_added INTEGER CHECK (evicted_not_added >= 0);
ALTER TABLE directory ADD COLUMN evicted_not_added INTEGER CHECK (evicted_not_added >= 0);
ALTER TABLE file ADD COLUMN evicted_not_added INTEGER CHECK (evicted_not_added >= 0);
ALTER TABLE filesystem ADD COLUMN evicted_not_added INTEGER CHECK (evicted_not_added >= 0);
ALTER TABLE job_interval ADD COLUMN evicted_not_added INTEGER;
ALTER TABLE file_interval ADD COLUMN evicted_not_added INTEGER;

-- Of the pages that DONTNEED dropped, those that others read back. NULL: not known, as dropped_refaults.
ALTER TABLE advice ADD COLUMN dropped_refaults_others INTEGER CHECK (dropped_refaults_others >= 0);

INSERT INTO unmeasured (run_id, counter, reason)
SELECT id, 'evicted_not_added', 'this run counted only evictions of pages that the job had added' FROM run;
