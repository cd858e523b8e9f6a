/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/series/look.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cachemon/db/db_rows.h"
#include "cachemon/figures/counters.h"
#include "advisor/series/history.h"

/* What a run is looked for among: the database may have thousands. */
enum { IDS_BACK = 1000 };

/* The same job over the same data reads as much, within a quarter; of a MiB all is alike. */
#define WORK_FACTOR 1.25
#define WORK_LEAST  1048576.0

/* Figures of sliced runs that are short by an unknown amount are none. */
#define COLUMNS                                                                                    \
	"r.id, r.state, r.page_size_bytes, coalesce(r.exit_status, 0), "                           \
	"substr(j.selector, 1, instr(j.selector, ':')), j.rchar_bytes, j.wall_ns / 1e9, "          \
	"j.cpu_ns / 1e9, iif(r.sliced AND r.cost_budget IS NULL, NULL, j.stall_ns / 1e9), "        \
	"iif(r.sliced, NULL, " SQL_hit_ratio("j.") "), j.misses, " SQL_prefetched_pages(           \
		"j.") ", j.evicted_unused, " SQL_evicted_pages("j.") ", j.refaults "

struct past_run {
	int64_t id, page_size, exit_status;
	struct bytes state, selector_kind;
	struct opt_f64 rchar_bytes;
	double figure[PAST_NR];
};

static struct past_run read_run(struct rows *r)
{
	struct past_run p = {.id = rows_value(r, 0)};

	p.state = rows_bytes(r);
	p.page_size = rows_value(r, 0);
	p.exit_status = rows_value(r, 0);
	p.selector_kind = rows_bytes(r);
	p.rchar_bytes = rows_f64(r);
	for (int f = 0; f < PAST_NR; f++) {
		struct opt_f64 v = rows_f64(r);

		p.figure[f] = v.known ? v.value : NAN;
	}
	return p;
}

static bool same_bytes(const struct bytes *a, const struct bytes *b)
{
	return a->len == b->len && (!a->len || !memcmp(a->data, b->data, a->len));
}

static bool comparable(const struct past_run *now, const struct past_run *p)
{
	double less = fmin(now->rchar_bytes.value, p->rchar_bytes.value);
	double more = fmax(now->rchar_bytes.value, p->rchar_bytes.value);

	return bytes_is(&p->state, "complete") &&
	       same_bytes(&now->selector_kind, &p->selector_kind) &&
	       p->page_size == now->page_size && p->exit_status == now->exit_status &&
	       now->rchar_bytes.known && p->rchar_bytes.known &&
	       more + WORK_LEAST <= WORK_FACTOR * (less + WORK_LEAST);
}

/* The comparable ones, the oldest first. */
struct past {
	struct past_run now, runs[HISTORY_RUNS_MAX];
	size_t nr;
	size_t of_name; /* runs with a job of this name */
};

static int load_past(sqlite3 *db, int64_t job_id, struct arena *scratch, struct past *p)
{
	struct rows r = rows_begin(db, scratch,
				   "SELECT " COLUMNS "FROM job j JOIN run r ON r.id = j.run_id "
				   "WHERE j.id = ?1",
				   1, &job_id);
	int64_t ids[3] = {job_id};
	int64_t last = 0;
	size_t from;
	int e;

	if (rows_next(&r))
		p->now = read_run(&r);
	e = rows_finish(&r);
	if (e)
		return e;
	ids[1] = p->now.id;
	ids[2] = p->now.id > IDS_BACK ? p->now.id - IDS_BACK : 0;
	r = rows_begin(db, scratch,
		       "SELECT " COLUMNS "FROM run r CROSS JOIN job j ON j.run_id = r.id "
		       "WHERE r.id < ?2 AND r.id >= ?3 AND j.slot <> 0 AND j.name = "
		       "(SELECT name FROM job WHERE id = ?1) ORDER BY r.id DESC, j.slot",
		       3, ids);
	from = HISTORY_RUNS_MAX;
	while (from && rows_next(&r)) {
		struct past_run run = read_run(&r);

		p->of_name += run.id != last;
		if (run.id != last && comparable(&p->now, &run))
			p->runs[--from] = run;
		last = run.id;
	}
	p->nr = HISTORY_RUNS_MAX - from;
	memmove(p->runs, p->runs + from, p->nr * sizeof(p->runs[0]));
	return rows_finish(&r);
}

static size_t known_of(const struct past *p, enum past_figure f, double *ret)
{
	size_t nr = 0;

	for (size_t i = 0; i < p->nr; i++)
		if (!isnan(p->runs[i].figure[f]))
			ret[nr++] = p->runs[i].figure[f];
	return isnan(p->now.figure[f]) ? 0 : nr;
}

static bool judge(const struct past *p, struct arena *arena, struct series_job *ret)
{
	double earlier[PAST_NR][HISTORY_RUNS_MAX];
	size_t nr[PAST_NR];
	size_t figures = 0;

	for (int f = 0; f < PAST_NR; f++) {
		nr[f] = known_of(p, f, earlier[f]);
		figures += nr[f] >= SERIES_RUNS_MIN;
	}
	ret->history = arena_alloc(arena, PAST_NR * sizeof(*ret->history));
	for (int f = 0; f < PAST_NR && ret->history; f++)
		if (history_judge(f, p->now.figure[f], earlier[f], nr[f], (double)figures,
				  &ret->history[ret->nr_history]))
			ret->nr_history++;
	return ret->history;
}

static const char *say(struct arena *arena, const struct past *p)
{
	char text[256];

	if (!p->of_name)
		snprintf(text, sizeof(text), "the database has no earlier run of it");
	else
		snprintf(text, sizeof(text),
			 "of %zu earlier %s of it %zu went to the end, the same way and over as "
			 "much "
			 "data; it takes %d",
			 p->of_name, p->of_name == 1 ? "run" : "runs", p->nr, SERIES_RUNS_MIN);
	return arena_bytes(arena, text, strlen(text)).data;
}

int series_look_back(sqlite3 *db, int64_t job_id, struct arena *arena, struct series_job *ret,
		     struct errtext *err)
{
	struct arena scratch = {0};
	struct past p = {.nr = 0};
	int e = load_past(db, job_id, &scratch, &p);

	if (e == -EIO)
		errtext_set(err, e, "cannot analyse the run (its history): %s", rows_error(db));
	if (!e && !bytes_is(&p.now.state, "complete"))
		ret->history_absent = "this run has no end: it is still going on, or was cut short";
	else if (!e && !p.now.rchar_bytes.known)
		ret->history_absent = "how much the job read is not known";
	else if (!e && p.nr < SERIES_RUNS_MIN)
		ret->history_absent = say(arena, &p);
	else if (!e)
		e = judge(&p, arena, ret) ? 0 : -ENOMEM;
	arena_free(&scratch);
	return e || !arena->failed ? e : -ENOMEM;
}
