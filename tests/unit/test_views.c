/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: advisor account access */
/* The embedded views: complete, equal in shared columns, and every column documented. */
#include "fixtures/advisor/world.h"

#include <ctype.h>

#include "cachemon/db/views.h"

enum { MOST = 200, NAME = 64 };

static const struct {
	const char *view, *file;
} views[] = {
	{"v_job_all", "20_job"},
	{"v_file", "21_file"},
	{"v_directory", "22_directory"},
	{"v_filesystem", "23_filesystem"},
};

enum { NR_VIEWS = sizeof(views) / sizeof(views[0]) };

struct columns {
	char name[MOST][NAME];
	size_t nr;
};

static struct columns columns_of(sqlite3 *db, const char *view)
{
	sqlite3_stmt *stmt = NULL;
	struct columns ret = {0};

	assert_int_equal(
		sqlite3_prepare_v2(db, "SELECT name FROM pragma_table_info(?1)", -1, &stmt, NULL),
		SQLITE_OK);
	sqlite3_bind_text(stmt, 1, view, -1, SQLITE_STATIC);
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		assert_true(ret.nr < MOST);
		snprintf(ret.name[ret.nr++], NAME, "%s", sqlite3_column_text(stmt, 0));
	}
	sqlite3_finalize(stmt);
	assert_true(ret.nr > 0);
	return ret;
}

static size_t index_of(const struct columns *c, const char *name)
{
	for (size_t i = 0; i < c->nr; i++)
		if (!strcmp(c->name[i], name))
			return i;
	fail_msg("no column %s", name);
	return 0;
}

static void create(struct fixture *f)
{
	const char *what = "";

	if (views_create(f->sql, 1, &what) != SQLITE_OK)
		fail_msg("%s: %s", what, sqlite3_errmsg(f->sql));
}

static const char *text_of(const char *file)
{
	const char *name, *text;

	for (size_t i = 0; view_at(i, &name, &text); i++)
		if (!strcmp(name, file))
			return text;
	fail_msg("no view %s", file);
	return NULL;
}

/* Counters that the views name differently: the histogram, a part of untracked, and
 * refault_distance_s. */
static bool has_another_name(const char *counter)
{
	return !strncmp(counter, "window_log2_", 12) || !strcmp(counter, "untracked_map_full") ||
	       !strcmp(counter, "refault_distance_ms");
}

/* From the first counter to the last, in the same order. */
static void counters_are_alike(void **state)
{
	struct fixture *f = *state;
	struct columns first;
	size_t from, nr;

	create(f);
	first = columns_of(f->sql, views[0].view);
	from = index_of(&first, "read_calls");
	nr = index_of(&first, "bytes_per_call") + 1 - from;
	for (int i = 0; i < C_NR; i++)
		if (!has_another_name(counter_name(i)))
			index_of(&first, counter_name(i));
	for (int v = 1; v < NR_VIEWS; v++) {
		struct columns c = columns_of(f->sql, views[v].view);
		size_t at = index_of(&c, "read_calls");

		for (size_t i = 0; i < nr; i++)
			assert_string_equal(c.name[at + i], first.name[from + i]);
	}
}

static bool in_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Every column has a comment, on its line or on the next one. */
static bool explained(const char *text, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = strstr(text, name); at; at = strstr(at + 1, name)) {
		const char *behind = at + len;

		if (in_name(at[-1]) || in_name(*behind))
			continue;
		behind += *behind == ',';
		if (!strncmp(behind, "  -- ", 5) || !strncmp(behind, "\n\t\t-- ", 6))
			return true;
	}
	return false;
}

static void columns_are_explained(void **state)
{
	struct fixture *f = *state;

	create(f);
	for (int v = 0; v < NR_VIEWS; v++) {
		const char *text = text_of(views[v].file);
		struct columns c = columns_of(f->sql, views[v].view);

		for (size_t i = 0; i < c.nr; i++)
			if (!explained(text, c.name[i]))
				fail_msg("%s.%s is not explained", views[v].view, c.name[i]);
	}
}

/* A placeholder that was not replaced would be an SQL error, unless it is in a comment. */
static void texts_are_whole(void **state)
{
	const char *name, *text;

	(void)state;
	for (size_t i = 0; view_at(i, &name, &text); i++)
		if (strchr(text, '@'))
			fail_msg("%s names another text", name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(counters_are_alike, world_begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(columns_are_explained, world_begin,
						fixture_teardown),
		cmocka_unit_test(texts_are_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
