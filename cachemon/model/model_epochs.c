/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/model/model_epochs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/series/epochs.h"
#include "cachemon/model/model_rows.h"

/* Counters of the per-read hook are unknown for a stretch in which it was ever off. */
static void forget_estimates(const struct model *m, struct counts *c, int64_t read_on_ns,
			     int64_t duration_ns)
{
	c->sliced = m->run.sliced.known && m->run.sliced.value;
	for (enum counter i = 0; i < C_NR && read_on_ns < duration_ns; i++)
		if (counts_estimated(c, i))
			counts_forget(c, i);
}

/* ---- by marks ---- */

/* Sums up to a moment. */
struct moment {
	int64_t at_ns, read_on_ns;
	struct opt_i64 cpu_ns;
	struct counts total;
};

static void begin_epoch(struct model_epochs *e, const struct moment *m, struct bytes name)
{
	e->list[e->nr] = (struct model_epoch){
		.name = name, .start_ns = m->at_ns, .cpu_ns = m->cpu_ns, .counts = m->total};
}

/* The counts up to here, minus those at its start. If an epoch ended before its mark was
 * taken, its reads are in the counts of the one before. */
static void end_epoch(const struct model *m, struct model_epochs *e, const struct moment *start,
		      const struct moment *end)
{
	struct model_epoch *x = &e->list[e->nr];

	x->duration_ns = end->at_ns - x->start_ns;
	if (x->duration_ns <= 0 && !x->name.data)
		return;
	if (x->duration_ns <= 0) {
		*x = (struct model_epoch){.name = x->name, .start_ns = x->start_ns};
		e->nr++;
		e->nr_unseen++;
		return;
	}
	x->counts = end->total;
	counts_subtract(&x->counts, &start->total);
	x->cpu_ns = opt_sub(end->cpu_ns, start->cpu_ns);
	forget_estimates(m, &x->counts, end->read_on_ns - start->read_on_ns, x->duration_ns);
	e->nr++;
}

static int load_marks(sqlite3 *db, struct model *m, const struct model_job *job,
		      struct model_epochs *e, struct errtext *err)
{
	size_t room = rows_total(db, "SELECT count(*) FROM mark WHERE job_id = ?1", job->id);
	bool has_late = model_has(db, "mark", "late_ns");
	char *sql = model_rows_sql(has_late ? "SELECT at_ns, text, late_ns, read_on_ns, cpu_ns"
					    : "SELECT at_ns, text, NULL, read_on_ns, cpu_ns",
				   "FROM mark WHERE job_id = ?1 ORDER BY number");
	struct rows r = rows_begin(db, &m->arena, sql, 1, &job->id);
	struct moment was = {.cpu_ns = {0, job->cpu_ns.known}, .total = job->counts}, now;
	int ret;

	memset(was.total.c, 0, sizeof(was.total.c));
	e->margin_ns.known = true;
	e->marks = arena_alloc(&m->arena, room * sizeof(*e->marks));
	e->list = arena_alloc(&m->arena, (room + 1) * sizeof(*e->list));
	if (e->list)
		begin_epoch(e, &was, (struct bytes){0});
	while (e->marks && e->list && rows_next_of(&r, e->nr_marks, room)) {
		struct model_mark *mark = &e->marks[e->nr_marks++];

		now = (struct moment){.at_ns = rows_ns(&r)};
		mark->at_ns = now.at_ns;
		mark->text = rows_bytes(&r);
		mark->late_ns = rows_i64(&r);
		if (!mark->late_ns.known || mark->late_ns.value > e->margin_ns.value)
			e->margin_ns.value = mark->late_ns.value;
		e->margin_ns.known = e->margin_ns.known && mark->late_ns.known;
		now.read_on_ns = rows_ns(&r);
		now.cpu_ns = rows_i64(&r);
		model_rows_counts(&r, &now.total);
		end_epoch(m, e, &was, &now);
		begin_epoch(e, &now, mark->text);
		was = now;
	}
	ret = model_rows_end(&r, err);
	free(sql);
	if (ret || !e->list)
		return ret;
	now = (struct moment){.at_ns = m->run.duration_ns.value,
			      .read_on_ns = m->run.read_on_ns.value,
			      .cpu_ns = job->cpu_ns,
			      .total = job->counts};
	end_epoch(m, e, &was, &now);
	e->marked = e->nr_marks > 0;
	return 0;
}

/* ---- by passes over the files ---- */

/* The job's data by interval. */
struct passes {
	struct arena arena;
	struct epochs_row *rows;
	size_t nr_rows;
	struct model_epoch *intervals;
	size_t nr_intervals;
	size_t nr, first[EPOCHS_MAX]; /* result of epochs_find() */
};

/* The per-read hook was always on; else only pages added to the cache show passes. */
static bool reads_counted(const struct model *m, const struct model_job *job)
{
	bool sliced = m->run.sliced.known && m->run.sliced.value;

	return !sliced && job->counts.known[C_read_bytes] && job->counts.c[C_read_bytes] > 0;
}

static int load_intervals(sqlite3 *db, const struct model *m, const struct model_job *job,
			  struct passes *p, struct errtext *err)
{
	const int64_t params[] = {m->run.id, job->id};
	size_t room = rows_total(db, "SELECT count(*) FROM interval WHERE run_id = ?1", m->run.id);
	char *sql = model_rows_sql("SELECT start_ns, duration_ns, read_on_ns, cpu_ns",
				   "FROM interval i JOIN job_interval j ON j.interval_id = i.id "
				   "AND j.job_id = ?2 WHERE run_id = ?1 ORDER BY start_ns");
	struct rows r = rows_begin(db, &p->arena, sql, 2, params);
	int ret;

	p->intervals = arena_alloc(&p->arena, room * sizeof(*p->intervals));
	while (p->intervals && rows_next_of(&r, p->nr_intervals, room)) {
		struct model_epoch *x = &p->intervals[p->nr_intervals++];
		int64_t read_on_ns;

		x->start_ns = rows_ns(&r);
		x->duration_ns = rows_ns(&r);
		read_on_ns = rows_ns(&r);
		x->cpu_ns = rows_i64(&r);
		model_rows_counts(&r, &x->counts);
		forget_estimates(m, &x->counts, read_on_ns, x->duration_ns);
	}
	ret = model_rows_end(&r, err);
	free(sql);
	return ret;
}

static size_t interval_at(const struct passes *p, int64_t start_ns)
{
	size_t low = 0, high = p->nr_intervals;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (p->intervals[middle].start_ns < start_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int load_rows(sqlite3 *db, const struct model *m, const char *measure, struct passes *p,
		     struct errtext *err)
{
	static const char from[] =
		"FROM interval i JOIN pass_interval x ON x.interval_id = i.id WHERE i.run_id = ?1";
	char sql[256];
	struct rows r;
	size_t room;

	snprintf(sql, sizeof(sql), "SELECT count(*) %s", from);
	room = rows_total(db, sql, m->run.id);
	snprintf(sql, sizeof(sql), "SELECT start_ns, pass, %s %s ORDER BY start_ns", measure, from);
	r = rows_begin(db, &p->arena, sql, 1, &m->run.id);
	p->rows = arena_alloc(&p->arena, room * sizeof(*p->rows));
	while (p->rows && rows_next_of(&r, p->nr_rows, room)) {
		struct epochs_row *row = &p->rows[p->nr_rows++];

		row->interval = interval_at(p, rows_ns(&r));
		row->pass = (size_t)rows_value(&r, 0);
		row->amount = (double)rows_value(&r, 0);
		row->whole = (double)rows_value(&r, 0);
	}
	return model_rows_end(&r, err);
}

static void add_interval(struct model_epoch *x, const struct model_epoch *interval)
{
	x->duration_ns = interval->start_ns + interval->duration_ns - x->start_ns;
	x->cpu_ns = opt_add(x->cpu_ns, interval->cpu_ns);
	counts_add(&x->counts, &interval->counts);
}

/* Whole intervals. */
static void sum_epochs(struct model_epochs *e, const struct passes *p)
{
	e->margin_ns = (struct opt_i64){0, true};
	for (size_t i = 0; i < p->nr_intervals; i++) {
		const struct model_epoch *x = &p->intervals[i];
		bool begins = e->nr < p->nr && (!e->nr || i >= p->first[e->nr - 1]);

		if (begins)
			e->list[e->nr++] = *x;
		else
			add_interval(&e->list[e->nr - 1], x);
		if (begins && e->nr > 1 && x->duration_ns > e->margin_ns.value)
			e->margin_ns.value = x->duration_ns;
	}
}

static const char uncounted[] = "not every read was counted, and a file that stays in the page "
				"cache is not fetched again, so "
				"no record shows every pass; mark the epochs with cachemon mark";

static int find_passes(sqlite3 *db, struct model *m, const struct model_job *job, bool in_order,
		       struct model_epochs *e, struct passes *p, struct errtext *err)
{
	bool reads = reads_counted(m, job);
	int ret = load_intervals(db, m, job, p, err);

	if (!ret)
		ret = load_rows(db, m,
				reads ? "read_bytes, file_bytes" : "brought_pages, file_pages", p,
				err);
	if (ret)
		return ret;
	e->absent = epochs_find(p->rows, p->nr_rows, in_order, &p->nr, p->first);
	if (e->absent && !reads)
		e->absent = uncounted;
	if (e->absent)
		return 0;
	e->list = arena_alloc(&m->arena, p->nr * sizeof(*e->list));
	if (!e->list)
		return model_no_memory(err);
	sum_epochs(e, p);
	return 0;
}

static int load_dropped(sqlite3 *db, struct model *m, struct model_epochs *e, struct errtext *err)
{
	struct rows r = rows_begin(db, &m->arena, "SELECT marks_dropped FROM run WHERE id = ?1", 1,
				   &m->run.id);

	if (rows_next(&r))
		e->marks_dropped = rows_i64(&r);
	return model_rows_end(&r, err);
}

static const char older[] = "an older cachemon recorded the run";

int model_epochs_load(sqlite3 *db, struct model *m, const struct model_job *job,
		      struct model_epochs *e, struct errtext *err)
{
	struct passes p = {.nr_rows = 0};
	int ret;

	if (!model_has(db, "mark", NULL)) {
		e->absent = older;
		return 0;
	}
	ret = load_marks(db, m, job, e, err);
	if (!ret)
		ret = load_dropped(db, m, e, err);
	if (ret || e->marked)
		return ret;
	e->nr = 0;
	/* The database was migrated, but the run has the old data. */
	if (!e->marks_dropped.known && m->run.duration_ns.known) {
		e->absent = older;
		return 0;
	}
	ret = find_passes(db, m, job, false, e, &p, err);
	arena_free(&p.arena);
	return ret;
}

int model_epochs_in_order(sqlite3 *db, struct model *m, const struct model_job *job,
			  struct model_epochs *e, struct errtext *err)
{
	struct passes p = {.nr_rows = 0};
	int ret;

	if (!e->absent || e->absent == older)
		return 0;
	ret = find_passes(db, m, job, true, e, &p, err);
	arena_free(&p.arena);
	return ret;
}
