/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/fill.h"

#include <stddef.h>

#include "advisor/grade.h"

static struct opt_f64 column(sqlite3_stmt *stmt, int *i)
{
	int c = (*i)++;
	int type = sqlite3_column_type(stmt, c);
	struct opt_f64 v = {.known = type == SQLITE_INTEGER || type == SQLITE_FLOAT};

	v.value = v.known ? sqlite3_column_double(stmt, c) : 0;
	return v;
}

/* Of the curve the point at, or next below, the present size; else its smallest. */
static const char query[] =
	"SELECT v.job_id, v.lookups, v.misses, v.all_used, v.refaults, v.added_pages, f.floor, "
	"coalesce((SELECT c.opt_miss_ratio FROM analysis_curve c WHERE c.job_id = v.job_id "
	"  AND c.cache_pages <= f.present_pages ORDER BY c.cache_pages DESC LIMIT 1), "
	" (SELECT c.opt_miss_ratio FROM analysis_curve c WHERE c.job_id = v.job_id "
	"  AND f.present_pages IS NOT NULL ORDER BY c.cache_pages LIMIT 1)), "
	"v.accuracy, v.coverage, v.timeliness, v.stall_ns, v.wall_ns, v.cpu_ns "
	"FROM v_job v LEFT JOIN analysis_curve_fact f ON f.job_id = v.job_id";

static int64_t read_row(sqlite3_stmt *stmt, struct grade_input *in)
{
	int i = 1;

	in->lookups = column(stmt, &i);
	in->misses = column(stmt, &i);
	in->all_used = column(stmt, &i);
	in->refaults = column(stmt, &i);
	in->added_pages = column(stmt, &i);
	in->floor = column(stmt, &i);
	in->opt_miss = column(stmt, &i);
	in->accuracy = column(stmt, &i);
	in->coverage = column(stmt, &i);
	in->timeliness = column(stmt, &i);
	in->stall_ns = column(stmt, &i);
	in->wall_ns = column(stmt, &i);
	in->cpu_ns = column(stmt, &i);
	return sqlite3_column_int64(stmt, 0);
}

static int insert(sqlite3_stmt *stmt, int64_t job_id, enum grade_kind kind, const struct grade *g)
{
	sqlite3_reset(stmt);
	sqlite3_bind_int64(stmt, 1, job_id);
	sqlite3_bind_text(stmt, 2, grade_names[kind], -1, SQLITE_STATIC);
	if (g->letter)
		sqlite3_bind_text(stmt, 3, &g->letter, 1, SQLITE_TRANSIENT);
	else
		sqlite3_bind_null(stmt, 3);
	if (g->score.known)
		sqlite3_bind_double(stmt, 4, g->score.value);
	else
		sqlite3_bind_null(stmt, 4);
	sqlite3_bind_text(stmt, 5, g->formula, -1, SQLITE_TRANSIENT);
	return sqlite3_step(stmt);
}

static int fill_job(sqlite3_stmt *from, sqlite3_stmt *to)
{
	struct grade grades[GRADE_NR];
	struct grade_input in = {0};
	int64_t job_id = read_row(from, &in);
	int rc = SQLITE_DONE;

	grade_all(&in, grades);
	for (enum grade_kind k = 0; k < GRADE_NR && rc == SQLITE_DONE; k++)
		rc = insert(to, job_id, k, &grades[k]);
	return rc;
}

int fill_grade(sqlite3 *db, struct errtext *err)
{
	sqlite3_stmt *from = NULL;
	sqlite3_stmt *to = NULL;
	int rc = sqlite3_prepare_v2(db, query, -1, &from, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(
			db, "INSERT INTO temp.analysis_grade VALUES (?1, ?2, ?3, ?4, ?5)", -1, &to,
			NULL);
	if (rc == SQLITE_OK)
		while ((rc = sqlite3_step(from)) == SQLITE_ROW)
			if (fill_job(from, to) != SQLITE_DONE)
				break;
	sqlite3_finalize(to);
	sqlite3_finalize(from);
	return rc == SQLITE_DONE ? 0 : fill_error(db, "grades", err);
}
