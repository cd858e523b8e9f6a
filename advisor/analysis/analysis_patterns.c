/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/analysis/analysis_impl.h"

#include <errno.h>

#include "advisor/analysis/fill.h"
#include "cachemon/db/db_rows.h"

int analysis_load_patterns(sqlite3 *db, struct analysis *a, struct errtext *err)
{
	struct arena *arena = &a->rules.arena;
	struct rows n = rows_begin(db, arena, "SELECT count(*) FROM analysis_pattern", 0, NULL);
	size_t room = rows_next(&n) ? (size_t)rows_value(&n, 0) : 0;
	int e = rows_finish(&n);
	struct rows r =
		rows_begin(db, arena,
			   "SELECT kind = 'directory', subject_id, name, confidence, features FROM "
			   "analysis_pattern ORDER BY kind = 'directory', subject_id",
			   0, NULL);

	a->patterns = arena_alloc(arena, room * sizeof(*a->patterns));
	while (a->patterns && a->nr_patterns < room && rows_next(&r)) {
		struct analysis_pattern *p = &a->patterns[a->nr_patterns++];

		p->directory = rows_value(&r, 0) == 1;
		p->subject_id = rows_value(&r, 0);
		p->name = rows_bytes(&r).data;
		p->confidence = rows_f64(&r);
		p->features = rows_bytes(&r).data;
	}
	if (!e)
		e = rows_finish(&r);
	else
		sqlite3_finalize(r.stmt);
	return e && e != -ENOMEM ? fill_error(db, "patterns", err) : e;
}

static bool comes_before(const struct analysis_pattern *p, bool directory, int64_t subject_id)
{
	if (p->directory != directory)
		return !p->directory;
	return p->subject_id < subject_id;
}

const struct analysis_pattern *analysis_pattern_of(const struct analysis *a, bool directory,
						   int64_t subject_id)
{
	size_t low = 0;
	size_t high = a->nr_patterns;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (comes_before(&a->patterns[middle], directory, subject_id))
			low = middle + 1;
		else
			high = middle;
	}
	if (low < a->nr_patterns && a->patterns[low].directory == directory &&
	    a->patterns[low].subject_id == subject_id)
		return &a->patterns[low];
	return NULL;
}
