/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/analysis/analysis_impl.h"

#include <errno.h>

#include "advisor/analysis/fill.h"
#include "cachemon/db/db_rows.h"

/* name, grade, score and formula are the next columns. */
static void read_grade(struct rows *r, struct analysis_grade grades[GRADE_NR])
{
	struct bytes name = rows_bytes(r);
	struct analysis_grade g = {
		.letter = rows_bytes(r).data, .score = rows_f64(r), .formula = rows_bytes(r).data};

	for (int k = 0; k < GRADE_NR; k++)
		if (bytes_is(&name, grade_names[k]))
			grades[k] = g;
}

static int load_job(sqlite3 *db, struct arena *arena, struct analysis_job *job)
{
	struct rows r = rows_begin(
		db, arena, "SELECT name, grade, score, formula FROM v_grade WHERE job_id = ?1", 1,
		&job->id);

	while (rows_next(&r))
		read_grade(&r, job->grades);
	return rows_finish(&r);
}

static int load_directories(sqlite3 *db, struct arena *arena, struct analysis *a)
{
	struct rows n = rows_begin(
		db, arena, "SELECT count(DISTINCT directory_id) FROM v_directory_grade", 0, NULL);
	size_t room = rows_next(&n) ? (size_t)rows_value(&n, 0) : 0;
	int e = rows_finish(&n);
	struct rows r;

	if (e)
		return e;
	a->directories = arena_alloc(arena, room * sizeof(*a->directories));
	r = rows_begin(db, arena,
		       "SELECT directory_id, name, grade, score, formula FROM v_directory_grade "
		       "ORDER BY directory_id",
		       0, NULL);
	while (a->directories && rows_next(&r)) {
		int64_t id = rows_value(&r, 0);

		if (!a->nr_directories || a->directories[a->nr_directories - 1].id != id) {
			if (a->nr_directories == room)
				break;
			a->directories[a->nr_directories++].id = id;
		}
		read_grade(&r, a->directories[a->nr_directories - 1].grades);
	}
	return rows_finish(&r);
}

int analysis_load_grades(sqlite3 *db, struct analysis *a, struct errtext *err)
{
	struct arena *arena = &a->rules.arena;
	int e = 0;

	for (size_t i = 0; i < a->nr_jobs && !e; i++)
		e = load_job(db, arena, &a->jobs[i]);
	if (!e)
		e = load_directories(db, arena, a);
	return e && e != -ENOMEM ? fill_error(db, "grades", err) : e;
}

const struct analysis_directory *analysis_directory_of(const struct analysis *a, int64_t id)
{
	size_t low = 0;
	size_t high = a->nr_directories;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (a->directories[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < a->nr_directories && a->directories[low].id == id)
		return &a->directories[low];
	return NULL;
}
