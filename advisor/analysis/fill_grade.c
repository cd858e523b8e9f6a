/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/analysis/fill.h"

#include "cachemon/figures/counters.h"
#include "advisor/analysis/grade.h"

/* The refaults of a directory, at most the pages that it fetched. Pages that were written again
 * are refaults too, but nothing had to fetch them. */
#define READ_AGAIN "min(v.refaults, v.demand_pages + v.prefetched_pages)"
#define JOB_READ_AGAIN                                                                             \
	"coalesce((SELECT iif(count(*) = count(b.pages), sum(b.pages), NULL) "                     \
	"  FROM (SELECT " READ_AGAIN " AS pages FROM v_directory v "                               \
	"    WHERE v.job_id = j.job_id) b), v.refaults)"

/* Figures of v (a job or a directory) and of its job j. The order is that of read_figures(), after
 * the refaults. */
#define FIGURES                                                                                    \
	"v.lookups, v.misses, v.all_used, v.added_pages, v.accuracy, v.coverage, "                 \
	"v.timeliness, v.stall_ns, j.stall_ns, j.wall_ns, j.cpu_ns, "                              \
	"v.lookups + v.faults_major + v.faults_minor, j.sliced, "                                  \
	"v.faults_major, v.mapped_pages_upper_bound, j.processes, v.untracked "

/* The point of the curve at the present size or the next smaller one; else the smallest size. */
static const char of_jobs[] =
	"SELECT v.job_id, 'job', v.job_id, f.floor, "
	"coalesce((SELECT c.opt_miss_ratio FROM analysis_curve c WHERE c.job_id = v.job_id "
	"  AND c.cache_pages <= f.present_pages ORDER BY c.cache_pages DESC LIMIT 1), "
	" (SELECT c.opt_miss_ratio FROM analysis_curve c WHERE c.job_id = v.job_id "
	"  AND f.present_pages IS NOT NULL ORDER BY c.cache_pages LIMIT 1)), " JOB_READ_AGAIN
	", " FIGURES "FROM v_job v JOIN v_job j ON j.job_id = v.job_id "
	"LEFT JOIN analysis_curve_fact f ON f.job_id = v.job_id";

/* The curve describes the whole job; a directory has none. */
static const char of_directories[] =
	"SELECT v.job_id, 'directory', v.directory_id, NULL, NULL, " READ_AGAIN ", " FIGURES
	"FROM v_job j JOIN v_directory v ON v.job_id = j.job_id";

static struct opt_i64 to_integer(struct opt_f64 v)
{
	return (struct opt_i64){(int64_t)v.value, v.known};
}

static void read_figures(struct rows *r, struct grade_input *in)
{
	struct opt_f64 major, mapped, processes;

	in->floor = rows_f64(r);
	in->opt_miss = rows_f64(r);
	in->refaults = rows_f64(r);
	in->lookups = rows_f64(r);
	in->misses = rows_f64(r);
	in->all_used = rows_f64(r);
	in->added_pages = rows_f64(r);
	in->accuracy = rows_f64(r);
	in->coverage = rows_f64(r);
	in->timeliness = rows_f64(r);
	in->stall_ns = rows_f64(r);
	in->job_stall_ns = rows_f64(r);
	in->wall_ns = rows_f64(r);
	in->cpu_ns = rows_f64(r);
	in->touches = rows_f64(r);
	in->sliced = rows_f64(r).value > 0;
	major = rows_f64(r);
	mapped = rows_f64(r);
	processes = rows_f64(r);
	in->mapped = counters_mapped(to_integer(in->lookups), to_integer(major), to_integer(mapped),
				     to_integer(processes));
	in->fates_open = rows_f64(r).value > 0;
	in->touches_min = grade_touches_min(processes);
}

static bool grade_row(struct rows *r, struct fill_row *f)
{
	struct grade grades[GRADE_NR];
	struct grade_input in = {0};
	int64_t job_id = rows_value(r, 0);
	struct bytes kind = rows_bytes(r);
	int64_t subject_id = rows_value(r, 0);
	bool good = true;

	read_figures(r, &in);
	if (!bytes_is(&kind, "job"))
		in.touches_min = 0;
	grade_all(&in, grades);
	for (enum grade_kind k = 0; k < GRADE_NR && good; k++) {
		const struct grade *g = &grades[k];

		fill_integer(f, job_id);
		fill_text(f, kind.data);
		fill_integer(f, subject_id);
		fill_text(f, grade_names[k]);
		fill_text(f, (char[]){g->letter, '\0'});
		fill_ratio(f, g->score.known ? g->score.value : -1);
		fill_text(f, g->formula);
		good = fill_insert(f);
	}
	return good;
}

static int fill_from(sqlite3 *db, const char *query, struct errtext *err)
{
	struct fill_row f = fill_begin(
		db, "INSERT INTO temp.analysis_grade VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)");
	struct arena texts = {0};
	struct rows r;
	int e = f.rc == SQLITE_OK ? 0 : fill_error(db, "grades", err);

	if (e)
		return e;
	r = rows_begin(db, &texts, query, 0, NULL);
	while (!e && rows_next(&r))
		e = grade_row(&r, &f) ? 0 : fill_error(db, "grades", err);
	e = fill_finish(&r, e, "grades", err);
	fill_end(&f);
	arena_free(&texts);
	return e;
}

int fill_grade(sqlite3 *db, struct errtext *err)
{
	int e = fill_from(db, of_jobs, err);

	return e ? e : fill_from(db, of_directories, err);
}
