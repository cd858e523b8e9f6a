/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/store/store_impl.h"

/*
 * The bounds of a run's growth. The sums (job, directory, file, advice) are bounded by the
 * ledger: 8192 files, 4096 directories and 4096 pieces of advice, less than 5 MB with names of
 * 100 bytes. The lengths of waits are sums too: a file has at most 24 rows of file_wait of 32
 * bytes, 6.3 MB for all files; they are deleted with their file.
 *
 * The timeline is bounded by its rows: an interval has at most 256 of file_interval. With every
 * counter in use such a row takes 170 bytes; when it is merged its numbers are larger and it takes
 * 310 (measured, tests/scale/database_growth.py):
 *   full     the last 15 minutes, at most 900 intervals:  900 x 256 x 170 = 39 MB, constant
 *            (shorter intervals at the beginning have fewer rows of files, as many a second)
 *   minute   from there to 24 hours, 60 an hour:           60 x 256 x 310 = 4.8 MB an hour
 *   quarter  after that, 4 an hour:                         4 x 256 x 310 = 0.32 MB an hour
 * It also has at most 64 rows of process_interval, of 54 bytes: 3.1 MB in the last 15 minutes, then
 * 0.21 MB an hour, and 0.01 MB an hour after a day. So the rows of the first day take at most
 * 174 MB (39 + 24 x 4.8 + 5 + 6.3 + 3.1 + 24 x 0.21) and those of each further day 8.0 MB. Rows of
 * directories, 64 an interval at most, add a quarter of that to the worst case; most jobs have a
 * few.
 *
 * Pages that merging frees are used again, but the file is larger than its rows while pages are not
 * full: with intervals of 10 s and no waits it grew to 119 MB in a day, then by 0.3 to 0.7 MB an
 * hour, 1.6 MB in the hour when merging to quarters begins. Intervals of 1 s were measured for the
 * first hour only: 42 MB. In addition, the -wal grows while one reader stays in one transaction.
 *
 * Sums of jobs are exact through every merge. A merged row keeps the files and directories with
 * the most misses and the processes that waited longest, as the row of an interval does.
 */
struct store_limits store_limits_default(void)
{
	const uint64_t second = 1000000000ULL;

	return (struct store_limits){
		.busy_ms = 2000,
		.full_ns = 900 * second,
		.full_rows = 900,
		.minute_ns = 60 * second,
		.keep_ns = 86400 * second,
		.quarter_ns = 900 * second,
		.file_rows = 256,
		.directory_rows = 64,
		.process_rows = 64,
		.merges = 4,
	};
}

struct candidate {
	int64_t id;
	uint64_t start_ns;
	uint64_t duration_ns;
};

/* false: there is no row, or the query failed. */
static bool find_next_interval(struct store *st, const struct tier *t,
			       struct candidate *ret_candidate)
{
	struct binder b = bind_first(st, S_MERGE_NEXT);
	bool found;
	int rc;

	bind_int(&b, st->run_id);
	bind_int(&b, (int64_t)t->next_ns);
	if (st->rc != SQLITE_OK)
		return false;
	rc = sqlite3_step(b.stmt);
	found = rc == SQLITE_ROW;
	if (found)
		*ret_candidate = (struct candidate){
			.id = sqlite3_column_int64(b.stmt, 0),
			.start_ns = (uint64_t)sqlite3_column_int64(b.stmt, 1),
			.duration_ns = (uint64_t)sqlite3_column_int64(b.stmt, 2),
		};
	else if (rc != SQLITE_DONE)
		st->rc = rc;
	sqlite3_reset(b.stmt);
	return found;
}

static void run_ids(struct store *st, enum statement s, const int64_t *ids, int nr)
{
	struct binder b = bind_first(st, s);

	for (int i = 0; i < nr; i++)
		bind_int(&b, ids[i]);
	bind_run(&b);
}

static void merge_interval(struct store *st, int64_t target, int64_t source)
{
	static const enum statement steps[] = {S_MERGE_INTERVAL,  S_MERGE_JOB,	   S_MERGE_FILE,
					       S_MERGE_DIRECTORY, S_MERGE_MACHINE, S_MERGE_PASS,
					       S_MERGE_PROCESS};
	const int64_t both[] = {target, source};

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		run_ids(st, steps[i], both, 2);
	run_ids(st, S_MERGE_DELETE, &source, 1);
}

/* Nothing more is merged into that row; 0: none. */
static void trim(struct store *st, int64_t target)
{
	const struct store_limits *limits = &st->file->limits;
	const int64_t files[] = {target, limits->file_rows};
	const int64_t directories[] = {target, limits->directory_rows};
	const int64_t processes[] = {target, limits->process_rows};

	if (!target)
		return;
	run_ids(st, S_MERGE_TRIM, files, 2);
	run_ids(st, S_MERGE_TRIM_DIRECTORIES, directories, 2);
	run_ids(st, S_MERGE_TRIM_PROCESSES, processes, 2);
}

/* Merges one row that ended before end_ns into the row of its bucket, or makes it the first of a
 * new bucket. false: no row. */
static bool tier_step(struct store *st, struct tier *t, uint64_t bucket_ns, uint64_t end_ns)
{
	struct candidate c = {0};

	if (!find_next_interval(st, t, &c) || c.start_ns + c.duration_ns > end_ns)
		return false;
	if (t->target && t->bucket == c.start_ns / bucket_ns) {
		merge_interval(st, t->target, c.id);
	} else {
		trim(st, t->target);
		t->target = c.id;
		t->bucket = c.start_ns / bucket_ns;
	}
	t->next_ns = c.start_ns + 1;
	return true;
}

static uint64_t time_before(uint64_t now_ns, uint64_t age_ns)
{
	return now_ns > age_ns ? now_ns - age_ns : 0;
}

/* Limits a timeline of short intervals by its number of rows. */
uint64_t rollup_full_ns(const struct store_limits *limits, uint64_t interval_ns)
{
	if (interval_ns < limits->full_ns / limits->full_rows)
		return limits->full_rows * interval_ns;
	return limits->full_ns;
}

void store_coarsen(struct store *st, uint64_t interval_ns)
{
	st->rollup.coarse_ns = interval_ns;
	st->fine_end_ns = st->duration_ns;
	st->full_ns = rollup_full_ns(&st->file->limits, interval_ns);
}

/* false: no rows left. */
static bool coarsen_step(struct store *st)
{
	const int64_t run[] = {(int64_t)st->rollup.coarse_ns, st->run_id};
	struct tier *t = &st->rollup.tiers[TIER_FINE];

	if (!t->next_ns)
		run_ids(st, S_RUN_INTERVAL, run, 2);
	return tier_step(st, t, st->rollup.coarse_ns, st->fine_end_ns);
}

void rollup_coarsen(struct store *st)
{
	while (st->rollup.coarse_ns && coarsen_step(st))
		;
}

void rollup_step(struct store *st)
{
	const struct store_limits *limits = &st->file->limits;
	uint64_t old_ns = time_before(st->duration_ns, limits->keep_ns);
	uint64_t young_ns = time_before(st->duration_ns, st->full_ns);
	uint64_t finished_ns;

	for (unsigned int i = 0; i < limits->merges && st->rollup.coarse_ns; i++)
		if (!coarsen_step(st))
			st->rollup.coarse_ns = 0;
	/* Each tier skips the rows that the previous one still fills. */
	if (st->rollup.coarse_ns &&
	    young_ns > st->rollup.tiers[TIER_FINE].bucket * st->rollup.coarse_ns)
		young_ns = st->rollup.tiers[TIER_FINE].bucket * st->rollup.coarse_ns;
	for (unsigned int i = 0; i < limits->merges; i++)
		if (!tier_step(st, &st->rollup.tiers[TIER_MINUTE], limits->minute_ns, young_ns))
			break;
	finished_ns = st->rollup.tiers[TIER_MINUTE].bucket * limits->minute_ns;
	tier_step(st, &st->rollup.tiers[TIER_QUARTER], limits->quarter_ns,
		  old_ns < finished_ns ? old_ns : finished_ns);
}

bool rollup_ended(struct store *st, struct tier *t, uint64_t bucket_ns, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		if (!tier_step(st, t, bucket_ns, UINT64_MAX)) {
			trim(st, t->target);
			return false;
		}
	return true;
}
