-- SPDX-License-Identifier: BSD-2-Clause
-- v_pattern: how a file or a directory is read. Source: analysis_pattern.
CREATE TEMP VIEW v_pattern AS SELECT
	job_id,
	kind,  -- file, directory
	subject_id,  -- file.id or directory.id
	name,  -- sequential strided random backward scan_once reread small_files shuffled_epoch ...
	confidence,  -- 0..1
	features  -- JSON object: the features that the pattern was derived from
FROM analysis_pattern;

-- v_grade: grades of a job. Source: analysis_grade.
CREATE TEMP VIEW v_grade AS SELECT
	job_id,
	name,  -- overall, hits, prefetch, eviction, stall
	grade,  -- A to F; NULL: not known
	score,  -- 0..1
	formula  -- formula with its numbers, or why there is no grade
FROM analysis_grade WHERE kind = 'job';

-- v_directory_grade: the same for each directory that the job read, from the counters of its files.
-- hits uses no curve, stall is a share of the job's time. Source: analysis_grade.
CREATE TEMP VIEW v_directory_grade AS SELECT
	job_id,
	subject_id AS directory_id,  -- directory.id
	name,  -- overall, hits, prefetch, eviction, stall
	grade,  -- A to F; NULL: not known
	score,  -- 0..1
	formula  -- formula with its numbers, or why there is no grade
FROM analysis_grade WHERE kind = 'directory';

-- v_finding, v_unjudged: for rules with "order: late" or "order: last". Sources:
-- analysis_finding, analysis_unjudged.
CREATE TEMP VIEW v_finding AS SELECT
	job_id, id,
	severity,  -- info, low, medium, high
	confidence,  -- 0..1
	subject_kind, subject,
	gain_s,  -- s; NULL: not known, or in bytes
	gain_cause  -- text; NULL: none
FROM analysis_finding;
CREATE TEMP VIEW v_unjudged AS SELECT
	job_id, id, reason,
	doubt  -- 0/1; 1: all other conditions of the rule hold, so the finding is likely
FROM analysis_unjudged;
