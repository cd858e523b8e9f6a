-- SPDX-License-Identifier: BSD-2-Clause
-- Schema 18. The summary of a job's report at the end of its run, so that a list of runs need not
-- analyse each.

-- NULL: the run was not judged at its end, because it is older, still open, or was cut.
ALTER TABLE job ADD COLUMN head_answer TEXT;  -- fix, nothing, unexplained, too-little, unknown
ALTER TABLE job ADD COLUMN head_grade TEXT;   -- overall, A to F; NULL also if not graded
ALTER TABLE job ADD COLUMN head_score REAL;   -- 0 to 1
ALTER TABLE job ADD COLUMN head_finding TEXT; -- id of the first finding; NULL: no finding
ALTER TABLE job ADD COLUMN head_title TEXT;   -- its title
