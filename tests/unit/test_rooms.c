/* SPDX-License-Identifier: BSD-2-Clause */
/* A room (a directory) includes only the rooms in its line, all of them above it.
 * LINK: base */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct room {
	const char *name, *includes;
} rooms[] = {
	{"bpf", ""},
	/* A file of basic or full is included only by OF_BUILD(). */
	{"bpf/kernel", "bpf"},
	{"bpf/state", "bpf bpf/kernel"},
	{"bpf/roles", "bpf bpf/kernel bpf/state"},
	{"bpf/basic", "bpf/kernel bpf/state bpf/roles"},
	{"bpf/full", "bpf/kernel bpf/state bpf/roles"},
	{"cachemon/base", ""},
	{"cachemon/access", "cachemon/base"},
	{"cachemon/figures", "cachemon/base bpf"},
	{"cachemon/db", "cachemon/base cachemon/access cachemon/figures"},
	/* Rooms that watch a job. */
	{"cachemon/job", "cachemon/base cachemon/access"},
	{"cachemon/plan", "cachemon/base cachemon/access cachemon/figures"},
	{"cachemon/account", "cachemon/base cachemon/figures bpf"},
	{"cachemon/store",
	 "cachemon/base cachemon/access cachemon/figures cachemon/db cachemon/account"},
	{"cachemon/capture", "cachemon/base cachemon/access cachemon/figures cachemon/job "
			     "cachemon/plan cachemon/account bpf"},
	{"cachemon/collector",
	 "cachemon/base cachemon/access cachemon/job cachemon/account cachemon/capture bpf"},
	{"cachemon/metrics", "cachemon/base cachemon/figures"},
	{"cachemon/run", "cachemon/access cachemon/job cachemon/plan cachemon/store"},
	{"cachemon/watch", "cachemon/base cachemon/access cachemon/figures cachemon/job "
			   "cachemon/plan cachemon/account cachemon/store cachemon/capture "
			   "cachemon/collector cachemon/metrics cachemon/run"},
	{"cachemon/daemon",
	 "cachemon/base cachemon/access cachemon/figures cachemon/job cachemon/plan "
	 "cachemon/account cachemon/db cachemon/store cachemon/capture cachemon/collector "
	 "cachemon/metrics cachemon/run bpf"},
	{"cachemon/slurm", "cachemon/base cachemon/daemon"},
	/* Rooms that judge a database. */
	{"advisor/stats", "cachemon/base"},
	{"advisor/load", "cachemon/base cachemon/figures cachemon/db"},
	{"advisor/curve", "cachemon/base"},
	{"advisor/pattern", "cachemon/base cachemon/figures cachemon/db advisor/load"},
	{"advisor/readahead", "cachemon/base cachemon/figures cachemon/db advisor/load"},
	{"advisor/series", "cachemon/base cachemon/figures cachemon/db advisor/stats"},
	{"advisor/compare", "cachemon/figures advisor/stats"},
	{"advisor/rules", "cachemon/base cachemon/access cachemon/figures cachemon/db"},
	{"advisor/analysis", "cachemon/base cachemon/db cachemon/figures advisor/load "
			     "advisor/curve advisor/pattern advisor/readahead advisor/series "
			     "advisor/rules"},
	{"advisor/llm", "cachemon/base cachemon/access advisor/rules"},
	{"advisor/llm/http", "cachemon/base cachemon/access"},
	/* Rooms that show a database. */
	{"cachemon/model", "cachemon/base cachemon/figures cachemon/db advisor/load "
			   "advisor/series advisor/analysis"},
	{"cachemon/render", "cachemon/base cachemon/figures"},
	{"cachemon/report/whatif", "cachemon/base cachemon/figures advisor/readahead "
				   "advisor/analysis cachemon/model cachemon/render"},
	{"cachemon/report/run", "cachemon/base cachemon/access cachemon/figures cachemon/db "
				"advisor/analysis advisor/llm cachemon/model cachemon/render "
				"cachemon/report/whatif"},
	{"cachemon/report/compare",
	 "cachemon/base cachemon/access cachemon/figures cachemon/db advisor/stats "
	 "advisor/compare advisor/analysis cachemon/model cachemon/render "
	 "cachemon/report/whatif cachemon/report/run"},
	{"cachemon/report/runs", "cachemon/base cachemon/access cachemon/figures cachemon/db "
				 "advisor/analysis cachemon/model cachemon/render "
				 "cachemon/report/run cachemon/report/compare"},
	{"cachemon/report/nodes",
	 "cachemon/base cachemon/access cachemon/figures cachemon/db advisor/stats "
	 "cachemon/model cachemon/render cachemon/report/run"},
	{"cachemon/top", "cachemon/base cachemon/figures cachemon/db cachemon/model"},
	{"cachemon/wording",
	 "cachemon/base cachemon/access cachemon/figures cachemon/store "
	 "advisor/rules advisor/analysis advisor/llm advisor/llm/http cachemon/model "
	 "cachemon/report/whatif cachemon/report/run"},
	/* The verbs. */
	{"cachemon/doctor", "cachemon/base cachemon/plan cachemon/capture"},
	{"cachemon/selftest", "cachemon/base"},
	{"cachemon/cmd",
	 "cachemon/base cachemon/access cachemon/db cachemon/job cachemon/plan "
	 "cachemon/capture cachemon/collector "
	 "cachemon/watch cachemon/daemon cachemon/store cachemon/figures advisor/rules "
	 "advisor/llm/http "
	 "cachemon/model cachemon/render "
	 "cachemon/report/run cachemon/report/compare cachemon/report/runs "
	 "cachemon/report/nodes cachemon/report/whatif cachemon/top cachemon/wording "
	 "cachemon/doctor "
	 "cachemon/selftest"},
	{"cachemon/gen", "cachemon/cmd advisor/rules"},
	{"cachemon", "cachemon/base cachemon/access cachemon/cmd"},
};
enum { NR_ROOMS = sizeof(rooms) / sizeof(rooms[0]) };

/* The directory of a file; changes path. */
static const char *room_of(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash)
		*slash = '\0';
	return path;
}

static int find_room(const char *name)
{
	for (int i = 0; i < NR_ROOMS; i++)
		if (strcmp(rooms[i].name, name) == 0)
			return i;
	return -1;
}

static bool names(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = strstr(list, word); p; p = strstr(p + 1, word))
		if ((p == list || p[-1] == ' ') && (p[n] == ' ' || !p[n]))
			return true;
	return false;
}

static int wrong, files;

static void check_include(const char *path, const char *from, char *included)
{
	const char *to = room_of(included);
	int room = find_room(from);

	if (strcmp(from, to) == 0)
		return;
	if (room < 0 || !names(rooms[room].includes, to)) {
		print_error("%s includes %s, which is not above %s\n", path, to, from);
		wrong++;
	}
}

static bool is_source(const char *path, int type)
{
	size_t n = strlen(path);

	return type == FTW_F && n >= 2 && path[n - 2] == '.' && strchr("ch", path[n - 1]);
}

static int check_file(const char *path, const struct stat *st, int type, struct FTW *at)
{
	char line[512], included[256], own[512];
	FILE *f;

	if (!is_source(path, type))
		return 0;
	files++;
	snprintf(own, sizeof(own), "%s", path + strlen(SOURCE_DIR) + 1);
	room_of(own);
	f = fopen(path, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		/* Generated files have no room. */
		if (sscanf(line, "#include \"%255[^\"]\"", included) == 1 && strchr(included, '/'))
			check_include(path, own, included);
	fclose(f);
	return 0;
}

static void test_includes_go_up(void **state)
{
	assert_int_equal(nftw(SOURCE_DIR "/cachemon", check_file, 16, FTW_PHYS), 0);
	assert_int_equal(nftw(SOURCE_DIR "/advisor", check_file, 16, FTW_PHYS), 0);
	assert_int_equal(nftw(SOURCE_DIR "/bpf", check_file, 16, FTW_PHYS), 0);
	assert_true(files > 500);
	assert_int_equal(wrong, 0);
}

static int asking;

static int check_asks(const char *path, const struct stat *st, int type, struct FTW *at)
{
	char line[512];
	FILE *f;

	if (!is_source(path, type))
		return 0;
	f = fopen(path, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (line[0] == '#' && strstr(line, "CACHEMON_BASIC")) {
			assert_string_equal(path, SOURCE_DIR "/bpf/kernel/build.bpf.h");
			asking++;
		}
	fclose(f);
	return 0;
}

/* The one file that tests for the build for 5.10; every other file includes OF_BUILD(). */
static void test_one_line_asks_for_the_build(void **state)
{
	assert_int_equal(nftw(SOURCE_DIR "/bpf", check_asks, 16, FTW_PHYS), 0);
	assert_int_equal(asking, 1);
}

/* This excludes cycles. */
static void test_lines_name_rooms_above(void **state)
{
	char includes[1024];
	char *save;

	for (int i = 0; i < NR_ROOMS; i++) {
		snprintf(includes, sizeof(includes), "%s", rooms[i].includes);
		for (char *word = strtok_r(includes, " ", &save); word;
		     word = strtok_r(NULL, " ", &save)) {
			int room = find_room(word);

			if (room < 0 || room >= i)
				fail_msg("%s: %s is not above it", rooms[i].name, word);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_includes_go_up),
		cmocka_unit_test(test_one_line_asks_for_the_build),
		cmocka_unit_test(test_lines_name_rooms_above),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
