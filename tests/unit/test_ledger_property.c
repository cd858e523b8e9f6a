/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: account */
/*
 * The ledger, compared with a naive reference that keeps every file of every job with all counters.
 * After folding, the sums must still be equal.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "test_ledger_util.h"

enum { REF_FILES = 400, BATCH = 60 };

struct ref_file {
	bool seen;
	char path[96]; /* "": no name */
	struct counters total;
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

/* A sample of random files, some new, some renamed or named late; updates the reference too. */
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
		};
		random_deltas(r, files[i].c);
		if (!f->seen && job != JOB_OTHERS)
			r->distinct++;
		f->seen = true;
		counters_add(&f->total, files[i].c);
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

		for (int i = 0; i < REF_FILES; i++)
			counters_add(&want, r->files[job][i].total.c);
		for (size_t i = 0; i < ledger_nr_directories(l); i++) {
			const struct ledger_directory *d = ledger_directory(l, i);

			if (d->job != job)
				continue;
			counters_add(&sum, d->total.c);
		}
		expect_equal(&ledger_job(l, job)->total, &want);
		expect_equal(&sum, &want);
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
		} else {
			for (int c = 0; c < C_NR; c++)
				if (c != C_resident_unused)
					assert_in_range(f->total.c[c], 0, ref->total.c[c]);
		}
	}
}

static void check_distinct(const struct ledger *l, const struct ref *r, uint64_t limit)
{
	uint64_t files = 0;
	bool marked = false;

	for (size_t i = 0; i < ledger_nr_directories(l); i++) {
		files += ledger_directory(l, i)->files;
		marked |= ledger_directory(l, i)->files_estimated;
	}
	assert_true(files <= limit);
	if (!marked)
		assert_int_equal(files, r->distinct);
	else
		assert_true(files < r->distinct);
}

/* The directory to which the counts of that path belong, or the nearest one above that has a
 * row. */
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

/* Without folding or renames, each directory is exact to the page. */
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
		check_distinct(l, r, limits->distinct);
		if (exact)
			check_directories(l, r);
	}
	ledger_free(l);
	free(r);
}

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact_when_roomy),
		cmocka_unit_test(test_folding_files),
		cmocka_unit_test(test_folding_directories),
		cmocka_unit_test(test_full_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
