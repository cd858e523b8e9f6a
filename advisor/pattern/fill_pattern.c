/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/pattern/pattern_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cachemon/base/text_builder.h"
#include "cachemon/db/db_rows.h"

int pattern_error(sqlite3 *db, const char *what, struct errtext *err)
{
	bool memory = sqlite3_errcode(db) == SQLITE_NOMEM;

	return errtext_set(err, memory ? -ENOMEM : -EIO, "cannot find patterns (%s): %s", what,
			   rows_error(db));
}

/* {"sequential_share":0.98,...,"decided_by":["sequential_share"]}; free() it. */
static char *features_json(const struct features *f, const struct pattern *p)
{
	struct text_builder b;
	FILE *out = text_begin(&b);

	if (!out)
		return NULL;
	fputs("{", out);
	for (int i = 0; i < F_NR; i++)
		if (f->known[i])
			fprintf(out, "\"%s\":%.6g,", feature_name((enum feature)i), f->value[i]);
	fputs("\"decided_by\":[", out);
	for (size_t i = 0; i < p->nr_decided; i++)
		fprintf(out, "%s\"%s\"", i ? "," : "", feature_name(p->decided[i]));
	fputs("]}", out);
	return text_end(&b);
}

static int insert_pattern(sqlite3_stmt *stmt, const char *kind, int64_t id, const struct pattern *p,
			  const struct features *f)
{
	char *json = features_json(f, p);
	int rc;

	if (!json)
		return SQLITE_NOMEM;
	sqlite3_bind_text(stmt, 2, kind, -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 3, id);
	sqlite3_bind_text(stmt, 4, pattern_name(p->name), -1, SQLITE_STATIC);
	sqlite3_bind_double(stmt, 5, p->confidence);
	sqlite3_bind_text(stmt, 6, json, -1, free);
	rc = sqlite3_step(stmt);
	sqlite3_reset(stmt);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* The files of all directories, grouped by directory: start[d] up to start[d + 1]. */
static void sort_parts(const struct pattern_job *job, struct pattern_part *parts, size_t *start)
{
	for (size_t i = 0; i < job->nr_files; i++) {
		const struct pattern_directory *d =
			pattern_directory_find(job, job->files[i].directory_id);

		if (d)
			start[d - job->directories + 2]++;
	}
	for (size_t d = 0; d < job->nr_directories; d++)
		start[d + 2] += start[d + 1];
	for (size_t i = 0; i < job->nr_files; i++) {
		const struct pattern_file *file = &job->files[i];
		const struct pattern_directory *d = pattern_directory_find(job, file->directory_id);

		if (d)
			parts[start[d - job->directories + 1]++] = (struct pattern_part){
				file->pattern.name, file->pattern.confidence, file->weight};
	}
}

static int insert_directories(sqlite3_stmt *stmt, struct pattern_job *job)
{
	struct pattern_part *parts = calloc(job->nr_files + 1, sizeof(*parts));
	size_t *start = calloc(job->nr_directories + 2, sizeof(*start));
	int rc = parts && start ? SQLITE_OK : SQLITE_NOMEM;

	if (rc == SQLITE_OK)
		sort_parts(job, parts, start);
	for (size_t d = 0; d < job->nr_directories && rc == SQLITE_OK; d++) {
		struct pattern_directory *dir = &job->directories[d];
		struct pattern p =
			pattern_of_directory(&dir->f, &parts[start[d]], start[d + 1] - start[d]);

		rc = insert_pattern(stmt, "directory", dir->id, &p, &dir->f);
	}
	free(parts);
	free(start);
	return rc;
}

static int insert_all(sqlite3 *db, struct pattern_job *job, struct errtext *err)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db,
				    "INSERT INTO temp.analysis_pattern (job_id, kind, subject_id, "
				    "name, confidence, features) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
				    -1, &stmt, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(stmt, 1, job->id);
	for (size_t i = 0; i < job->nr_files && rc == SQLITE_OK; i++)
		rc = insert_pattern(stmt, "file", job->files[i].id, &job->files[i].pattern,
				    &job->files[i].f);
	if (rc == SQLITE_OK)
		rc = insert_directories(stmt, job);
	sqlite3_finalize(stmt);
	if (rc == SQLITE_NOMEM)
		return errtext_set(err, -ENOMEM, "not enough memory for patterns");
	return rc == SQLITE_OK ? 0 : pattern_error(db, "rows", err);
}

/* The best source of a feature comes first; later sources do not replace it. */
static int fill_job_patterns(sqlite3 *db, int64_t id, double page_bytes, struct errtext *err)
{
	struct pattern_job job = {.id = id, .page_bytes = page_bytes};
	int ret = pattern_counters(db, &job, err);

	if (!ret)
		ret = pattern_traces(db, &job, err);
	if (!ret)
		ret = pattern_references(db, &job, err);
	for (size_t i = 0; i < job.nr_files && !ret; i++)
		job.files[i].pattern = pattern_of_file(&job.files[i].f);
	if (!ret)
		ret = insert_all(db, &job, err);
	if (ret == -ENOMEM)
		errtext_set(err, ret, "not enough memory for patterns");
	free(job.files);
	free(job.directories);
	return ret;
}

int fill_pattern(sqlite3 *db, struct errtext *err)
{
	struct arena no_texts = {0};
	struct rows r;
	int ret = 0;

	if (sqlite3_exec(db,
			 "CREATE TEMP TABLE IF NOT EXISTS analysis_pattern (job_id INTEGER, kind "
			 "TEXT, subject_id INTEGER, name TEXT, confidence REAL, features TEXT, "
			 "PRIMARY KEY (job_id, kind, subject_id)) WITHOUT ROWID",
			 NULL, NULL, NULL) != SQLITE_OK)
		return pattern_error(db, "the run", err);
	r = rows_begin(db, &no_texts,
		       "SELECT j.id, r.page_size_bytes FROM temp.analysis_scope a JOIN run "
		       "r ON r.id = a.run_id JOIN job j ON j.run_id = r.id AND j.slot <> 0",
		       0, NULL);
	while (!ret && rows_next(&r)) {
		int64_t id = rows_value(&r, 0);

		ret = fill_job_patterns(db, id, rows_f64(&r).value, err);
	}
	if (rows_finish(&r) && !ret)
		ret = pattern_error(db, "the run", err);
	return ret;
}
