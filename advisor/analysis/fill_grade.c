/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/analysis/fill.h"

#include <stddef.h>
#include <string.h>

#include "cachemon/figures/counters.h"
#include "advisor/analysis/grade.h"

static struct opt_f64 column(sqlite3_stmt *stmt, int *i)
{
	int c = (*i)++;
	int type = sqlite3_column_type(stmt, c);
	struct opt_f64 v = {.known = type == SQLITE_INTEGER || type == SQLITE_FLOAT};

	v.value = v.known ? sqlite3_column_double(stmt, c) : 0;
	return v;
}

static struct opt_i64 whole(struct opt_f64 v)
{
	return (struct opt_i64){(int64_t)v.value, v.known};
}

/* Of a job or a directory, v, of the job j; in the order of read_row(). */
#define FIGURES(refaults)                                                                          \
	"v.lookups, v.misses, v.all_used, " refaults ", v.added_pages, v.accuracy, v.coverage, "   \
	"v.timeliness, v.stall_ns, j.stall_ns, j.wall_ns, j.cpu_ns, "                              \
	"v.lookups + v.faults_major + v.faults_minor, j.sliced, "                                  \
	"v.faults_major, v.mapped_pages_upper_bound, j.processes, v.untracked "

/* Pages that were written anew are refaults too, and nothing had to fetch them: of a directory no
 * more pages came back than were fetched. */
#define READ_AGAIN "min(v.refaults, v.demand_pages + v.prefetched_pages)"
#define JOB_READ_AGAIN                                                                             \
	"coalesce((SELECT iif(count(*) = count(b.pages), sum(b.pages), NULL) "                     \
	"  FROM (SELECT " READ_AGAIN " AS pages FROM v_directory v "                               \
	"    WHERE v.job_id = j.job_id) b), v.refaults)"

/* clang-format off: a macro in a string is broken apart */
/* Of the curve the point at, or next below, the present size; else its smallest. */
static const char of_jobs[] =
	"SELECT v.job_id, 'job', v.job_id, f.floor, "
	"coalesce((SELECT c.opt_miss_ratio FROM analysis_curve c WHERE c.job_id = v.job_id "
	"  AND c.cache_pages <= f.present_pages ORDER BY c.cache_pages DESC LIMIT 1), "
	" (SELECT c.opt_miss_ratio FROM analysis_curve c WHERE c.job_id = v.job_id "
	"  AND f.present_pages IS NOT NULL ORDER BY c.cache_pages LIMIT 1)), " FIGURES(
		JOB_READ_AGAIN) "FROM v_job v JOIN v_job j ON j.job_id = v.job_id "
				"LEFT JOIN analysis_curve_fact f ON f.job_id = v.job_id";

/* The curve is of all that the job read: there is none of a directory. */
static const char of_directories[] =
	"SELECT v.job_id, 'directory', v.directory_id, NULL, NULL, " FIGURES(
		READ_AGAIN) "FROM v_job j JOIN v_directory v ON v.job_id = j.job_id";
/* clang-format on */

static void read_row(sqlite3_stmt *stmt, struct grade_input *in)
{
	struct opt_i64 major, mapped;
	struct opt_f64 processes;
	int i = 3;

	in->floor = column(stmt, &i);
	in->opt_miss = column(stmt, &i);
	in->lookups = column(stmt, &i);
	in->misses = column(stmt, &i);
	in->all_used = column(stmt, &i);
	in->refaults = column(stmt, &i);
	in->added_pages = column(stmt, &i);
	in->accuracy = column(stmt, &i);
	in->coverage = column(stmt, &i);
	in->timeliness = column(stmt, &i);
	in->stall_ns = column(stmt, &i);
	in->job_stall_ns = column(stmt, &i);
	in->wall_ns = column(stmt, &i);
	in->cpu_ns = column(stmt, &i);
	in->touches = column(stmt, &i);
	in->sliced = column(stmt, &i).value > 0;
	major = whole(column(stmt, &i));
	mapped = whole(column(stmt, &i));
	processes = column(stmt, &i);
	in->mapped = counters_mapped(whole(in->lookups), major, mapped, whole(processes));
	in->fates_open = column(stmt, &i).value > 0;
	in->touches_min = grade_touches_min(processes);
}

/* from: job, kind and subject are its first columns. */
static int insert(sqlite3_stmt *to, sqlite3_stmt *from, enum grade_kind kind, const struct grade *g)
{
	sqlite3_reset(to);
	for (int i = 0; i < 3; i++)
		sqlite3_bind_value(to, i + 1, sqlite3_column_value(from, i));
	sqlite3_bind_text(to, 4, grade_names[kind], -1, SQLITE_STATIC);
	if (g->letter)
		sqlite3_bind_text(to, 5, &g->letter, 1, SQLITE_TRANSIENT);
	else
		sqlite3_bind_null(to, 5);
	if (g->score.known)
		sqlite3_bind_double(to, 6, g->score.value);
	else
		sqlite3_bind_null(to, 6);
	sqlite3_bind_text(to, 7, g->formula, -1, SQLITE_TRANSIENT);
	return sqlite3_step(to);
}

static int fill_subject(sqlite3_stmt *from, sqlite3_stmt *to)
{
	struct grade grades[GRADE_NR];
	struct grade_input in = {0};
	int rc = SQLITE_DONE;

	read_row(from, &in);
	if (strcmp((const char *)sqlite3_column_text(from, 1), "job") != 0)
		in.touches_min = 0;
	grade_all(&in, grades);
	for (enum grade_kind k = 0; k < GRADE_NR && rc == SQLITE_DONE; k++)
		rc = insert(to, from, k, &grades[k]);
	return rc;
}

static int fill_from(sqlite3 *db, const char *query, struct errtext *err)
{
	sqlite3_stmt *from = NULL;
	sqlite3_stmt *to = NULL;
	int rc = sqlite3_prepare_v2(db, query, -1, &from, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(
			db, "INSERT INTO temp.analysis_grade VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
			-1, &to, NULL);
	if (rc == SQLITE_OK)
		while ((rc = sqlite3_step(from)) == SQLITE_ROW)
			if (fill_subject(from, to) != SQLITE_DONE)
				break;
	sqlite3_finalize(to);
	sqlite3_finalize(from);
	return rc == SQLITE_DONE ? 0 : fill_error(db, "grades", err);
}

int fill_grade(sqlite3 *db, struct errtext *err)
{
	int e = fill_from(db, of_jobs, err);

	return e ? e : fill_from(db, of_directories, err);
}
