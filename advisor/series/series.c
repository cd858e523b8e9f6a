/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/series/series.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "cachemon/db/db_rows.h"
#include "advisor/series/history.h"
#include "advisor/series/look.h"

/* Ten times as many rows as a recorder keeps of a run. */
enum { ROWS_MAX = 100000 };

static double number_or_nan(struct rows *r)
{
	struct opt_i64 v = rows_i64(r);

	return v.known ? (double)v.value : NAN;
}

/* Versions without a budget saw waits only by the per-read hook. The machine's row names one
 * memory cgroup: its owner is known only if there is a single job. */
static int load_intervals(sqlite3 *db, struct arena *scratch, int64_t job_id, size_t room,
			  struct series_row *rows, size_t *ret_nr)
{
	struct rows r = rows_begin(
		db, scratch,
		"SELECT x.start_ns, x.duration_ns, x.read_on_ns < x.duration_ns, x.rolled > 1, "
		"x.cpu_ns, x.read_bytes, x.lookups, x.misses, x.prefetched_pages, "
		"x.evicted_unused, x.evicted_pages, x.refaults, "
		"iif(o.by_read_hook AND x.read_on_ns < x.duration_ns, NULL, x.stall_ns), "
		"m.available_bytes, "
		"iif(o.jobs = 1, m.job_usage_bytes, NULL), iif(o.jobs = 1, m.job_file_bytes, NULL) "
		"FROM (SELECT count(*) AS jobs, max(r.sliced AND r.cost_budget IS NULL) AS "
		"by_read_hook "
		" FROM analysis_scope a JOIN run r ON r.id = a.run_id "
		" JOIN job j ON j.run_id = r.id AND j.slot <> 0) o CROSS JOIN analysis_interval x "
		"LEFT JOIN machine_interval m ON m.interval_id = x.interval_id "
		"WHERE x.job_id = ?1 ORDER BY x.start_ns, x.interval_id",
		1, &job_id);
	size_t nr = 0;

	while (rows_next(&r) && nr < room) {
		struct series_row *w = &rows[nr];

		w->start_ns = rows_ns(&r);
		w->duration_ns = rows_ns(&r);
		w->partial = rows_value(&r, 0) != 0;
		w->rolled = rows_value(&r, 0) != 0;
		for (int i = 0; i < INPUT_NR; i++)
			w->v[i] = number_or_nan(&r);
		nr += w->duration_ns > 0;
	}
	*ret_nr = nr;
	return rows_finish(&r);
}

static const char *too_few(struct arena *arena, size_t nr)
{
	return arena_print(arena,
			   "only %zu %s had activity; at least %d are needed to find what is usual",
			   nr, nr == 1 ? "interval" : "intervals", SERIES_CELLS_MIN);
}

static int look_at_rows(struct series_row *rows, size_t nr, struct arena *scratch,
			struct arena *arena, struct series_job *ret)
{
	struct series_cells c = {0};
	int e = series_cells_make(rows, nr, scratch, &c);

	if (e)
		return e;
	ret->intervals = c.nr;
	ret->interval_ns = c.length_ns;
	ret->from_ns = c.left_out_ns;
	if (c.nr < SERIES_CELLS_MIN) {
		ret->absent = too_few(arena, c.nr);
		return ret->absent ? 0 : -ENOMEM;
	}
	return series_look(&c, arena, ret);
}

int series_load(sqlite3 *db, int64_t job_id, struct arena *arena, struct series_job *ret,
		struct errtext *err)
{
	struct series_row *rows = NULL;
	struct arena scratch = {0};
	struct series_job job = {.job_id = job_id};
	size_t room =
		rows_total(db, "SELECT count(*) FROM analysis_interval WHERE job_id = ?1", job_id);
	size_t nr = 0;
	int e;

	if (room > ROWS_MAX)
		room = ROWS_MAX;
	rows = calloc(room + 1, sizeof(*rows));
	e = rows ? load_intervals(db, &scratch, job_id, room, rows, &nr) : -ENOMEM;
	if (e == -EIO)
		errtext_set(err, e, "cannot analyse the run (its intervals): %s", rows_error(db));
	if (!e)
		e = look_at_rows(rows, nr, &scratch, arena, &job);
	free(rows);
	if (!e)
		e = history_load(db, job_id, arena, &job, err);
	arena_free(&scratch);
	if (!e)
		*ret = job;
	return e;
}
