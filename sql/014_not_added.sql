-- SPDX-License-Identifier: BSD-2-Clause
-- Schema 14. An eviction from a file that the job uses counts for the job, whichever process added
-- the page. Runs from before counted only pages that the job had added, and have NULL here.

-- Evicted pages, of all causes, that the job had not added itself.
ALTER TABLE job ADD COLUMN evicted_not_added INTEGER CHECK (evicted_not_added >= 0);
ALTER TABLE directory ADD COLUMN evicted_not_added INTEGER CHECK (evicted_not_added >= 0);
ALTER TABLE file ADD COLUMN evicted_not_added INTEGER CHECK (evicted_not_added >= 0);
ALTER TABLE filesystem ADD COLUMN evicted_not_added INTEGER CHECK (evicted_not_added >= 0);
ALTER TABLE job_interval ADD COLUMN evicted_not_added INTEGER;
ALTER TABLE file_interval ADD COLUMN evicted_not_added INTEGER;

-- Pages that DONTNEED dropped and that other processes read back. NULL: not known, as
-- dropped_refaults.
ALTER TABLE advice ADD COLUMN dropped_refaults_others INTEGER CHECK (dropped_refaults_others >= 0);

INSERT INTO unmeasured (run_id, counter, reason)
SELECT id, 'evicted_not_added', 'this run counted only evictions of pages that the job had added' FROM run;
