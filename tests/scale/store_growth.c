/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * store_growth DB HOURS INTERVAL_S: the hourly growth of the database of a long run, in the worst
 * case: in each interval more active files than get a row, with every counter changing as in a busy
 * job, files with waits of every length, and as many waiting processes as get a row. Time is that
 * of the samples, so that a day takes minutes. Prints one line of JSON per hour: size of the file
 * and of its log, size of the free pages, the largest size of SQLite's page cache, and other
 * allocated memory.
 */
#include <errno.h>
#include <malloc.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cachemon/account/ledger_rows.h"
#include "cachemon/base/errtext.h"
#include "cachemon/store/store.h"

enum { FILES = 20000, BUSY = 400, WAITING = 64, HOUR_S = 3600 };
#define SECOND_NS 1000000000ULL

static struct sample_file files[BUSY];
static struct sample_wait waits[BUSY];
static struct sample_process processes[WAITING];
static char paths[BUSY][112];
static uint64_t state = 88172645463325252ULL;

static void __attribute__((noreturn)) fail(const char *text)
{
	fprintf(stderr, "store_growth: %s\n", text);
	exit(1);
}

static uint64_t below(uint64_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % n;
}

/* Each interval has other processes, as in a job that starts one for each file. */
static void make_waits(struct sample *s, uint64_t interval)
{
	for (uint64_t i = 0; i < BUSY; i++) {
		waits[i].file = files[i].key;
		for (int w = 0; w < WAIT_BUCKETS; w++)
			waits[i].row.sleeps[w] = (uint32_t)(1 + below(1ULL << 14));
	}
	for (uint64_t i = 0; i < WAITING; i++) {
		processes[i].pid = (uint32_t)(1000 + (interval * WAITING + i) % 4000000);
		processes[i].row.stall_ns = 1 + below(1ULL << 32);
		processes[i].row.stalls = 1 + below(1ULL << 14);
		processes[i].row.rchar_bytes = 1 + below(1ULL << 32);
		processes[i].row.syscr_calls = 1 + below(1ULL << 14);
		snprintf(processes[i].row.comm, sizeof(processes[i].row.comm), "loader-%08d",
			 (int)processes[i].pid);
	}
	s->waits = waits;
	s->nr_waits = BUSY;
	s->processes = processes;
	s->nr_processes = WAITING;
}

/* The active files change, but not randomly: a dataset is read in order. */
static void make_sample(struct sample *s, uint64_t second, uint64_t interval_s)
{
	memset(s, 0, sizeof(*s));
	for (uint64_t i = 0; i < BUSY; i++) {
		uint64_t n = (second / interval_s * BUSY / 4 + i) % FILES;

		snprintf(paths[i], sizeof(paths[i]),
			 "/mnt/storage/projects/vision/dataset-2024/train/class%04d/"
			 "image-of-something-%012d.jpeg",
			 (int)(n % 1000), (int)n);
		files[i] = (struct sample_file){
			.key = {.ino = 1000000 + n, .dev = 259 << 20 | 3, .gen = 7},
			.job = JOB_WATCHED,
			.path = paths[i],
			.fstype = "ext4",
			.size_bytes = 1 << 20,
		};
		for (int c = 0; c < C_NR; c++)
			files[i].c[c] = (int64_t)(1 + below(c == C_read_bytes || c == C_stall_ns
								    ? 1ULL << 32
								    : 1ULL << 14));
	}
	s->files = files;
	s->nr_files = BUSY;
	make_waits(s, second / interval_s);
	s->start_ns = second * SECOND_NS;
	s->duration_ns = s->read_on_ns = interval_s * SECOND_NS;
	s->jobs[JOB_WATCHED] = (struct sample_job){.cpu_ns = second * SECOND_NS,
						   .rchar_bytes = second << 30,
						   .processes = 8,
						   .alive = 8};
}

static void begin(const char *path, uint64_t interval_s, struct store **st, struct errtext *err)
{
	const struct store_config config = {.path = path};
	struct store_run run = {
		.cachemon = "0",
		.host = "host",
		.kernel = "6.18.0",
		.arch = "x86_64",
		.level = "full",
		.advice_mode = "effects",
		.started_ns = 1700000000ULL * SECOND_NS,
		.interval_ns = interval_s * SECOND_NS,
		.page_size_bytes = 4096,
		.memory_bytes = 1ULL << 36,
		.map_bytes = 1 << 25,
		.jobs = {{"(others)", "machine"}, {"train", "command: train"}},
	};

	memset(&run.measured, 1, sizeof(run.measured));
	if (store_open(&config, st, err) || store_begin(*st, &run, err))
		fail(err->text);
}

static long long size_of(const char *path, const char *suffix)
{
	char name[4096];
	struct stat st;

	snprintf(name, sizeof(name), "%s%s", path, suffix);
	if (stat(name, &st))
		return errno == ENOENT ? 0 : -1;
	return st.st_size;
}

static long long ask(const char *path, const char *sql)
{
	sqlite3_stmt *stmt = NULL;
	sqlite3 *db = NULL;
	long long value;

	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) ||
	    sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) || sqlite3_step(stmt) != SQLITE_ROW)
		fail(sqlite3_errmsg(db));
	value = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return value;
}

static void tell(const char *path, uint64_t hours, const struct ledger *l)
{
	sqlite3_int64 cache = 0, most = 0;
	struct mallinfo2 heap = mallinfo2();

	sqlite3_status64(SQLITE_STATUS_PAGECACHE_OVERFLOW, &cache, &most, 0);
	printf("{\"page_cache_most_bytes\": %lld, \"heap_beside_bytes\": %lld, ", most,
	       (long long)(heap.uordblks + heap.hblkhd) - cache);
	printf("\"hours\": %llu, \"bytes\": %lld, \"log_bytes\": %lld, \"free_bytes\": %lld, "
	       "\"intervals\": %lld, \"lookups_missing\": %lld}\n",
	       (unsigned long long)hours, size_of(path, ""), size_of(path, "-wal"),
	       ask(path, "PRAGMA freelist_count") * ask(path, "PRAGMA page_size"),
	       ask(path, "SELECT count(*) FROM interval"),
	       (long long)ledger_job(l, JOB_WATCHED)->total.c[C_lookups] -
		       ask(path, "SELECT sum(lookups) FROM job_interval WHERE job_id = "
				 "(SELECT id FROM job WHERE slot = 1)"));
	fflush(stdout);
	/* This query uses page cache too; the next hour's maximum must be the store's. */
	sqlite3_status64(SQLITE_STATUS_PAGECACHE_OVERFLOW, &cache, &most, 1);
}

int main(int argc, char **argv)
{
	const uint64_t hours = argc == 4 ? strtoull(argv[2], NULL, 10) : 0;
	const uint64_t step = argc == 4 ? strtoull(argv[3], NULL, 10) : 0;
	struct errtext err;
	struct store *st;
	struct ledger *l;
	struct sample s;

	if (!hours || !step || HOUR_S % step) {
		fprintf(stderr, "usage: store_growth DB HOURS INTERVAL_S\n");
		return 2;
	}
	if (ledger_new(NULL, &l))
		fail("out of memory");
	begin(argv[1], step, &st, &err);
	for (uint64_t second = 0; second < hours * HOUR_S; second += step) {
		make_sample(&s, second, step);
		ledger_apply(l, &s);
		if (store_write(st, l, &s, &err))
			fail(err.text);
		if ((second + step) % HOUR_S == 0)
			tell(argv[1], (second + step) / HOUR_S, l);
	}
	store_close(st);
	ledger_free(l);
	return 0;
}
