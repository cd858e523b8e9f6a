/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A short run of the store is repeated, and each time another of its operations fails: every write,
 * sync, truncation, open, deletion, mapping and allocation. After each failure the database must be
 * sound, have everything that was reported as written, add up, and accept the next run.
 *
 * usage: store_vfs [LIMIT]   at most LIMIT points of a series, evenly spread; default: all
 */
#include <errno.h>
#include <stdarg.h>

#include "../unit/test_store_util.h"
#include "faults.h"

enum { INTERVALS = 14, SPREAD = 9 };

struct outcome {
	bool begun;
	bool ended;
	bool written[INTERVALS];
	int nr_written;
	int last; /* the last interval written; -1: none */
};

/* Small enough that the run folds files and merges intervals. */
static struct store_limits small_limits(void)
{
	struct store_limits limits = store_limits_default();

	limits.busy_ms = 0;
	limits.full_ns = 4 * SECOND_NS;
	limits.minute_ns = 3 * SECOND_NS;
	limits.keep_ns = 8 * SECOND_NS;
	limits.quarter_ns = 6 * SECOND_NS;
	limits.file_rows = 3;
	return limits;
}

static const struct ledger_limits few_rows = {
	.files = 6,
	.directories = 5,
	.path_bytes = 4096,
	.distinct = 1000,
	.advice = 4,
	.active = 4,
};

static void add_advice(struct test_sample *t, struct sample_advice *a)
{
	*a = (struct sample_advice){
		.file = t->files[0].key,
		.job = JOB_WATCHED,
		.kind = ADVICE_WILLNEED,
		.call = CALL_FADVISE,
		.row = {.calls = 1 + t->s.start_ns, .end_bytes = 4096},
	};
	t->s.advice = a;
	t->s.nr_advice = 1;
}

/* Another program that checkpoints the -wal in the middle of the run. */
static void checkpoint(const char *db)
{
	sqlite3 *c = NULL;

	if (sqlite3_open_v2(db, &c, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK)
		sqlite3_wal_checkpoint_v2(c, NULL, SQLITE_CHECKPOINT_RESTART, NULL, NULL);
	sqlite3_close(c);
}

static void write_all(struct store *st, struct ledger *l, const char *db, struct outcome *o)
{
	struct errtext err;
	struct sample_advice advice;
	struct test_sample t;

	for (int n = 0; n < INTERVALS; n++) {
		test_sample(&t, (uint64_t)n, SPREAD);
		add_advice(&t, &advice);
		ledger_apply(l, &t.s);
		if (!store_write(st, l, &t.s, &err)) {
			o->written[n] = true;
			o->nr_written++;
			o->last = n;
		}
		if (n == INTERVALS / 2)
			checkpoint(db);
	}
	/* The caller tries twice, like the program. */
	o->ended = !store_end(st, l, &(struct store_end){0}, &err) ||
		   !store_end(st, l, &(struct store_end){0}, &err);
}

static void run_once(const char *db, struct outcome *ret_outcome)
{
	const struct store_limits limits = small_limits();
	const struct store_config c = {.path = db, .limits = &limits};
	const struct store_run run = test_run();
	struct outcome o = {.last = -1};
	struct errtext err = {""};
	struct ledger *l = NULL;
	struct store *st = NULL;

	if (!ledger_new(&few_rows, &l) && !store_open(&c, &st, &err) &&
	    !store_begin(st, &run, &err)) {
		o.begun = true;
		write_all(st, l, db, &o);
	}
	store_close(st);
	ledger_free(l);
	*ret_outcome = o;
}

static bool complain(const struct fault *f, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "operation %d, kind %d, number %lu: ", f->op, f->kind, f->nth);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return false;
}

static int64_t ask_run(const char *db, const char *select)
{
	char sql[256];

	snprintf(sql, sizeof(sql), "%s run_id = (SELECT min(id) FROM run)", select);
	return ask(db, sql);
}

/* The sums equal those after some sample, at least the last one written. */
static bool sums_are_kept(const char *db, const struct outcome *o)
{
	int64_t misses = ask_run(db, "SELECT misses FROM job WHERE slot = 1 AND");
	int first = o->ended ? INTERVALS - 1 : o->last;

	if (first < 0 && misses == -1)
		return true; /* no interval: nothing is known */
	for (int n = first < 0 ? 0 : first; n < INTERVALS; n++)
		if (misses == test_misses((uint64_t)n + 1))
			return true;
	return false;
}

/* After the last interval, intervals that ended 4 s before it are merged into one row per 3 s. */
static bool is_rolled_up(const char *db)
{
	return ask_run(db, "SELECT count(*) - count(DISTINCT start_ns / 3000000000) FROM interval "
			   "WHERE start_ns + duration_ns <= 10000000000 AND") == 0;
}

static bool check_first(const char *db, const struct fault *f, const struct outcome *o)
{
	int64_t intervals;

	if (!o->begun && (access(db, F_OK) || ask(db, "PRAGMA user_version") == 0))
		return true;
	if (!is_sound(db))
		return complain(f, "the database is damaged");
	if (!adds_up(db))
		return complain(f, "a job is not the sum of its directories");
	if (!o->begun)
		return true;
	intervals = ask_run(db, "SELECT total(rolled) FROM interval WHERE");
	/* An interval whose commit failed late may be stored: nothing is lost. */
	if (intervals < o->nr_written || intervals > o->nr_written + 1)
		return complain(f, "%lld intervals, %d written", (long long)intervals,
				o->nr_written);
	if (o->nr_written < INTERVALS - 1 && f->kind != FAULT_DISK_FULL)
		return complain(f, "one failure lost %d intervals", INTERVALS - o->nr_written);
	if (!sums_are_kept(db, o))
		return complain(f, "the sums are not those of the last interval written");
	if (o->written[INTERVALS - 1] && !is_rolled_up(db))
		return complain(f, "old intervals are not merged");
	if (o->ended != (ask(db, "SELECT state = 'complete' FROM run ORDER BY id") == 1))
		return complain(f, "its state is not how it ended");
	if (o->ended &&
	    ask(db, "SELECT loss_intervals FROM run ORDER BY id") != INTERVALS - o->nr_written)
		return complain(f, "lost intervals are not counted");
	return true;
}

/* One point: a run with the fault, the checks, and the next run on the same database. */
static bool try_point(struct scratch *s, const struct fault *f)
{
	struct outcome o;
	bool fired;

	scratch_files(s, true);
	faults_arm(f);
	run_once(s->db, &o);
	fired = faults_fired();
	faults_disarm();
	if (!fired)
		return complain(f, "was never reached");
	if (!check_first(s->db, f, &o))
		return false;
	run_once(s->db, &o);
	if (!o.ended || o.nr_written != INTERVALS)
		return complain(f, "the next run failed");
	if (!is_sound(s->db) || !adds_up(s->db))
		return complain(f, "the database is damaged by the next run");
	return true;
}

struct series {
	const char *name;
	enum fault_op op;
	enum fault_kind kind;
};

static const struct series all_series[] = {
	{"write: EIO", FAULT_WRITE, FAULT_EIO},
	{"write: ENOSPC", FAULT_WRITE, FAULT_ENOSPC},
	{"write: short", FAULT_WRITE, FAULT_SHORT},
	{"write: disk stays full", FAULT_WRITE, FAULT_DISK_FULL},
	{"sync", FAULT_SYNC, FAULT_EIO},
	{"truncate", FAULT_TRUNCATE, FAULT_EIO},
	{"open", FAULT_OPEN, FAULT_EIO},
	{"delete", FAULT_DELETE, FAULT_EIO},
	{"shared memory", FAULT_SHM, FAULT_EIO},
	{"allocation in SQLite", FAULT_SQLITE_ALLOC, FAULT_EIO},
	{"allocation in the store", FAULT_OWN_ALLOC, FAULT_EIO},
};

/* Points 1..total, or limit of them: the first, the last and evenly in between. */
static bool try_series(struct scratch *s, const struct series *series, unsigned long total,
		       unsigned long limit, unsigned long *tested)
{
	unsigned long nr = limit && limit < total ? limit : total;

	if (!total) {
		fprintf(stderr, "%s: the run has no such operation\n", series->name);
		return false;
	}
	for (unsigned long i = 0; i < nr; i++) {
		const struct fault f = {
			.op = series->op,
			.kind = series->kind,
			.nth = nr > 1 ? 1 + i * (total - 1) / (nr - 1) : 1,
		};

		if (!try_point(s, &f))
			return false;
	}
	printf("%s: %lu of %lu points\n", series->name, nr, total);
	fflush(stdout);
	*tested += nr;
	return true;
}

int main(int argc, char **argv)
{
	unsigned long limit = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	unsigned long totals[FAULT_OP_NR];
	unsigned long tested = 0;
	struct scratch s;
	struct outcome o;
	bool ok;

	if (faults_install()) {
		fprintf(stderr, "SQLite does not take the shims\n");
		return 1;
	}
	s = scratch_make();
	faults_arm(&(struct fault){0});
	run_once(s.db, &o);
	faults_disarm();
	for (int op = 0; op < FAULT_OP_NR; op++)
		totals[op] = faults_count(op);
	ok = o.ended && o.nr_written == INTERVALS;
	for (size_t i = 0; i < sizeof(all_series) / sizeof(all_series[0]) && ok; i++)
		ok = try_series(&s, &all_series[i], totals[all_series[i].op], limit, &tested);
	printf("%s: %lu points tested\n", ok ? "ok" : "FAILED", tested);
	if (ok)
		scratch_remove(&s);
	return ok ? 0 : 1;
}
