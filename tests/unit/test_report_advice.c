/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: report account access */
/* The ledger of advice in the report's JSON: every figure of its row, null for each NULL. */
#include "fixtures/report/golden.h"

static const struct {
	const char *key, *column;
} figures[] = {
	{"calls", "calls"},
	{"pages_asked", "pages_asked"},
	{"pages_brought", "pages_brought"},
	{"pages_dropped", "pages_dropped"},
	{"cached_pages", "cached_pages"},
	{"redundant_pages", "redundant_pages"},
	{"dropped_refaults", "dropped_refaults"},
	{"fate.used", "used"},
	{"fate.used_late", "used_late"},
	{"fate.evicted_unused", "evicted_unused"},
	{"fate.resident_unused", "resident_unused"},
	{"fate.untracked", "untracked"},
};

enum { NR = sizeof(figures) / sizeof(figures[0]), FATES_FROM = 4 };

static const cJSON *figure(const cJSON *json, size_t i)
{
	char path[64];
	const cJSON *found;

	snprintf(path, sizeof(path), "jobs.0.advice.0.%s", figures[i].key);
	found = at(json, path);
	if (!found)
		fail_msg("no %s", path);
	return found;
}

/* Each column has a different number, so that none can be mistaken for another. */
static void each_under_its_name(void **state)
{
	struct fixture *f = *state;
	cJSON *json;

	for (size_t i = 0; i < NR; i++)
		fixture_sql(f, "UPDATE advice SET %s = %d", figures[i].column, 1000 + (int)i);
	json = golden_json(f);
	for (size_t i = 0; i < NR; i++)
		assert_int_equal((int)figure(json, i)->valuedouble, 1000 + (int)i);
	cJSON_Delete(json);
}

static void unknown_is_null(void **state)
{
	for (size_t hidden = 0; hidden < NR; hidden++) {
		struct fixture *f = *state;
		cJSON *json;

		for (size_t i = 0; i < NR; i++)
			fixture_sql(f, "UPDATE advice SET %s = %d", figures[i].column, 7);
		fixture_sql(f, "UPDATE advice SET %s = NULL", figures[hidden].column);
		json = golden_json(f);
		for (size_t i = 0; i < NR; i++)
			assert_int_equal(cJSON_IsNull(figure(json, i)), i == hidden);
		cJSON_Delete(json);
	}
}

/* A database from before fates were recorded: no columns, no figures, but a report. */
static void database_without_fates(void **state)
{
	struct fixture *f = *state;
	cJSON *json;

	fixture_older(f, 5);
	json = golden_json(f);
	for (size_t i = FATES_FROM; i < NR; i++)
		assert_true(cJSON_IsNull(figure(json, i)));
	assert_int_equal((int)figure(json, 2)->valuedouble, 70);
	cJSON_Delete(json);
}

/* Some of the pages were not followed: the fates are lower bounds. */
static void fates_of_slices(void **state)
{
	static const struct {
		int sliced, untracked, full;
		bool marked;
	} table[] = {{1, 5, 0, true}, {1, 0, 0, false}, {0, 5, 0, false}, {0, 0, 3, true}};
	struct fixture *f = *state;

	fixture_sql(f, "UPDATE advice SET used = 7; UPDATE job SET untracked = 9");
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		cJSON *json;

		fixture_sql(f, "UPDATE run SET sliced = %d, loss_chunk_full = %d", table[i].sliced,
			    table[i].full);
		fixture_sql(f, "UPDATE advice SET untracked = %d", table[i].untracked);
		json = golden_json(f);
		assert_int_equal(cJSON_IsTrue(at(json, "jobs.0.advice.0.fate_lower_bound")),
				 table[i].marked);
		cJSON_Delete(json);
	}
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, golden_begin, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_under_its_name),
		TEST(unknown_is_null),
		TEST(database_without_fates),
		TEST(fates_of_slices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
