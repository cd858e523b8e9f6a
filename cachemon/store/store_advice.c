/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/store/store_impl.h"

static bool brings(const struct ledger_advice *a)
{
	return a->kind == ADVICE_WILLNEED || a->kind == ADVICE_READAHEAD;
}

/* Fates of the pages it brought: all of them were followed, and are told apart from others'. */
static void bind_fates(struct store *st, struct binder *b, const struct ledger_advice *a)
{
	const struct advice_row *r = &a->row;
	const bool *measured = st->measured.counter[a->job];
	int64_t sum = (int64_t)(r->used + r->used_late + r->evicted_unused + r->untracked) +
		      r->resident_unused;
	bool known = brings(a) && !r->mixed && r->resident_unused >= 0 &&
		     sum == (int64_t)r->pages_brought && measured[C_untracked];

	bind_known(b, known && measured[C_used], (int64_t)r->used);
	bind_known(b, known && measured[C_used], (int64_t)r->used_late);
	bind_known(b, known && measured[C_used], (int64_t)r->evicted_unused);
	bind_known(b, known && measured[C_used], r->resident_unused);
	bind_known(b, known, (int64_t)r->untracked);
}

/* What the calls found, and what came again of what they dropped. */
static void bind_found(struct store *st, struct binder *b, const struct ledger_advice *a)
{
	const struct advice_row *r = &a->row;
	bool looked = r->calls > 0 && r->looked == r->calls;
	bool followed = a->kind == ADVICE_DONTNEED && r->dropped_own == r->pages_dropped &&
			st->measured.counter[a->job][C_refaults] && !st->losses.ghosts_dropped &&
			!st->losses.chunk_full;

	bind_known(b, looked, (int64_t)r->pages_cached);
	bind_known(b, looked && brings(a), (int64_t)r->pages_cached);
	bind_known(b, followed, (int64_t)r->dropped_refaults);
	bind_known(b, followed, (int64_t)r->dropped_refaults_others);
}

int advice_rows_write(struct store *st, struct ledger_advice *a)
{
	static const char *const kinds[] = {
		[ADVICE_WILLNEED] = "willneed",	    [ADVICE_DONTNEED] = "dontneed",
		[ADVICE_SEQUENTIAL] = "sequential", [ADVICE_RANDOM] = "random",
		[ADVICE_NORMAL] = "normal",	    [ADVICE_NOREUSE] = "noreuse",
		[ADVICE_READAHEAD] = "readahead",
	};
	static const char *const calls[] = {
		[CALL_FADVISE] = "fadvise",
		[CALL_MADVISE] = "madvise",
		[CALL_READAHEAD] = "readahead",
	};
	struct binder b = bind_first(st, S_ADVICE);
	/* Advice seen only by the state it left on the file: no call, no range was seen. */
	bool seen = a->row.calls > 0, ranged = seen && a->row.begin_bytes != ~0ULL;

	bind_mark(&b, &a->mark);
	bind_int(&b, st->job_ids[a->job]);
	bind_key(&b, &a->key);
	bind_bytes(&b, a->path);
	bind_text(&b, kinds[a->kind]);
	bind_text(&b, calls[a->call]);
	bind_known(&b, seen, (int64_t)a->row.calls);
	bind_known(&b, ranged, (int64_t)a->row.begin_bytes);
	bind_known(&b, ranged && a->row.end_bytes != ~0ULL,
		   (int64_t)(a->row.end_bytes - a->row.begin_bytes));
	bind_known(&b, ranged, (int64_t)a->row.pages_asked);
	bind_int(&b, (int64_t)a->row.pages_brought);
	bind_int(&b, (int64_t)a->row.pages_dropped);
	bind_fates(st, &b, a);
	bind_found(st, &b, a);
	return run_mark(st, &b, &a->mark);
}

/* Of pages that found no room or were forgotten nobody can tell whether they came again. */
int advice_rows_forget(struct store *st)
{
	struct binder b;

	if (!st->losses.ghosts_dropped && !st->losses.chunk_full)
		return SQLITE_OK;
	b = bind_first(st, S_ADVICE_FORGET);
	bind_int(&b, st->job_ids[JOB_WATCHED]);
	return bind_run(&b);
}
