/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by the tests of the store: a temporary directory, a run, samples with known sums, and
 * queries through another connection.
 */
#ifndef TEST_STORE_UTIL_H
#define TEST_STORE_UTIL_H

#include <dirent.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachemon/account/ledger_rows.h"
#include "cachemon/store/store.h"

#define SECOND_NS 1000000000ULL

struct scratch {
	char dir[256];
	char db[300];
};

static inline struct scratch scratch_make(void)
{
	const char *tmp = getenv("TMPDIR");
	struct scratch s;

	snprintf(s.dir, sizeof(s.dir), "%s/store-test-XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(s.dir)) {
		perror(s.dir);
		abort();
	}
	snprintf(s.db, sizeof(s.db), "%s/run.db", s.dir);
	return s;
}

static inline size_t scratch_files(const struct scratch *s, bool remove)
{
	DIR *d = opendir(s->dir);
	const struct dirent *e;
	size_t nr = 0;

	if (!d)
		return 0;
	while ((e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		nr++;
		if (remove)
			unlinkat(dirfd(d), e->d_name, 0);
	}
	closedir(d);
	return nr;
}

static inline void scratch_remove(const struct scratch *s)
{
	scratch_files(s, true);
	rmdir(s->dir);
}

static inline struct store_run test_run(void)
{
	static const struct store_probe probes[] = {
		{"page_add", "tp_btf:mm_filemap_add_to_page_cache", "live", NULL},
		{"delay", NULL, "absent", "no such tracepoint"},
	};
	static const struct store_unmeasured unmeasured[] = {
		{"delayed_hits", "no hook sees it"},
	};
	struct store_run run = {
		.cachemon = "0.1.0",
		.host = "node1",
		.kernel = "6.18.0",
		.arch = "x86_64",
		.level = "full",
		.advice_mode = "effects",
		.started_ns = 1700000000ULL * SECOND_NS,
		.interval_ns = SECOND_NS,
		.page_size_bytes = 4096,
		.memory_bytes = 1ULL << 34,
		.map_bytes = 1 << 20,
		.jobs = {{"(others)", "machine"}, {"train", "command: python train.py"}},
		.probes = probes,
		.nr_probes = 2,
		.unmeasured = unmeasured,
		.nr_unmeasured = 1,
	};

	memset(&run.measured, 1, sizeof(run.measured));
	run.measured.facts[JOB_OTHERS] = false;
	for (int job = 0; job < JOB_NR; job++)
		run.measured.counter[job][C_delayed_hits] = false;
	return run;
}

enum { SAMPLE_FILES = 5 };

struct test_sample {
	struct sample s;
	struct sample_file files[SAMPLE_FILES];
	char paths[SAMPLE_FILES][64];
};

/* Interval n of a run: 5 files out of spread; each has 1 + n % 7 misses and ten times as many
 * lookups. */
static inline void test_sample(struct test_sample *t, uint64_t n, uint64_t spread)
{
	static const struct sample_filesystem filesystem = {.dev = 259 << 20 | 3,
							    .type = "xfs",
							    .mount = "/data",
							    .cover = "exact",
							    .why = "seen"};

	memset(t, 0, sizeof(*t));
	t->s.filesystems = &filesystem;
	t->s.nr_filesystems = 1;
	t->s.start_ns = n * SECOND_NS;
	t->s.duration_ns = SECOND_NS;
	t->s.read_on_ns = SECOND_NS;
	t->s.files = t->files;
	t->s.nr_files = SAMPLE_FILES;
	for (uint64_t i = 0; i < SAMPLE_FILES; i++) {
		uint64_t file = (n * 3 + i) % spread;

		snprintf(t->paths[i], sizeof(t->paths[i]), "/data/d%u/f%u",
			 (unsigned int)(file % 3), (unsigned int)file);
		t->files[i] = (struct sample_file){
			.key = {.ino = 100 + file, .dev = 259 << 20 | 3, .gen = 9},
			.job = JOB_WATCHED,
			.path = t->paths[i],
			.fstype = "xfs",
			.size_bytes = 1 << 20,
		};
		t->files[i].c[C_misses] = 1 + (int64_t)(n % 7);
		t->files[i].c[C_lookups] = 10 * t->files[i].c[C_misses];
		t->files[i].c[C_delayed_hits] = 3;
	}
	t->s.rest[JOB_WATCHED][C_misses] = 2;
	t->s.rest[JOB_OTHERS][C_misses] = 4;
	t->s.jobs[JOB_WATCHED] = (struct sample_job){
		.cpu_ns = (n + 1) * 1000,
		.rchar_bytes = (n + 1) * 4096,
		.processes = 3,
		.alive = 1,
	};
	t->s.cost = (struct sample_cost){.cpu_ns = n,
					 .probe_ns_per_lookup = 20.5,
					 .share_of_job_cpu = -1,
					 .advice_calls_ns = -1};
	t->s.losses.ring_drops = n;
	t->s.recursion_misses = n == 4 ? -1 : (int64_t)n;
}

/* Misses of the watched job after that many intervals. */
static inline int64_t test_misses(uint64_t intervals)
{
	int64_t sum = 0;

	for (uint64_t n = 0; n < intervals; n++)
		sum += SAMPLE_FILES * (1 + (int64_t)(n % 7)) + 2;
	return sum;
}

/* The first column of the first row; -1 for NULL, -2 on failure. */
static inline int64_t ask(const char *db, const char *sql)
{
	sqlite3 *c = NULL;
	sqlite3_stmt *stmt = NULL;
	int64_t value = -2;

	if (sqlite3_open_v2(db, &c, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
	    sqlite3_busy_timeout(c, 5000) == SQLITE_OK &&
	    sqlite3_prepare_v2(c, sql, -1, &stmt, NULL) == SQLITE_OK &&
	    sqlite3_step(stmt) == SQLITE_ROW)
		value = sqlite3_column_type(stmt, 0) == SQLITE_NULL ? -1
								    : sqlite3_column_int64(stmt, 0);
	if (value == -2)
		fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(c));
	sqlite3_finalize(stmt);
	sqlite3_close(c);
	return value;
}

static inline bool is_sound(const char *db)
{
	return ask(db, "SELECT integrity_check = 'ok' FROM pragma_integrity_check") == 1 &&
	       ask(db, "SELECT count(*) FROM pragma_foreign_key_check") == 0;
}

/* job = sum of its directories, for two counters that the samples change. */
static inline bool adds_up(const char *db)
{
	return ask(db, "SELECT count(*) FROM job JOIN (SELECT job_id, sum(misses) AS m, "
		       "sum(lookups) AS l FROM directory GROUP BY job_id) "
		       "ON job_id = id WHERE misses IS NOT m OR lookups IS NOT l") == 0;
}

#endif
