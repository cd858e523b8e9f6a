/* SPDX-License-Identifier: BSD-2-Clause */
/* A store and its ledger in a temporary directory, for one cmocka test. Include cmocka first. */
#ifndef TEST_STORE_FIXTURE_H
#define TEST_STORE_FIXTURE_H

#include "test_store_util.h"

struct fixture {
	struct scratch scratch;
	struct store *st;
	struct ledger *l;
	struct errtext err;
};

static inline int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	f->scratch = scratch_make();
	*state = f;
	return 0;
}

static inline int teardown(void **state)
{
	struct fixture *f = *state;

	store_close(f->st);
	ledger_free(f->l);
	scratch_remove(&f->scratch);
	free(f);
	return 0;
}

static inline void begin(struct fixture *f, const struct store_run *run,
			 const struct ledger_limits *limits)
{
	const struct store_limits impatient = {.busy_ms = 20,
					       .full_ns = 900 * SECOND_NS,
					       .full_rows = 900,
					       .minute_ns = 60 * SECOND_NS,
					       .keep_ns = 86400 * SECOND_NS,
					       .quarter_ns = 900 * SECOND_NS,
					       .file_rows = 256,
					       .directory_rows = 64,
					       .process_rows = 64,
					       .merges = 4};
	const struct store_config c = {.path = f->scratch.db, .limits = &impatient};

	if (store_open(&c, &f->st, &f->err) || store_begin(f->st, run, &f->err))
		fail_msg("%s", f->err.text);
	assert_int_equal(ledger_new(limits, &f->l), 0);
}

static inline int write_one(struct fixture *f, uint64_t n, uint64_t spread)
{
	struct test_sample t;

	test_sample(&t, n, spread);
	ledger_apply(f->l, &t.s);
	return store_write(f->st, f->l, &t.s, &f->err);
}

static inline void write_ok(struct fixture *f, uint64_t n, uint64_t spread)
{
	if (write_one(f, n, spread))
		fail_msg("%s", f->err.text);
}

static inline void end_ok(struct fixture *f, const struct store_end *end)
{
	if (store_end(f->st, f->l, end, &f->err))
		fail_msg("%s", f->err.text);
	store_close(f->st);
	f->st = NULL;
}

#define STORE_TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

#endif
