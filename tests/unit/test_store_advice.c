/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: store account db access */
/* The fates in the ledger of advice: exact, or NULL. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "test_store_fixture.h"

static void write_advice(struct fixture *f, uint64_t n, const struct sample_advice *a, size_t nr,
			 uint64_t ghosts_dropped)
{
	struct test_sample t;

	test_sample(&t, n, 20);
	t.s.advice = a;
	t.s.nr_advice = nr;
	t.s.losses.ghosts_dropped = ghosts_dropped;
	ledger_apply(f->l, &t.s);
	if (store_write(f->st, f->l, &t.s, &f->err))
		fail_msg("%s", f->err.text);
}

static struct sample_advice willneed(void)
{
	return (struct sample_advice){
		.file = {.ino = 100, .dev = 259 << 20 | 3, .gen = 9},
		.job = JOB_WATCHED,
		.kind = ADVICE_WILLNEED,
		.call = CALL_FADVISE,
		.row = {.calls = 3,
			.pages_asked = 70,
			.pages_brought = 50,
			.used = 20,
			.used_late = 5,
			.evicted_unused = 10,
			.untracked = 1,
			.resident_unused = 14,
			.looked = 3,
			.pages_cached = 6},
	};
}

#define FATES "used + used_late + evicted_unused + resident_unused"

static void test_fates(void **state)
{
	struct fixture *f = *state;
	struct store_run run = test_run();
	struct sample_advice a = willneed();
	const char *db = f->scratch.db;

	begin(f, &run, NULL);
	write_advice(f, 0, &a, 1, 0);
	assert_int_equal(ask(db, "SELECT used * 1000000 + used_late * 10000 + evicted_unused * 100 "
				 "+ resident_unused FROM advice"),
			 20051014);
	assert_int_equal(ask(db, "SELECT untracked FROM advice"), 1);
	assert_int_equal(ask(db, "SELECT cached_pages FROM advice"), 6);
	assert_int_equal(ask(db, "SELECT redundant_pages FROM advice"), 6);
	assert_int_equal(ask(db, "SELECT dropped_refaults FROM advice"), -1);
	/* Later values replace them. */
	a.row.used++;
	a.row.resident_unused--;
	write_advice(f, 1, &a, 1, 0);
	assert_int_equal(ask(db, "SELECT used FROM advice"), 21);
	assert_int_equal(ask(db, "SELECT resident_unused FROM advice"), 13);
}

/* Two kinds of advice for one place, pages that were not followed, calls that were not seen. */
static void test_not_known(void **state)
{
	struct fixture *f = *state;
	struct store_run run = test_run();
	struct sample_advice a = willneed();
	const char *db = f->scratch.db;

	begin(f, &run, NULL);
	a.row.mixed = 1;
	a.row.looked = 2;
	write_advice(f, 0, &a, 1, 0);
	assert_int_equal(ask(db, "SELECT " FATES " FROM advice"), -1);
	assert_int_equal(ask(db, "SELECT used FROM advice"), -1);
	assert_int_equal(ask(db, "SELECT cached_pages FROM advice"), -1);
	assert_int_equal(ask(db, "SELECT redundant_pages FROM advice"), -1);
	a = willneed();
	a.row.pages_brought++;
	write_advice(f, 1, &a, 1, 0);
	assert_int_equal(ask(db, "SELECT used FROM advice"), -1);
	assert_int_equal(ask(db, "SELECT untracked FROM advice"), -1);
}

static void test_not_measured(void **state)
{
	struct fixture *f = *state;
	struct store_run run = test_run();
	struct sample_advice a = willneed();
	const char *db = f->scratch.db;

	run.measured.counter[JOB_WATCHED][C_used] = false;
	begin(f, &run, NULL);
	a.row = (struct advice_row){.calls = 1, .pages_brought = 7, .untracked = 7};
	write_advice(f, 0, &a, 1, 0);
	assert_int_equal(ask(db, "SELECT used FROM advice"), -1);
	assert_int_equal(ask(db, "SELECT resident_unused FROM advice"), -1);
	assert_int_equal(ask(db, "SELECT untracked FROM advice"), 7);
}

static void test_dropped(void **state)
{
	struct fixture *f = *state;
	struct store_run run = test_run();
	struct sample_advice a[2];
	const char *db = f->scratch.db;

	a[0] = a[1] = willneed();
	a[0].kind = ADVICE_DONTNEED;
	a[0].row = (struct advice_row){.calls = 1,
				       .pages_asked = 9,
				       .pages_dropped = 8,
				       .dropped_own = 8,
				       .dropped_refaults = 3,
				       .looked = 1,
				       .pages_cached = 8};
	begin(f, &run, NULL);
	write_advice(f, 0, a, 2, 0);
	assert_int_equal(ask(db, "SELECT dropped_refaults FROM advice WHERE kind = 'dontneed'"), 3);
	assert_int_equal(ask(db, "SELECT cached_pages FROM advice WHERE kind = 'dontneed'"), 8);
	assert_int_equal(ask(db, "SELECT redundant_pages FROM advice WHERE kind = 'dontneed'"), -1);
	assert_int_equal(ask(db, "SELECT used FROM advice WHERE kind = 'dontneed'"), -1);
	/* Ghosts were dropped: refaults are no longer known, even for rows that stay. */
	write_advice(f, 1, a, 2, 1);
	assert_int_equal(ask(db, "SELECT dropped_refaults FROM advice WHERE kind = 'dontneed'"),
			 -1);
	assert_int_equal(ask(db, "SELECT used FROM advice WHERE kind = 'willneed'"), 20);
}

/* Some of the pages belonged to others: which of them came back is not known. */
static void test_dropped_strangers(void **state)
{
	struct fixture *f = *state;
	struct store_run run = test_run();
	struct sample_advice a = willneed();

	a.kind = ADVICE_DONTNEED;
	a.row = (struct advice_row){.calls = 1, .pages_dropped = 8, .dropped_own = 7};
	begin(f, &run, NULL);
	write_advice(f, 0, &a, 1, 0);
	assert_int_equal(ask(f->scratch.db, "SELECT dropped_refaults FROM advice"), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(test_fates),
		STORE_TEST(test_not_known),
		STORE_TEST(test_not_measured),
		STORE_TEST(test_dropped),
		STORE_TEST(test_dropped_strangers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
