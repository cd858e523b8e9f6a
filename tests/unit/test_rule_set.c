/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: advisor report account access */
/* Directories of a site: rules and notes in addition to the program's, thresholds, and their
 * errors. */
#include "fixtures/advisor/world.h"

#define NOTE(id)                                                                                   \
	"---\nid: " id "\ntitle: t\nrisk: r\nundo: u\nverify: v\n---\n## What to do\nDo it.\n"

static struct rule_set load(struct fixture *f)
{
	char path[256];
	struct rule_dirs dirs = world_dirs(f, path);
	struct rule_set set = {0};

	assert_int_equal(rule_set_load(&dirs, &set), 0);
	return set;
}

/* Checks how the only problem begins, after the directory and the name of the file. */
static void assert_problem(struct fixture *f, const char *file, const char *begins)
{
	struct rule_set set = load(f);
	char want[512];

	snprintf(want, sizeof(want), "%s/rules/%s%s", f->dir, file, begins);
	assert_int_equal(set.nr_problems, 1);
	if (strncmp(set.problems[0], want, strlen(want)) != 0)
		fail_msg("'%s' instead of '%s'", set.problems[0], want);
	rule_set_free(&set);
}

/* These ids are part of the external contract. */
static void test_ids_stay(void **state)
{
	static const char *const ids[] = {
		"cache-bypassed",
		"cache-thrash-loop",
		"cache-too-small",
		"direct-io-rereads",
		"dontcache-reread",
		"dontneed-harmful",
		"dontneed-no-effect",
		"duplicate-staging",
		"evicted-by-neighbour",
		"first-touch-only",
		"fuse-drops-cache",
		"interleaved-streams",
		"job-limit-oom",
		"memcg-limit-too-low",
		"mmap-random-faults",
		"network-readahead-small",
		"nothing-wrong",
		"prefetch-late",
		"prefetch-waste",
		"random-with-readahead",
		"readahead-too-large",
		"readahead-too-small",
		"scan-pollutes-cache",
		"sequential-without-readahead",
		"small-files",
		"small-reads",
		"stride-defeats-readahead",
		"too-little-data",
		"willneed-cut-short",
		"willneed-redundant",
		"willneed-too-late",
		"willneed-unused",
		"writes-evict-dataset",
	};
	struct rule_set set = {0};

	assert_int_equal(rule_set_load(NULL, &set), 0);
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		if (!rule_set_rule(&set, ids[i]) || !rule_set_note(&set, ids[i]))
			fail_msg("no rule or no note %s", ids[i]);
	rule_set_free(&set);
}

static void test_builtin(void **state)
{
	struct rule_set set = {0};

	assert_int_equal(rule_set_load(NULL, &set), 0);
	for (size_t i = 0; i < set.nr_problems; i++)
		fail_msg("%s", set.problems[i]);
	/* Each finding of the program has a fix. */
	for (size_t i = 0; i < set.nr_rules; i++) {
		if (!rule_set_note(&set, set.rules[i].id))
			fail_msg("no note on %s", set.rules[i].id);
		for (size_t p = 0; p < set.rules[i].nr_params; p++)
			if (!set.rules[i].params[p].why[0])
				fail_msg("%s: no reason for %s", set.rules[i].id,
					 set.rules[i].params[p].name);
	}
	rule_set_free(&set);
}

static void test_site_rule_and_note(void **state)
{
	struct fixture *f = *state;
	struct rule_set set;
	struct rule_set builtin = {0};

	assert_int_equal(rule_set_load(NULL, &builtin), 0);
	world_write(f, "site-own.sql", RULE_HEAD("site-own") RULE_ROW " FROM v_job");
	world_write(f, "site-own.md", NOTE("site-own"));
	world_write(f, "prefetch-waste.sql", RULE_HEAD("prefetch-waste") RULE_ROW " FROM v_job");
	world_write(f, "README.md", "not a note");
	world_write(f, ".hidden.sql", "not a rule");
	world_write(f, "notes.txt", "whatever");
	set = load(f);
	assert_int_equal(set.nr_problems, 0);
	assert_int_equal(set.nr_rules, builtin.nr_rules + 1);
	assert_non_null(rule_set_rule(&set, "site-own"));
	assert_string_equal(rule_set_note(&set, "site-own")->action, "Do it.");
	assert_string_equal(rule_set_rule(&set, "prefetch-waste")->title, "a test");
	assert_null(rule_set_rule(&set, "no-such"));
	rule_set_free(&set);
	rule_set_free(&builtin);
}

/* A second directory, named after that of world_write(). */
static struct rule_set load_two(struct fixture *f, const char *thresholds)
{
	char first[256];
	char second[256];
	char path[512];
	struct rule_dirs dirs = world_dirs(f, first);
	struct rule_set set = {0};
	FILE *out = NULL;

	snprintf(second, sizeof(second), "%s/second", f->dir);
	mkdir(second, 0700);
	snprintf(path, sizeof(path), "%s/some.sql", second);
	out = fopen(path, "w");
	assert_non_null(out);
	fputs(thresholds, out);
	fclose(out);
	dirs.dir[dirs.nr++] = (struct rule_dir){second, true};
	assert_int_equal(rule_set_load(&dirs, &set), 0);
	return set;
}

static void test_thresholds(void **state)
{
	struct fixture *f = *state;
	struct rule_set set;
	const struct rule_param *p;
	char want[256];

	world_write(f, "some.sql",
		    RULE_HEAD("some") "-- param share = 0.5 ratio -- half\n"
				      "-- param pages = 4 pages -- few\n" RULE_ROW " FROM v_job");
	world_write(f, "thresholds", "# a comment\n\n-- another\nsome.pages = 7 pages -- small\n");
	set = load_two(f, "-- id: some\n-- param share = 0.75 -- ours is fast\n");
	for (size_t i = 0; i < set.nr_problems; i++)
		fail_msg("%s", set.problems[i]);
	p = rule_param_find(rule_set_rule(&set, "some"), "share");
	assert_true(p->real == 0.75);
	assert_string_equal(p->text, "0.75");
	assert_string_equal(p->why, "half");
	snprintf(want, sizeof(want), "%s/second/some.sql:2", f->dir);
	assert_string_equal(p->set_by, want);
	p = rule_param_find(rule_set_rule(&set, "some"), "pages");
	assert_int_equal(p->integer, 7);
	snprintf(want, sizeof(want), "%s/rules/thresholds:4", f->dir);
	assert_string_equal(p->set_by, want);
	/* The query is still that of the first one. */
	assert_non_null(rule_set_rule(&set, "some")->sql);
	rule_set_free(&set);
}

static void test_threshold_mistakes(void **state)
{
	static const struct {
		const char *text, *begins;
	} table[] = {
		{"x\n", ":1: no value"},
		{"\npages = 7\n", ":2: 'pages' names no rule; write RULE-ID.pages"},
		{"prefetch-wast.pages = 7\n",
		 ":1: there is no rule 'prefetch-wast'; did you mean 'prefetch-waste'?"},
		{"prefetch-waste.nothing = 7\n",
		 ":1: rule prefetch-waste has no parameter 'nothing'; 'cachemon explain "
		 "prefetch-waste' lists"},
		{"some.pages = 7 bytes\n", ":1: pages is in pages, not in bytes"},
		{"some.pages = seven\n", ":1: 'seven' is not a number"},
	};
	struct fixture *f = *state;

	world_write(f, "some.sql",
		    RULE_HEAD("some") "-- param pages = 4 pages -- few\n" RULE_ROW " FROM v_job");
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		world_write(f, "thresholds", table[i].text);
		assert_problem(f, "thresholds", table[i].begins);
	}
}

static void test_file_mistakes(void **state)
{
	struct fixture *f = *state;
	char path[256];
	struct rule_dirs dirs = {.dir = {{"/nonexistent/rules", true}}, .nr = 1};
	struct rule_set set = {0};
	struct rule_set builtin = {0};

	world_write(f, "bad.sql", "-- id: bad\n-- titel: x\n");
	assert_problem(f, "bad.sql", ":2: unknown key 'titel'");
	/* The others are loaded all the same. */
	set = load(f);
	assert_int_equal(rule_set_load(NULL, &builtin), 0);
	assert_int_equal(set.nr_rules, builtin.nr_rules);
	rule_set_free(&set);
	rule_set_free(&builtin);
	snprintf(path, sizeof(path), "%s/rules/bad.sql", f->dir);
	assert_int_equal(unlink(path), 0);
	world_write(f, "no-rule.sql", "-- id: no-rule\n-- param x = 1\n");
	assert_problem(f, "no-rule.sql", ":1: there is no rule 'no-rule'");

	assert_int_equal(rule_set_load(&dirs, &set), 0);
	assert_int_equal(set.nr_problems, 1);
	assert_string_equal(set.problems[0],
			    "/nonexistent/rules: cannot be read: No such file or directory; name a "
			    "directory of rules");
	rule_set_free(&set);
	/* A default place may be absent. */
	dirs.dir[0].must_exist = false;
	assert_int_equal(rule_set_load(&dirs, &set), 0);
	assert_int_equal(set.nr_problems, 0);
	rule_set_free(&set);
}

static void test_where_directories_are(void **state)
{
	struct rule_dirs d;

	assert_int_equal(rule_dirs_make("/home/u", NULL, NULL, NULL, &d), 0);
	assert_int_equal(d.nr, 2);
	assert_string_equal(d.dir[0].path, "/etc/cachemon/rules");
	assert_string_equal(d.dir[1].path, "/home/u/.config/cachemon/rules");
	assert_false(d.dir[1].must_exist);
	rule_dirs_free(&d);
	assert_int_equal(rule_dirs_make("/home/u", "/conf", "/env", "named", &d), 0);
	assert_int_equal(d.nr, 4);
	assert_string_equal(d.dir[1].path, "/conf/cachemon/rules");
	assert_string_equal(d.dir[2].path, "/env");
	assert_string_equal(d.dir[3].path, "named");
	assert_true(d.dir[3].must_exist);
	rule_dirs_free(&d);
	assert_int_equal(rule_dirs_make(NULL, "relative", "", "", &d), 0);
	assert_int_equal(d.nr, 1);
	rule_dirs_free(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ids_stay),
		cmocka_unit_test(test_builtin),
		cmocka_unit_test_setup_teardown(test_site_rule_and_note, world_begin,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(test_thresholds, world_begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_threshold_mistakes, world_begin,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(test_file_mistakes, world_begin, fixture_teardown),
		cmocka_unit_test(test_where_directories_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
