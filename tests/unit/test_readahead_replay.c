/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: readaheadcheck advisor */
/*
 * Traces of recorded runs replayed with other settings: the prediction from the accesses and pages
 * of one setting is compared with what the kernel did with the other one. The recordings are from a
 * real kernel.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "bpf/cachemon.h"
#include "check.h"
#include "patterns.h"
#include "advisor/readahead/replay.h"
#include "tape.h"

enum { TRACED_KB = 128 };

static FILE *open_recording(void)
{
	FILE *f = fopen(FIXTURES "/readahead/6.18-ext4.txt", "re");

	assert_non_null(f);
	return f;
}

static uint64_t kernel_pages(const char *pattern, unsigned int kb)
{
	FILE *f = open_recording();
	size_t nr;
	struct recorded *all = recording_find(f, pattern, kb, &nr);
	uint64_t pages = 0;

	assert_non_null(all);
	for (size_t i = 0; i < nr; i++)
		pages += 1ULL << all[i].order;
	free(all);
	fclose(f);
	return pages;
}

static void record_tape(struct tape *t, const char *pattern, unsigned int kb)
{
	FILE *f = open_recording();

	assert_true(tape_record(t, f, pattern, kb));
	fclose(f);
}

static struct ra_replay_result replay(const struct tape *t, unsigned int kb,
				      struct ra_setting setting)
{
	struct ra_replay_input in = {.kernel = ra_kernel_named("6.18"),
				     .events = t->event,
				     .nr_events = t->events,
				     .max_order = 9,
				     .device_pages = kb / 4,
				     .io_pages = TAPE_IO_PAGES};
	struct ra_replay_result r = {0};

	assert_int_equal(ra_replay(&in, setting, &r), 0);
	return r;
}

static uint64_t predicted(const struct tape *t, unsigned int kb)
{
	struct ra_setting s = {RA_SETTING_PAGES, kb / 4};

	return replay(t, TRACED_KB, s).totals.added_pages;
}

static void other_settings_are_predicted(void **state)
{
	static const char *const names[] = {
		"seq_4k",	    "seq_64k",	      "seq_1m",	      "seq_4m",
		"unaligned",	    "midfile",	      "streams_2",    "streams_3",
		"two_descriptions", "stride_16k_64k", "stride_4k_8k", "stride_4k_12k",
		"stride_64k_1m",    "backward_4k",    "backward_64k", "random_4k",
		"random_64k",	    "random_runs",    "willneed",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct ra_setting as_it_was = {RA_SETTING_ACTUAL, 0};
		struct ra_replay_result actual;
		struct tape t;

		record_tape(&t, names[i], TRACED_KB);
		actual = replay(&t, TRACED_KB, as_it_was);
		assert_int_equal(actual.exact_windows, actual.windows);
		assert_int_equal(actual.totals.added_pages, actual.traced_pages);
		assert_int_equal(actual.traced_pages, kernel_pages(names[i], TRACED_KB));
		assert_int_equal(predicted(&t, 32), kernel_pages(names[i], 32));
		assert_int_equal(predicted(&t, 1024), kernel_pages(names[i], 1024));
		tape_free(&t);
	}
}

static void within_5_percent(uint64_t got, uint64_t want)
{
	assert_true(got * 100 <= want * 105 && got * 105 >= want * 100);
}

/* Larger windows can be predicted from faults with small ones, though less exactly. */
static void mappings_are_predicted_upwards(void **state)
{
	static const char *const names[] = {"mmap_seq", "mmap_random", "mmap_backward",
					    "mmap_stride"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct ra_setting as_it_was = {RA_SETTING_ACTUAL, 0};
		struct ra_replay_result actual;
		struct tape t;

		record_tape(&t, names[i], TRACED_KB);
		actual = replay(&t, TRACED_KB, as_it_was);
		assert_int_equal(actual.exact_windows, actual.windows);
		assert_true(actual.mapped > 0);
		within_5_percent(predicted(&t, 1024), kernel_pages(names[i], 1024));
		tape_free(&t);
	}
}

/* Pages that no access of the trace explains lower the fidelity. */
static void what_does_not_fit_is_told(void **state)
{
	struct ra_setting as_it_was = {RA_SETTING_ACTUAL, 0};
	struct trace_event strange = {.kind = TRACE_ADD, .pos = 4000, .len = 1};
	struct ra_replay_result actual;
	struct tape t;

	record_tape(&t, "seq_64k", TRACED_KB);
	actual = replay(&t, TRACED_KB, as_it_was);
	assert_int_equal(actual.exact_windows, actual.windows);
	strange.description = TRACE_NO_DESCRIPTION;
	tape_put(&t, &strange);
	actual = replay(&t, TRACED_KB, as_it_was);
	assert_int_equal(actual.exact_windows + 1, actual.windows);
	tape_free(&t);
}

/* A read of 4 TiB: more than a replay accepts, and refused soon. */
static void what_takes_too_long_is_given_up(void **state)
{
	static const struct trace_event events[] = {
		{.kind = TRACE_OPEN, .pos = 1ULL << 45, .ra_pages = 32},
		{.kind = TRACE_READ, .len = 1ULL << 42},
	};
	struct ra_replay_input in = {.kernel = ra_kernel_named("6.18"),
				     .events = events,
				     .nr_events = 2,
				     .device_pages = 32};
	struct ra_setting s = {RA_SETTING_ACTUAL, 0};
	struct ra_replay_result r;

	assert_int_equal(ra_replay(&in, s, &r), -E2BIG);
	in.warm = true;
	assert_int_equal(ra_replay(&in, s, &r), -E2BIG);
}

/* The same for one that touches more of a file than fits. */
static void what_is_too_large_is_given_up(void **state)
{
	enum { NR = 40000 };
	static struct trace_event events[NR];
	struct ra_replay_input in = {.kernel = ra_kernel_named("6.18"),
				     .events = events,
				     .nr_events = NR,
				     .device_pages = 32};
	struct ra_setting s = {RA_SETTING_ACTUAL, 0};
	struct ra_replay_result r;

	events[0] = (struct trace_event){.kind = TRACE_OPEN, .pos = 1ULL << 45, .ra_pages = 32};
	for (size_t i = 1; i < NR; i++)
		events[i] = (struct trace_event){
			.kind = TRACE_READ, .pos = (uint64_t)i << 25, .len = 4096};
	assert_int_equal(ra_replay(&in, s, &r), -E2BIG);
	in.nr_events = NR / 2;
	assert_int_equal(ra_replay(&in, s, &r), 0);
}

/* Dropping the whole of a sparse file after each of its reads does not walk over its holes. */
static void dropping_a_sparse_file_is_cheap(void **state)
{
	enum { NR = 4001 };
	static struct trace_event events[NR];
	struct ra_replay_input in = {.kernel = ra_kernel_named("6.18"),
				     .events = events,
				     .nr_events = NR,
				     .device_pages = 32};
	struct ra_setting s = {RA_SETTING_PAGES, 64};
	struct ra_replay_result r;

	events[0] = (struct trace_event){.kind = TRACE_OPEN, .pos = 1ULL << 44, .ra_pages = 32};
	for (size_t i = 1; i < NR; i += 2) {
		events[i] = (struct trace_event){
			.kind = TRACE_READ, .pos = (uint64_t)(i % 50) << 38, .len = 4096};
		events[i + 1] = (struct trace_event){
			.kind = TRACE_ADVICE, .detail = ADVICE_DONTNEED, .call = CALL_FADVISE};
	}
	assert_int_equal(ra_replay(&in, s, &r), 0);
	assert_int_equal(r.totals.misses, (NR - 1) / 2);
}

static void a_broken_trace_is_none(void **state)
{
	struct trace_event strange = {.kind = TRACE_KIND_NR};
	struct ra_replay_input in = {
		.kernel = ra_kernel_named("6.18"), .events = &strange, .nr_events = 1};
	struct ra_setting s = {RA_SETTING_ACTUAL, 0};
	struct ra_replay_result r;

	assert_true(ra_replay(&in, s, &r) < 0);
}

/* Reads of 4 KiB, 1 MiB apart: advised as random, they bring only what is read. */
static void advice_is_predicted(void **state)
{
	struct ra_setting random = {RA_SETTING_RANDOM, 0}, none = {RA_SETTING_PAGES, 0};
	struct ra_replay_result r;
	struct tape t;

	record_tape(&t, "stride_64k_1m", TRACED_KB);
	r = replay(&t, TRACED_KB, random);
	assert_int_equal(r.totals.added_pages, r.totals.lookups);
	assert_int_equal(r.wasted_pages, 0);
	assert_int_equal(r.totals.stalls, 17);
	r = replay(&t, TRACED_KB, none);
	assert_int_equal(r.totals.added_pages, r.totals.lookups);
	assert_int_equal(r.totals.requests, r.totals.lookups);
	tape_free(&t);
}

int main(void)
{
	/* A hang is a failure. */
	alarm(120);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_settings_are_predicted),
		cmocka_unit_test(mappings_are_predicted_upwards),
		cmocka_unit_test(what_does_not_fit_is_told),
		cmocka_unit_test(what_takes_too_long_is_given_up),
		cmocka_unit_test(what_is_too_large_is_given_up),
		cmocka_unit_test(dropping_a_sparse_file_is_cheap),
		cmocka_unit_test(a_broken_trace_is_none),
		cmocka_unit_test(advice_is_predicted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
