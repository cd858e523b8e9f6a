/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * node_churn DB HOURS: the database and the metrics of a node whose jobs come and go, in time that
 * is counted instead of passing. Twenty jobs run at once, for 2 to 30 minutes each; one of 20 has
 * the name of an earlier job. After each interval of 10 s come the work of retention and a scrape.
 * Prints one line of JSON per hour; what must never happen ends it with a message.
 */
#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cachemon/account/ledger_rows.h"
#include "cachemon/base/clock.h"
#include "cachemon/base/errtext.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/metrics/metrics_jobs.h"
#include "cachemon/store/retention.h"
#include "cachemon/store/store.h"

enum { LIVE = 20, FILES = 64, HOUR_S = 3600, STEP_S = 10, RUNS_MAX = 1 << 16, KEPT = 200 };
#define SECOND_NS 1000000000ULL
#define START_NS  (1700000000ULL * SECOND_NS)

static const struct retention_policy policy = {
	.age_ns = 6 * HOUR_S * SECOND_NS,
	.size_bytes = 24 << 20,
	.minutes_ns = 900 * SECOND_NS,
	.quarters_ns = 2 * HOUR_S * SECOND_NS,
};

struct job {
	struct store *store; /* NULL: none */
	struct ledger *ledger;
	char name[16];
	uint64_t run, ends_s;
};

/* A series and its last value, as a scraper keeps them. A series that was gone begins at 0 again.
 */
struct kept {
	char series[128];
	double value;
	uint64_t second; /* of the last scrape that had it */
};

struct world {
	const char *path;
	struct store *anchor;
	struct retention *retention;
	struct metrics_jobs *metrics;
	struct metrics *past;
	struct job jobs[LIVE];
	uint64_t second, born;
	int64_t lookups[RUNS_MAX]; /* of each run, by its number in the database */
	double counted, scraped;   /* lookups of all jobs; increases of all series */
	size_t series;
	struct kept kept[KEPT];
};

static void __attribute__((noreturn, format(printf, 1, 2))) fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("node_churn: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	exit(1);
}

static uint64_t below(uint64_t n)
{
	static uint64_t state = 88172645463325252ULL;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % n;
}

static void begin_job(struct world *w, struct job *j)
{
	struct store_identity identity = {.kind = "slurm", .external_id = j->name, .uid = 1000};
	char selector[32];
	struct store_run run = {
		.cachemon = "0",
		.host = "host",
		.kernel = "6.18.0",
		.arch = "x86_64",
		.level = "full",
		.advice_mode = "effects",
		.started_ns = START_NS + w->second * SECOND_NS,
		.interval_ns = STEP_S * SECOND_NS,
		.page_size_bytes = 4096,
		.memory_bytes = 1ULL << 36,
		.map_bytes = 1 << 25,
		.jobs = {{"(others)", "machine"}, {j->name, selector, &identity}},
	};
	struct errtext err;

	memset(&run.measured, 1, sizeof(run.measured));
	j->run = ++w->born;
	snprintf(j->name, sizeof(j->name), "%llu",
		 (unsigned long long)(below(20) ? j->run : 1 + below(j->run)));
	snprintf(selector, sizeof(selector), "slurm:%s", j->name);
	j->ends_s = w->second + 120 + below(169) * STEP_S;
	/* At full hours no job runs, so that the memory of one can be compared with another's. */
	if (j->ends_s / HOUR_S > w->second / HOUR_S)
		j->ends_s = (w->second / HOUR_S + 1) * HOUR_S;
	if (ledger_new(NULL, &j->ledger))
		fail("out of memory");
	if (store_open_beside(w->anchor, &j->store, &err) || store_begin(j->store, &run, &err))
		fail("%s", err.text);
	if (store_run_id(j->store) >= RUNS_MAX)
		fail("too many runs");
}

static void make_sample(const struct world *w, const struct job *j, struct sample *s)
{
	static struct sample_file files[FILES];
	static char paths[FILES][64];

	memset(s, 0, sizeof(*s));
	for (uint64_t i = 0; i < FILES; i++) {
		uint64_t n = w->second / STEP_S + i;

		snprintf(paths[i], sizeof(paths[i]), "/data/job%llu/sample%08d",
			 (unsigned long long)(j->run % 100), (int)(n % 100));
		files[i] = (struct sample_file){
			.key = {.ino = 1000 + j->run % 100 * 100 + n % 100, .dev = 259 << 20 | 3},
			.job = JOB_WATCHED,
			.path = paths[i],
			.fstype = "ext4",
			.size_bytes = 1 << 20,
		};
		for (int c = 0; c < C_NR; c++)
			files[i].c[c] = (int64_t)(1 + below(1 << 14));
	}
	s->files = files;
	s->nr_files = FILES;
	s->start_ns = w->second * SECOND_NS;
	s->duration_ns = s->read_on_ns = STEP_S * SECOND_NS;
}

static void publish(struct world *w, const struct job *j, bool last)
{
	struct metrics_job sums = {.manager = "slurm", .jobid = j->name, .user = "alice"};

	sums.counts.c[C_lookups] = ledger_job(j->ledger, JOB_WATCHED)->total.c[C_lookups];
	sums.counts.known[C_lookups] = true;
	if (metrics_jobs_take(w->metrics, &sums, j->run, last, w->second * SECOND_NS))
		fail("out of memory");
}

static void sample_job(struct world *w, struct job *j)
{
	bool last = w->second >= j->ends_s;
	struct errtext err;
	struct sample s;
	int64_t before = ledger_job(j->ledger, JOB_WATCHED)->total.c[C_lookups], *sum;

	make_sample(w, j, &s);
	ledger_apply(j->ledger, &s);
	sum = &w->lookups[store_run_id(j->store)];
	*sum = ledger_job(j->ledger, JOB_WATCHED)->total.c[C_lookups];
	w->counted += (double)(*sum - before);
	publish(w, j, last);
	if (store_write(j->store, j->ledger, &s, &err))
		fail("%s", err.text);
	if (!last)
		return;
	if (store_end(j->store, j->ledger, &(struct store_end){0}, &err))
		fail("%s", err.text);
	store_close(j->store);
	ledger_free(j->ledger);
	*j = (struct job){0};
}

/* Its place, or that of a series which is gone. */
static struct kept *kept_of(struct world *w, const char *series)
{
	struct kept *gone = NULL;

	for (size_t i = 0; i < KEPT; i++) {
		struct kept *k = &w->kept[i];

		if (!*k->series || k->second + STEP_S < w->second)
			gone = k;
		else if (!strcmp(k->series, series))
			return k;
	}
	if (!gone || strlen(series) >= sizeof(gone->series))
		fail("too many series, or one is too long: %s", series);
	*gone = (struct kept){0};
	strcpy(gone->series, series);
	return gone;
}

static void add_increase(struct world *w, const char *series, double now)
{
	struct kept *k = kept_of(w, series);

	if (k->second == w->second)
		fail("%s is there twice", series);
	if (now < k->value)
		fail("%s falls from %.0f to %.0f", series, k->value, now);
	w->scraped += now - k->value;
	k->value = now;
	k->second = w->second;
}

static void scrape(struct world *w)
{
	static const char family[] = "cachemon_job_lookups_total{";
	struct metrics_node node = {.version = "1", .past = w->past};
	struct text_builder b;
	char *text;

	metrics_jobs_view(w->metrics, w->second * SECOND_NS, &node.jobs, &node.nr_jobs);
	if (!text_begin(&b) || metrics_write(&node, METRICS_TEXT, b.out))
		fail("out of memory");
	text = text_end(&b);
	w->series = 0;
	for (char *line = text, *end; line && *line; line = end + 1) {
		char *space;

		end = strchr(line, '\n');
		if (!end)
			fail("a line does not end");
		*end = 0;
		w->series += *line != '#';
		space = strrchr(line, ' ');
		if (!strncmp(line, family, strlen(family)) && space) {
			*space = 0;
			add_increase(w, line, strtod(space + 1, NULL));
		}
	}
	free(text);
}

static long long ask(const struct world *w, const char *sql)
{
	sqlite3_stmt *stmt = NULL;
	sqlite3 *db = NULL;
	long long value;

	if (sqlite3_open_v2(w->path, &db, SQLITE_OPEN_READONLY, NULL) ||
	    sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) || sqlite3_step(stmt) != SQLITE_ROW)
		fail("%s", sqlite3_errmsg(db));
	value = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return value;
}

/* Runs whose sums are not those of their samples. */
static long long wrong_runs(const struct world *w)
{
	sqlite3_stmt *stmt = NULL;
	sqlite3 *db = NULL;
	long long nr = 0;

	if (sqlite3_open_v2(w->path, &db, SQLITE_OPEN_READONLY, NULL) ||
	    sqlite3_prepare_v2(db, "SELECT run_id, lookups FROM job WHERE slot = 1", -1, &stmt,
			       NULL))
		fail("%s", sqlite3_errmsg(db));
	while (sqlite3_step(stmt) == SQLITE_ROW)
		nr += sqlite3_column_int64(stmt, 1) != w->lookups[sqlite3_column_int64(stmt, 0)];
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return nr;
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

static void print_hour(const struct world *w)
{
	sqlite3_int64 cache = 0, most = 0;
	struct mallinfo2 heap = mallinfo2();
	char old[160];

	sqlite3_status64(SQLITE_STATUS_PAGECACHE_OVERFLOW, &cache, &most, 0);
	snprintf(old, sizeof(old),
		 "SELECT count(*) FROM run WHERE state = 'complete' AND started_ns + duration_ns < "
		 "%llu",
		 (unsigned long long)(START_NS + w->second * SECOND_NS - policy.age_ns));
	printf("{\"heap_beside_bytes\": %lld, ", (long long)(heap.uordblks + heap.hblkhd) - cache);
	printf("\"hours\": %llu, \"born\": %llu, \"runs\": %lld, \"too_old\": %lld, "
	       "\"wrong_runs\": %lld, \"bytes\": %lld, \"log_bytes\": %lld, \"series\": %zu, "
	       "\"unscraped_lookups\": %.0f}\n",
	       (unsigned long long)w->second / HOUR_S, (unsigned long long)w->born,
	       ask(w, "SELECT count(*) FROM run"), ask(w, old), wrong_runs(w), size_of(w->path, ""),
	       size_of(w->path, "-wal"), w->series, w->counted - w->scraped);
	fflush(stdout);
}

static void pass(struct world *w)
{
	struct errtext err;

	for (int i = 0; i < LIVE; i++) {
		struct job *j = &w->jobs[i];

		if (!j->store && w->second % HOUR_S)
			begin_job(w, j);
		if (j->store)
			sample_job(w, j);
	}
	scrape(w);
	if (retention_work(w->retention, w->anchor, START_NS + w->second * SECOND_NS,
			   clock_now_ns() + SECOND_NS, &err))
		fail("%s", err.text);
}

int main(int argc, char **argv)
{
	static struct world w;
	const uint64_t hours = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;
	const struct store_config config = {.path = argc == 3 ? argv[1] : NULL};
	struct errtext err;

	if (!hours) {
		fprintf(stderr, "usage: node_churn DB HOURS\n");
		return 2;
	}
	w.path = argv[1];
	w.retention = retention_new(&policy);
	w.metrics = metrics_jobs_new(METRICS_PLACES);
	w.past = metrics_new();
	if (!w.retention || !w.metrics || !w.past)
		fail("out of memory");
	if (store_open(&config, &w.anchor, &err))
		fail("%s", err.text);
	for (w.second = STEP_S; w.second <= hours * HOUR_S; w.second += STEP_S) {
		pass(&w);
		if (w.second % HOUR_S == 0)
			print_hour(&w);
	}
	store_close(w.anchor);
	retention_free(w.retention);
	metrics_jobs_free(w.metrics);
	metrics_free(w.past);
	return 0;
}
