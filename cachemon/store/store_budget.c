/* SPDX-License-Identifier: BSD-2-Clause */
/* What a run gave up to cost less, and the estimates of what it saw in slices alone. */
#include <string.h>

#include "cachemon/store/store_impl.h"

static int write_shed(struct store *st, const struct sample *s)
{
	int rc = SQLITE_OK;

	for (size_t i = 0; i < s->nr_shed && rc == SQLITE_OK; i++) {
		const struct sample_shed *shed = &s->shed[i];
		struct binder b = bind_first(st, S_SHED);

		bind_int(&b, st->run_id);
		bind_text(&b, shed->detail);
		bind_text(&b, shed->reason);
		bind_int(&b, (int64_t)shed->from_ns);
		bind_known(&b, shed->to_ns, (int64_t)shed->to_ns);
		rc = bind_run(&b);
	}
	return rc;
}

static int write_estimate(struct store *st, const char *name, const struct slice_estimate *e)
{
	struct binder b = bind_first(st, S_ESTIMATE);

	bind_int(&b, st->job_ids[JOB_WATCHED]);
	bind_text(&b, name);
	bind_real(&b, e->known ? e->value : -1);
	bind_real(&b, e->known ? e->low : -1);
	bind_real(&b, e->known ? e->high : -1);
	bind_text(&b, e->known ? NULL : e->reason);
	return bind_run(&b);
}

static int write_estimates(struct store *st, const struct ledger *l, const struct slices *slices)
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
	int rc = SQLITE_OK;

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]) && rc == SQLITE_OK; i++) {
		slices_estimate(slices, of[i].figure, &e);
		rc = write_estimate(st, counter_name(of[i].counter), &e);
	}
	slices_lookups(slices, misses, &e);
	if (rc == SQLITE_OK)
		rc = write_estimate(st, counter_name(C_lookups), &e);
	slices_hits(slices, misses, &e, &ratio);
	if (rc == SQLITE_OK)
		rc = write_estimate(st, "hits", &e);
	if (rc == SQLITE_OK)
		rc = write_estimate(st, "hit_ratio", &ratio);
	return rc;
}

static int write_gone(struct store *st)
{
	int rc = SQLITE_OK;

	for (int c = 0; c < C_NR && rc == SQLITE_OK; c++) {
		struct store_unmeasured u = {counter_name((enum counter)c), st->gone[c]};

		if (st->gone[c])
			rc = run_write_unmeasured(st, &u, 1);
	}
	return rc;
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

int budget_rows_write(struct store *st, const struct ledger *l, const struct sample *s)
{
	int rc = write_shed(st, s);

	if (rc == SQLITE_OK)
		rc = write_gone(st);
	if (rc == SQLITE_OK && s->slices)
		rc = write_estimates(st, l, s->slices);
	return rc;
}

void budget_rows_written(struct store *st)
{
	memset(st->gone, 0, sizeof(st->gone));
}
