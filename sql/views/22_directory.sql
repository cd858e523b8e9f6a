-- SPDX-License-Identifier: BSD-2-Clause
-- v_directory: every directory with a file of the job: exact sums of the files directly in it, with
-- or without rows of their own. The directories of a job add up to the job. Sources: directory,
-- analysis_pattern.
CREATE TEMP VIEW v_directory AS SELECT
	x.id AS directory_id,  -- directory.id
	x.job_id,  -- job.id
	r.id AS run_id,  -- run.id
	x.path,  -- bytes; NULL: the files without a name
	x.files,  -- distinct files; NULL: not counted
	x.files_estimated,  -- 0/1; 1: files is a lower bound
	x.subdirectories,  -- 0/1; 1: includes directories below it
	r.page_size_bytes AS page_size_bytes,  -- bytes
	r.sliced AS sliced,  -- 0/1
	p.name AS pattern,  -- pattern's name; NULL: none was computed
	p.confidence AS pattern_confidence,  -- 0..1
	p.features AS pattern_features,  -- JSON object
@sql/counters.sql@
FROM analysis_scope a JOIN run r ON r.id = a.run_id JOIN job j ON j.run_id = r.id AND j.slot <> 0
	JOIN directory x ON x.job_id = j.id
	LEFT JOIN analysis_pattern p
		ON p.job_id = x.job_id AND p.kind = 'directory' AND p.subject_id = x.id;
