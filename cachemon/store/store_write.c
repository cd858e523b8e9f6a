/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include "cachemon/store/store_impl.h"

/* The events since the last sample, whether it can be written or not. */
static void note_sample(struct store *st, const struct sample *s)
{
	st->duration_ns = s->start_ns + s->duration_ns;
	st->read_on_ns += s->read_on_ns;
	if (s->slices)
		st->sliced = true;
	st->cost = s->cost;
	st->losses = s->losses;
	st->recursion_misses = s->recursion_misses;
	st->marks_dropped = s->marks_dropped;
}

static void write_shed(struct store *st, const struct sample *s)
{
	for (size_t i = 0; i < s->nr_shed; i++) {
		const struct sample_shed *shed = &s->shed[i];
		struct binder b = bind_first(st, S_SHED);

		bind_int(&b, st->run_id);
		bind_text(&b, shed->detail);
		bind_text(&b, shed->reason);
		bind_int(&b, (int64_t)shed->from_ns);
		bind_known(&b, shed->to_ns, (int64_t)shed->to_ns);
		bind_run(&b);
	}
}

static void write_estimate(struct store *st, const char *name, const struct slice_estimate *e)
{
	struct binder b = bind_first(st, S_ESTIMATE);

	bind_int(&b, st->job_ids[JOB_WATCHED]);
	bind_text(&b, name);
	bind_real(&b, e->known ? e->value : -1);
	bind_real(&b, e->known ? e->low : -1);
	bind_real(&b, e->known ? e->high : -1);
	bind_text(&b, e->known ? NULL : e->reason);
	bind_run(&b);
}

static void write_estimates(struct store *st, const struct ledger *l, const struct slices *slices)
{
	static const struct {
		enum slice_figure figure;
		enum counter counter;
	} of[] = {
		{SLICE_READ_CALLS, C_read_calls},
		{SLICE_READ_BYTES, C_read_bytes},
		{SLICE_DELAYED_HITS, C_delayed_hits},
	};
	double misses = (double)ledger_job(l, JOB_WATCHED)->total.c[C_misses];
	struct slice_estimate e, ratio;

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		slices_estimate(slices, of[i].figure, &e);
		write_estimate(st, counter_name(of[i].counter), &e);
	}
	slices_lookups(slices, misses, &e);
	write_estimate(st, counter_name(C_lookups), &e);
	slices_hits(slices, misses, &e, &ratio);
	write_estimate(st, "hits", &e);
	write_estimate(st, "hit_ratio", &ratio);
}

static void write_gone(struct store *st)
{
	for (int c = 0; c < C_NR; c++) {
		struct store_unmeasured u = {counter_name((enum counter)c), st->gone[c]};

		if (st->gone[c])
			run_write_unmeasured(st, &u, 1);
	}
}

/* The detail that the run dropped, and the estimates from its slices. */
static void write_budget(struct store *st, const struct ledger *l, const struct sample *s)
{
	write_shed(st, s);
	write_gone(st);
	if (s->slices)
		write_estimates(st, l, s->slices);
}

static int write_interval(struct store *st, struct ledger *l, const struct sample *s,
			  struct errtext *err)
{
	store_start(st);
	if (st->rc == SQLITE_OK) {
		rows_write_sums(st, l, !s->file_sums_wait);
		rows_write_interval(st, l, s);
		if (s->references)
			references_write(st, s->references);
		traces_write(st);
		write_budget(st, l, s);
		rows_write_run(st, l, "open", NULL);
		rollup_step(st);
	}
	return store_finish(st, "write an interval to",
			    "The sums are kept and written with the next interval that succeeds.",
			    err);
}

static void note_before(struct store *st, struct ledger *l)
{
	st->ledger = l;
	st->references = NULL;
	st->before.rollup = st->rollup;
	st->before.measured = st->measured;
}

static void settle_ledger(struct store *st, bool written)
{
	traces_settle(st, written);
	if (written) {
		ledger_written(st->ledger);
		return;
	}
	ledger_unwritten(st->ledger);
	st->rollup = st->before.rollup;
}

static void settle_write(struct store *st, bool written)
{
	settle_ledger(st, written);
	if (!written) {
		st->intervals_lost++;
		return;
	}
	for (int slot = 0; slot < JOB_NR; slot++)
		st->waits_stored[slot] = st->measured.counter[slot][C_stalls];
	memset(st->gone, 0, sizeof(st->gone));
	if (st->references)
		reference_sample_stored(st->references);
}

int store_write(struct store *st, struct ledger *l, const struct sample *s, struct errtext *err)
{
	int ret;

	note_before(st, l);
	note_sample(st, s);
	st->references = s->references;
	ret = store_enter(st->file, err);
	if (!ret) {
		ret = write_interval(st, l, s, err);
		store_leave(st->file);
	}
	return store_settle(st, ret, settle_write);
}

void store_measure_no_more(struct store *st, struct ledger *l, const bool gone[C_NR],
			   const char *reason)
{
	for (int c = 0; c < C_NR; c++) {
		if (!gone[c])
			continue;
		st->gone[c] = reason;
		for (int slot = 0; slot < JOB_NR; slot++)
			st->measured.counter[slot][c] = false;
	}
	ledger_rewrite(l);
}

/* Of sqlite3_mprintf(); NULL: no memory. */
static void run_text(struct store *st, char *sql)
{
	if (st->rc == SQLITE_OK)
		st->rc = sql ? sqlite3_exec(st->file->db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
	sqlite3_free(sql);
}

/* Clears values that turned out to be unmeasured, but not the sums. */
static void withdraw_from(struct store *st, int slot, const bool *was, const char *table,
			  const char *where)
{
	const bool *is = st->measured.counter[slot];
	sqlite3_str *s = sqlite3_str_new(st->file->db);
	bool any = false;

	sqlite3_str_appendf(s, "UPDATE %s SET", table);
	for (int c = 0; c < C_NR; c++) {
		if (!was[c] || is[c])
			continue;
		sqlite3_str_appendf(s, "%s %s = NULL", any ? "," : "", counter_name(c));
		any = true;
	}
	sqlite3_str_appendf(s, " WHERE %s = %lld", where, (long long)st->job_ids[slot]);
	if (any)
		run_text(st, sqlite3_str_finish(s));
	else
		sqlite3_free(sqlite3_str_finish(s));
}

static void withdraw_facts(struct store *st, int64_t job)
{
	run_text(st, sqlite3_mprintf("UPDATE job_interval SET cpu_ns = NULL, rchar_bytes = NULL "
				     "WHERE job_id = %lld",
				     (long long)job));
	run_text(st, sqlite3_mprintf("UPDATE mark SET cpu_ns = NULL WHERE job_id = %lld",
				     (long long)job));
}

/* Without waits and reads nothing is known of a process, and it has no row. */
static void withdraw_processes(struct store *st, const struct store_measured *was)
{
	bool waits = st->measured.counter[JOB_WATCHED][C_stall_ns];
	bool reads = st->measured.facts[JOB_WATCHED];
	const char *how = waits	  ? "UPDATE process_interval SET rchar_bytes = NULL, "
				    "syscr_calls = NULL"
			  : reads ? "UPDATE process_interval SET stall_ns = NULL, stalls = NULL"
				  : "DELETE FROM process_interval";

	if (was->counter[JOB_WATCHED][C_stall_ns] != waits || was->facts[JOB_WATCHED] != reads)
		run_text(st, sqlite3_mprintf("%s WHERE interval_id IN "
					     "(SELECT id FROM interval WHERE run_id = %lld)",
					     how, (long long)st->run_id));
}

static void withdraw(struct store *st, const struct store_measured *was,
		     const struct store_end *end)
{
	run_text(st, sqlite3_mprintf("DELETE FROM unmeasured WHERE run_id = %lld",
				     (long long)st->run_id));
	run_write_unmeasured(st, end->unmeasured, end->nr_unmeasured);
	for (int slot = 0; slot < JOB_NR; slot++) {
		withdraw_from(st, slot, was->counter[slot], "job_interval", "job_id");
		withdraw_from(st, slot, was->counter[slot], "mark", "job_id");
		withdraw_from(st, slot, was->counter[slot], "file_interval",
			      "(SELECT job_id FROM file WHERE id = file_id)");
		withdraw_from(st, slot, was->counter[slot], "directory_interval",
			      "(SELECT job_id FROM directory WHERE id = directory_id)");
		if (was->facts[slot] && !st->measured.facts[slot])
			withdraw_facts(st, st->job_ids[slot]);
	}
	withdraw_processes(st, was);
}

static int end_run(struct store *st, struct ledger *l, const struct store_end *end,
		   struct errtext *err)
{
	store_start(st);
	if (st->rc == SQLITE_OK) {
		if (end->measured)
			withdraw(st, &st->before.measured, end);
		rows_write_sums(st, l, true);
		rollup_coarsen(st);
		traces_write(st);
		rows_write_run(st, l, "complete", end->exit_status);
	}
	return store_finish(st, "end the run in", NULL, err);
}

static void settle_end(struct store *st, bool written)
{
	settle_ledger(st, written);
	if (!written)
		st->measured = st->before.measured;
}

int store_end(struct store *st, struct ledger *l, const struct store_end *end, struct errtext *err)
{
	int ret;

	note_before(st, l);
	if (end->measured) {
		st->measured = *end->measured;
		ledger_rewrite(l);
	}
	ret = store_enter(st->file, err);
	if (!ret) {
		ret = end_run(st, l, end, err);
		store_leave(st->file);
	}
	return store_settle(st, ret, settle_end);
}
