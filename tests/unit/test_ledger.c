/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: account */
/*
 * The ledger against a naive reference that forgets nothing: every file of every job with all of
 * its counters. What the ledger folds must still add up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <malloc.h>
#include <cmocka.h>

#include "account/ledger_rows.h"

enum { REF_FILES = 400, BATCH = 60 };

struct ref_file {
	bool seen;
	char path[96]; /* "": not named */
	struct counters total;
	int64_t misses_read_on;
};

struct ref {
	uint64_t random;
	struct ref_file files[JOB_NR][REF_FILES];
	struct counters rest[JOB_NR];
	uint64_t distinct;
};

static uint64_t next_random(struct ref *r)
{
	r->random ^= r->random << 13;
	r->random ^= r->random >> 7;
	r->random ^= r->random << 17;
	return r->random;
}

static uint64_t below(struct ref *r, uint64_t n)
{
	return next_random(r) % n;
}

static struct file_key key_of(uint64_t i)
{
	return (struct file_key){.ino = 1000 + i, .dev = 8 << 20 | 1, .gen = (uint32_t)i / 7};
}

static void random_path(struct ref *r, uint64_t file, char *path, size_t size)
{
	static const char *const tops[] = {"", "/a", "/a/b", "/a/b/c", "/data", "/data/train"};
	uint64_t sub = below(r, 12);

	if (sub < 6)
		snprintf(path, size, "%s/f%d", tops[sub], (int)file);
	else
		snprintf(path, size, "%s/d%d/f%d", tops[sub - 6], (int)below(r, 9), (int)file);
}

static void random_deltas(struct ref *r, int64_t *c)
{
	memset(c, 0, C_NR * sizeof(*c));
	for (int i = 0; i < 6; i++)
		c[below(r, C_NR)] += (int64_t)below(r, 50);
	c[C_misses] += (int64_t)below(r, 20);
	c[C_resident_unused] = (int64_t)below(r, 9) - 4;
}

/* A sample of random files, some new, some renamed or named late; the reference learns it too. */
static void make_sample(struct ref *r, bool renames, struct sample *s, struct sample_file *files)
{
	memset(s, 0, sizeof(*s));
	s->files = files;
	s->nr_files = below(r, BATCH);
	for (size_t i = 0; i < s->nr_files; i++) {
		uint64_t n = below(r, REF_FILES);
		uint32_t job = below(r, 4) ? JOB_WATCHED : JOB_OTHERS;
		struct ref_file *f = &r->files[job][n];

		bool named = !renames || below(r, 3);

		if (named && (!f->path[0] || (renames && !below(r, 10))))
			random_path(r, n, f->path, sizeof(f->path));
		files[i] = (struct sample_file){
			.key = key_of(n),
			.job = job,
			.path = named ? f->path : NULL,
			.fstype = "ext4",
			.size_bytes = n << 12,
			.misses_read_on = (int64_t)below(r, 10),
		};
		random_deltas(r, files[i].c);
		if (!f->seen && job != JOB_OTHERS)
			r->distinct++;
		f->seen = true;
		counters_add(&f->total, files[i].c);
		f->misses_read_on += files[i].misses_read_on;
	}
	for (int job = 0; job < JOB_NR; job++) {
		if (!below(r, 3))
			random_deltas(r, s->rest[job]);
		counters_add(&r->rest[job], s->rest[job]);
	}
}

static void expect_equal(const struct counters *a, const struct counters *b)
{
	for (int i = 0; i < C_NR; i++)
		if (a->c[i] != b->c[i])
			fail_msg("%s: %lld, not %lld", counter_name(i), (long long)a->c[i],
				 (long long)b->c[i]);
}

static void check_totals(const struct ledger *l, const struct ref *r)
{
	for (uint32_t job = 0; job < JOB_NR; job++) {
		struct counters want = r->rest[job];
		struct counters sum = {0};
		int64_t misses_read_on = 0;
		int64_t want_read_on = 0;

		for (int i = 0; i < REF_FILES; i++) {
			counters_add(&want, r->files[job][i].total.c);
			want_read_on += r->files[job][i].misses_read_on;
		}
		for (size_t i = 0; i < ledger_nr_directories(l); i++) {
			const struct ledger_directory *d = ledger_directory(l, i);

			if (d->job != job)
				continue;
			counters_add(&sum, d->total.c);
			misses_read_on += d->misses_read_on;
		}
		expect_equal(&ledger_job(l, job)->total, &want);
		expect_equal(&sum, &want);
		assert_int_equal(misses_read_on, want_read_on);
		assert_int_equal(ledger_job(l, job)->misses_read_on, want_read_on);
	}
}

static void check_files(const struct ledger *l, const struct ref *r)
{
	for (size_t i = 0; i < ledger_nr_files(l); i++) {
		const struct ledger_file *f = ledger_file(l, i);
		const struct ref_file *ref = &r->files[f->job][f->key.ino - 1000];

		assert_int_equal(f->job, JOB_WATCHED);
		if (f->path)
			assert_true(f->directory->subdirectories ||
				    !strncmp(f->path, f->directory->path, f->directory->path_len));
		if (!f->folded_before) {
			expect_equal(&f->total, &ref->total);
			assert_int_equal(f->misses_read_on, ref->misses_read_on);
		} else {
			for (int c = 0; c < C_NR; c++)
				if (c != C_resident_unused)
					assert_in_range(f->total.c[c], 0, ref->total.c[c]);
		}
	}
}

static void check_distinct(const struct ledger *l, const struct ref *r)
{
	uint64_t files = 0;
	bool estimated;

	for (size_t i = 0; i < ledger_nr_directories(l); i++)
		files += ledger_directory(l, i)->files;
	assert_int_equal(ledger_distinct(l, &estimated), files);
	if (!estimated)
		assert_int_equal(files, r->distinct);
	else
		assert_true(files < r->distinct);
}

/* Where the counts of that path belong: its directory, or the nearest one above with a row. */
static struct ledger_directory *nearest(const struct ledger *l, uint32_t job, const char *path)
{
	char name[96];
	char *slash;

	snprintf(name, sizeof(name), "%s", path);
	while ((slash = strrchr(name, '/'))) {
		*slash = '\0';
		for (size_t i = 0; i < ledger_nr_directories(l); i++) {
			struct ledger_directory *d = ledger_directory(l, i);

			if (d->job == job && d->path && !strcmp(d->path, *name ? name : "/"))
				return d;
		}
	}
	return NULL;
}

/* Nothing forgotten, or nothing renamed: then each directory is known to the last page. */
static void check_directories(const struct ledger *l, const struct ref *r)
{
	for (size_t i = 0; i < ledger_nr_directories(l); i++) {
		const struct ledger_directory *d = ledger_directory(l, i);
		struct counters want = {0};

		if (d->job != JOB_WATCHED || !d->path)
			continue;
		for (int n = 0; n < REF_FILES; n++)
			if (r->files[d->job][n].path[0] &&
			    nearest(l, d->job, r->files[d->job][n].path) == d)
				counters_add(&want, r->files[d->job][n].total.c);
		expect_equal(&d->total, &want);
	}
}

static void run_property(const struct ledger_limits *limits, bool renames, bool exact,
			 uint64_t seed)
{
	struct ref *r = calloc(1, sizeof(*r));
	struct sample_file files[BATCH];
	struct ledger *l;
	struct sample s;

	assert_non_null(r);
	r->random = seed * 0x9e3779b97f4a7c15ULL + 1;
	assert_int_equal(ledger_new(limits, &l), 0);
	for (int i = 0; i < 120; i++) {
		make_sample(r, renames, &s, files);
		ledger_apply(l, &s);
		assert_true(ledger_nr_files(l) <= limits->files);
		assert_true(ledger_nr_active(l) <= limits->active);
		if (i % 8 && i != 119)
			continue;
		check_totals(l, r);
		check_files(l, r);
		check_distinct(l, r);
		if (exact)
			check_directories(l, r);
	}
	ledger_free(l);
	free(r);
}

static const struct ledger_limits roomy = {
	.files = 1000,
	.directories = 1000,
	.path_bytes = 1 << 20,
	.distinct = 5000,
	.advice = 100,
	.active = 50,
};

static void test_exact_when_roomy(void **state)
{
	for (uint64_t seed = 1; seed <= 12; seed++)
		run_property(&roomy, true, true, seed);
}

static void test_folding_files(void **state)
{
	struct ledger_limits limits = roomy;

	for (uint64_t seed = 1; seed <= 12; seed++) {
		limits.files = seed * 6;
		run_property(&limits, false, true, seed);
		run_property(&limits, true, false, seed);
	}
	limits.files = 0;
	run_property(&limits, true, false, 77);
	limits.files = 1;
	run_property(&limits, true, false, 78);
}

static void test_folding_directories(void **state)
{
	struct ledger_limits limits = roomy;

	for (uint64_t seed = 1; seed <= 12; seed++) {
		limits.directories = seed * 2;
		limits.files = 1000;
		run_property(&limits, false, true, seed);
		limits.files = 40;
		run_property(&limits, false, true, seed);
		run_property(&limits, true, false, seed);
	}
	limits = roomy;
	limits.path_bytes = 200;
	run_property(&limits, true, false, 5);
}

static void test_full_set(void **state)
{
	struct ledger_limits limits = roomy;

	limits.distinct = 100;
	for (uint64_t seed = 1; seed <= 6; seed++) {
		limits.files = seed * 30;
		run_property(&limits, true, false, seed);
	}
}

static void test_size_stays_known(void **state)
{
	struct sample_file f = {.key = key_of(1), .job = JOB_WATCHED};
	struct sample s = {.files = &f, .nr_files = 1};
	struct ledger *l;

	assert_int_equal(ledger_new(&roomy, &l), 0);
	f.size_bytes = SAMPLE_SIZE_UNKNOWN;
	ledger_apply(l, &s);
	assert_true(ledger_file(l, 0)->size_bytes == SAMPLE_SIZE_UNKNOWN);
	f.size_bytes = 10;
	ledger_apply(l, &s);
	f.size_bytes = SAMPLE_SIZE_UNKNOWN;
	ledger_apply(l, &s);
	assert_int_equal(ledger_file(l, 0)->size_bytes, 10);
	ledger_free(l);
}

static void apply_one(struct ledger *l, uint64_t n, const char *path, int64_t misses)
{
	struct sample_file f = {.key = key_of(n), .job = JOB_WATCHED, .path = path};
	struct sample s = {.files = &f, .nr_files = 1};

	f.c[C_misses] = misses;
	ledger_apply(l, &s);
}

static struct ledger_directory *directory(const struct ledger *l, const char *path)
{
	for (size_t i = 0; i < ledger_nr_directories(l); i++) {
		struct ledger_directory *d = ledger_directory(l, i);

		if (d->job == JOB_WATCHED && !strcmp(d->path ? d->path : "", path ? path : ""))
			return d;
	}
	return NULL;
}

static void test_late_name_and_rename(void **state)
{
	struct ledger *l;

	assert_int_equal(ledger_new(&roomy, &l), 0);
	apply_one(l, 1, NULL, 5);
	assert_int_equal(directory(l, NULL)->total.c[C_misses], 5);
	assert_int_equal(directory(l, NULL)->files, 1);
	apply_one(l, 1, "/a/x", 2);
	assert_int_equal(directory(l, NULL)->total.c[C_misses], 0);
	assert_int_equal(directory(l, NULL)->files, 0);
	assert_int_equal(directory(l, "/a")->total.c[C_misses], 7);
	apply_one(l, 1, "/b/y", 1);
	assert_int_equal(directory(l, "/a")->total.c[C_misses], 0);
	assert_int_equal(directory(l, "/b")->total.c[C_misses], 8);
	assert_int_equal(directory(l, "/b")->files, 1);
	/* The name stays when a sample has none. */
	apply_one(l, 1, NULL, 1);
	assert_string_equal(ledger_file(l, 0)->path, "/b/y");
	assert_int_equal(directory(l, "/b")->total.c[C_misses], 9);
	/* In the root, and a name that is no path. */
	apply_one(l, 2, "/z", 3);
	assert_int_equal(directory(l, "/")->total.c[C_misses], 3);
	apply_one(l, 3, "memfd:x", 4);
	assert_int_equal(directory(l, NULL)->total.c[C_misses], 4);
	ledger_free(l);
}

/* A folded file that was counted as nameless is counted where its name says once it has one. */
static void test_named_after_folding(void **state)
{
	struct ledger_limits limits = roomy;
	struct ledger *l;

	limits.files = 1;
	assert_int_equal(ledger_new(&limits, &l), 0);
	apply_one(l, 1, "/big", 1000);
	apply_one(l, 2, NULL, 3);
	assert_int_equal(ledger_nr_files(l), 1);
	assert_int_equal(directory(l, NULL)->files, 1);
	apply_one(l, 2, "/d/f", 4);
	assert_int_equal(directory(l, NULL)->files, 0);
	assert_int_equal(directory(l, "/d")->files, 1);
	assert_int_equal(directory(l, NULL)->total.c[C_misses], 3);
	assert_int_equal(directory(l, "/d")->total.c[C_misses], 4);
	ledger_free(l);
}

/* A file that starts late and small overtakes, although each of its intervals is below the rest. */
static void test_late_heavy_file_is_kept(void **state)
{
	struct ledger_limits limits = roomy;
	const struct ledger_file *found = NULL;
	struct ledger *l;

	limits.files = 50;
	assert_int_equal(ledger_new(&limits, &l), 0);
	for (uint64_t n = 0; n < 200; n++)
		apply_one(l, n, "/d/small", 50);
	for (int i = 0; i < 100; i++)
		apply_one(l, 300, "/d/late", 10);
	for (size_t i = 0; i < ledger_nr_files(l); i++)
		if (ledger_file(l, i)->key.ino == 1300)
			found = ledger_file(l, i);
	assert_non_null(found);
	assert_true(found->folded_before);
	assert_in_range(found->total.c[C_misses] + found->before, 600, 1600);
	assert_int_equal(directory(l, "/d")->total.c[C_misses], 200 * 50 + 1000);
	ledger_free(l);
}

static void test_marks(void **state)
{
	struct ledger_limits limits = roomy;
	size_t nr;
	struct ledger *l;

	limits.files = 1;
	assert_int_equal(ledger_new(&limits, &l), 0);
	apply_one(l, 1, "/a/x", 5);
	assert_true(ledger_file(l, 0)->mark.dirty);
	assert_true(directory(l, "/a")->mark.dirty);
	assert_false(directory(l, "/")->mark.dirty);
	/* An id given in a transaction that failed is void, and the row is still to be written. */
	ledger_file(l, 0)->mark.db_id = 7;
	ledger_file(l, 0)->mark.fresh = true;
	ledger_unwritten(l);
	assert_int_equal(ledger_file(l, 0)->mark.db_id, 0);
	assert_true(ledger_file(l, 0)->mark.dirty);
	ledger_file(l, 0)->mark.db_id = 8;
	ledger_file(l, 0)->mark.fresh = true;
	ledger_written(l);
	assert_false(ledger_file(l, 0)->mark.dirty);
	assert_int_equal(ledger_file(l, 0)->mark.db_id, 8);
	ledger_unwritten(l);
	assert_int_equal(ledger_file(l, 0)->mark.db_id, 8);
	/* Folded: its row has to go, and only then. */
	ledger_dead(l, &nr);
	assert_int_equal(nr, 0);
	apply_one(l, 2, "/a/y", 6);
	assert_int_equal(ledger_dead(l, &nr)[0], 8);
	assert_int_equal(nr, 1);
	ledger_unwritten(l);
	ledger_dead(l, &nr);
	assert_int_equal(nr, 1);
	ledger_written(l);
	ledger_dead(l, &nr);
	assert_int_equal(nr, 0);
	ledger_rewrite(l);
	assert_false(ledger_file(l, 0)->mark.dirty);
	ledger_file(l, 0)->mark.db_id = 9;
	ledger_rewrite(l);
	assert_true(ledger_file(l, 0)->mark.dirty);
	ledger_free(l);
}

static void test_active_files(void **state)
{
	struct ledger_limits limits = roomy;
	struct sample_file files[4] = {0};
	struct sample s = {.files = files, .nr_files = 4};
	struct ledger *l;

	limits.active = 2;
	assert_int_equal(ledger_new(&limits, &l), 0);
	for (uint64_t i = 0; i < 4; i++) {
		files[i].key = key_of(i == 3 ? 0 : i);
		files[i].job = JOB_WATCHED;
		files[i].c[C_misses] = 10 + (int64_t)i;
	}
	/* The first file is there twice: 10 + 13 misses. */
	ledger_apply(l, &s);
	assert_int_equal(ledger_nr_active(l), 2);
	assert_int_equal(ledger_active(l, 0)->last.c[C_misses], 23);
	assert_int_equal(ledger_active(l, 1)->last.c[C_misses], 12);
	s.nr_files = 2;
	ledger_apply(l, &s);
	assert_int_equal(ledger_active(l, 0)->last.c[C_misses], 11);
	assert_int_equal(ledger_active(l, 1)->last.c[C_misses], 10);
	assert_int_equal(ledger_active(l, 1)->total.c[C_misses], 33);
	s.nr_files = 0;
	ledger_apply(l, &s);
	assert_int_equal(ledger_nr_active(l), 0);
	ledger_free(l);
}

static void test_job_facts(void **state)
{
	struct sample s = {0};
	struct ledger *l;

	assert_int_equal(ledger_new(NULL, &l), 0);
	s.jobs[JOB_WATCHED] = (struct sample_job){.cpu_ns = 100, .rchar_bytes = 50};
	s.law_error_pages = -3;
	ledger_apply(l, &s);
	s.jobs[JOB_WATCHED] = (struct sample_job){.cpu_ns = 170, .rchar_bytes = 40};
	s.law_error_pages = 2;
	ledger_apply(l, &s);
	assert_int_equal(ledger_job(l, JOB_WATCHED)->last_cpu_ns, 70);
	assert_int_equal(ledger_job(l, JOB_WATCHED)->last_rchar_bytes, 0);
	assert_int_equal(ledger_job(l, JOB_WATCHED)->facts.cpu_ns, 170);
	assert_int_equal(ledger_law_error(l), 5);
	ledger_free(l);
}

static void test_advice(void **state)
{
	struct ledger_limits limits = roomy;
	struct sample_advice advice[3] = {0};
	struct sample_file file = {.key = key_of(1), .job = JOB_WATCHED, .path = "/a/x"};
	struct sample s = {.advice = advice, .nr_advice = 3};
	struct ledger *l;

	limits.advice = 2;
	assert_int_equal(ledger_new(&limits, &l), 0);
	for (int i = 0; i < 3; i++) {
		advice[i].file = key_of(1);
		advice[i].job = JOB_WATCHED;
		advice[i].kind = (uint8_t)(ADVICE_WILLNEED + i);
		advice[i].call = CALL_FADVISE;
		advice[i].row.calls = 5;
	}
	ledger_apply(l, &s);
	assert_int_equal(ledger_nr_advice(l), 2);
	assert_int_equal(ledger_advice_lost(l), 1);
	assert_null(ledger_advice(l, 0)->path);
	ledger_written(l);
	s.nr_advice = 2;
	advice[1].row.calls = 6;
	ledger_apply(l, &s);
	assert_false(ledger_advice(l, 0)->mark.dirty);
	assert_true(ledger_advice(l, 1)->mark.dirty);
	/* The name comes with the file, for all advice on it. */
	s.files = &file;
	s.nr_files = 1;
	ledger_apply(l, &s);
	assert_string_equal(ledger_advice(l, 0)->path, "/a/x");
	assert_string_equal(ledger_advice(l, 1)->path, "/a/x");
	ledger_free(l);
}

/* A million files in a thousand directories, and in one: totals exact, memory bounded. */
static void run_million(int directories)
{
	enum { FILES = 1000000, SAMPLE = 20000 };
	struct sample_file *files = calloc(SAMPLE, sizeof(*files));
	char(*paths)[80] = calloc(SAMPLE, sizeof(*paths));
	struct sample s = {.files = files, .nr_files = SAMPLE};
	size_t before;
	size_t after;
	struct ledger *l;
	bool estimated;

	assert_non_null(files);
	assert_non_null(paths);
	before = mallinfo2().uordblks + mallinfo2().hblkhd;
	assert_int_equal(ledger_new(NULL, &l), 0);
	for (int epoch = 0; epoch < 2; epoch++) {
		for (int first = 0; first < FILES; first += SAMPLE) {
			for (int i = 0; i < SAMPLE; i++) {
				int n = first + i;

				snprintf(paths[i], sizeof(paths[i]),
					 "/data/set/train/class%04d/image-%08d.jpeg",
					 n % directories, n);
				files[i] = (struct sample_file){
					.key = {.ino = (uint64_t)n, .dev = 1},
					.job = JOB_WATCHED,
					.path = paths[i],
				};
				files[i].c[C_misses] = 7;
			}
			ledger_apply(l, &s);
		}
	}
	after = mallinfo2().uordblks + mallinfo2().hblkhd;
	assert_int_equal(ledger_job(l, JOB_WATCHED)->total.c[C_misses], 2L * FILES * 7);
	assert_int_equal(ledger_distinct(l, &estimated), FILES);
	assert_false(estimated);
	assert_int_equal(directory(l, "/data/set/train/class0000")->files, FILES / directories);
	assert_int_equal(directory(l, "/data/set/train/class0000")->total.c[C_misses],
			 2L * FILES / directories * 7);
#ifndef __SANITIZE_ADDRESS__
	print_message("%d directories: %zu MiB\n", directories, (after - before) >> 20);
	assert_true(after - before < 44U << 20);
#else
	assert_true(after >= before);
#endif
	ledger_free(l);
	free(files);
	free(paths);
}

static void test_million_files(void **state)
{
	run_million(1000);
	run_million(1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact_when_roomy),
		cmocka_unit_test(test_folding_files),
		cmocka_unit_test(test_folding_directories),
		cmocka_unit_test(test_full_set),
		cmocka_unit_test(test_size_stays_known),
		cmocka_unit_test(test_late_name_and_rename),
		cmocka_unit_test(test_named_after_folding),
		cmocka_unit_test(test_late_heavy_file_is_kept),
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_active_files),
		cmocka_unit_test(test_job_facts),
		cmocka_unit_test(test_advice),
		cmocka_unit_test(test_million_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
