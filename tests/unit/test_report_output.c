/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: report account access */
#include "fixtures/report/fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

#include "cachemon/access/publish.h"
#include "cachemon/base/errtext.h"
#include "cachemon/report/run/report.h"

static int count_files(const char *dir)
{
	DIR *d = opendir(dir);
	int n = 0;

	assert_non_null(d);
	for (struct dirent *e = readdir(d); e; e = readdir(d))
		n += e->d_name[0] != '.' || strlen(e->d_name) > 2;
	closedir(d);
	return n;
}

static void assert_content(const char *path, const char *want)
{
	char *text = fixture_read(path, NULL);

	assert_non_null(text);
	assert_string_equal(text, want);
	free(text);
}

static void appears_whole(void **state)
{
	struct fixture *f = *state;
	struct output o;
	struct stat st;
	char path[128];
	struct errtext err = {""};

	snprintf(path, sizeof(path), "%s/new", f->dir);
	umask(022);
	assert_int_equal(publish_open(path, &o, &err), 0);
	fputs("one", o.out);
	fflush(o.out);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(publish_commit(&o, &err), 0);
	assert_content(path, "one");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0644);
	/* A file that is replaced keeps its permissions. */
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(publish_open(path, &o, &err), 0);
	fputs("two", o.out);
	assert_int_equal(publish_commit(&o, &err), 0);
	assert_content(path, "two");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(count_files(f->dir), 2);
}

static void abort_leaves_nothing(void **state)
{
	struct fixture *f = *state;
	struct output o;
	char path[128];
	struct errtext err = {""};

	snprintf(path, sizeof(path), "%s/kept", f->dir);
	assert_int_equal(publish_open(path, &o, &err), 0);
	fputs("old", o.out);
	assert_int_equal(publish_commit(&o, &err), 0);
	assert_int_equal(publish_open(path, &o, &err), 0);
	fputs("new", o.out);
	publish_abort(&o);
	assert_content(path, "old");
	assert_int_equal(count_files(f->dir), 2);
}

static void links_are_followed(void **state)
{
	struct fixture *f = *state;
	struct output o;
	struct stat st;
	char path[128];
	char link[128];
	struct errtext err = {""};

	snprintf(path, sizeof(path), "%s/target", f->dir);
	snprintf(link, sizeof(link), "%s/link", f->dir);
	assert_int_equal(symlink("target", link), 0);
	close(open(path, O_CREAT | O_WRONLY, 0644));
	assert_int_equal(publish_open(link, &o, &err), 0);
	fputs("x", o.out);
	assert_int_equal(publish_commit(&o, &err), 0);
	assert_content(path, "x");
	assert_int_equal(lstat(link, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
}

static void a_new_file(void **state)
{
	struct fixture *f = *state;
	struct output o;
	char path[128], link[128];
	struct errtext err = {""};
	int before = count_files(f->dir);

	snprintf(path, sizeof(path), "%s/new", f->dir);
	snprintf(link, sizeof(link), "%s/link", f->dir);
	assert_int_equal(symlink("elsewhere", link), 0);
	assert_int_equal(publish_open(path, &o, &err), 0);
	fputs("first", o.out);
	assert_int_equal(publish_commit_new(&o, &err), 0);
	assert_int_equal(publish_open(path, &o, &err), 0);
	fputs("second", o.out);
	assert_int_equal(publish_commit_new(&o, &err), -EEXIST);
	assert_content(path, "first");
	assert_int_equal(publish_open(link, &o, &err), 0);
	assert_int_equal(publish_commit_new(&o, &err), -EEXIST);
	assert_int_equal(count_files(f->dir), before + 2);
}

static void pipes_directly(void **state)
{
	struct fixture *f = *state;
	struct stat st;
	char path[128];
	struct errtext err = {""};
	char text[16] = "";
	struct output o;
	int fd = -1;

	snprintf(path, sizeof(path), "%s/pipe", f->dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	fd = open(path, O_RDONLY | O_NONBLOCK);
	assert_int_equal(publish_open(path, &o, &err), 0);
	fputs("through", o.out);
	assert_int_equal(publish_commit(&o, &err), 0);
	assert_int_equal(read(fd, text, sizeof(text)), 7);
	close(fd);
	assert_int_equal(stat(path, &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
}

static void failures(void **state)
{
	struct fixture *f = *state;
	struct output o;
	char path[128];
	struct errtext err = {""};

	assert_int_equal(publish_open(f->dir, &o, &err), -EISDIR);
	assert_non_null(strstr(err.text, "cannot write"));
	snprintf(path, sizeof(path), "%s/none/x\x1b", f->dir);
	assert_int_equal(publish_open(path, &o, &err), -ENOENT);
	assert_non_null(strstr(err.text, "x\\x1b"));
	assert_int_equal(publish_open("/dev/full", &o, &err), 0);
	fputs("x", o.out);
	assert_int_equal(publish_commit(&o, &err), -ENOSPC);
	assert_non_null(strstr(err.text, "No space left"));
	assert_int_equal(count_files(f->dir), 1);
}

static void format_by_ending(void **state)
{
	static const struct {
		const char *path;
		int want;
	} table[] = {
		{"a.json", REPORT_JSON},
		{"/x.y/a", REPORT_TEXT},
		{"a.tar.md", REPORT_MARKDOWN},
		{"a.html", REPORT_HTML},
		{"a.htm", REPORT_HTML},
		{"a.csv", REPORT_CSV},
		{"a.yml", REPORT_YAML},
		{"a.txt", REPORT_TEXT},
		{".hidden", REPORT_TEXT},
		{"/dev/stdout", REPORT_TEXT},
		{"a.exe", -1},
		{"a.", -1},
		{"a.JSON", -1},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		enum report_format format = REPORT_FORMAT_NR;
		int ret = report_format_of_path(table[i].path, &format);

		assert_int_equal(ret, table[i].want < 0 ? -EINVAL : 0);
		assert_int_equal(format, table[i].want < 0 ? REPORT_FORMAT_NR : table[i].want);
	}
}

static void place_of_a_report(void **state)
{
	struct fixture *f = *state;
	char path[128];
	struct errtext err = {""};
	char *text = NULL;
	FILE *old = NULL;

	snprintf(path, sizeof(path), "%s/report.html", f->dir);
	assert_int_equal(publish_place(path, &err), 0);
	assert_int_equal(count_files(f->dir), 1); /* the database, and no other file */
	old = fopen(path, "w");
	assert_non_null(old);
	fputs("old", old);
	fclose(old);
	assert_int_equal(publish_place(path, &err), 0);
	text = fixture_read(path, NULL);
	assert_string_equal(text, "old");
	free(text);
	assert_int_equal(publish_place(f->dir, &err), -EISDIR);
	snprintf(path, sizeof(path), "%s/no/report.html", f->dir);
	assert_int_equal(publish_place(path, &err), -ENOENT);
	assert_non_null(strstr(err.text, path));
	/* The end of a pipe cannot be opened without a reader; that happens at the end of the
	 * run. */
	snprintf(path, sizeof(path), "%s/pipe.html", f->dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(publish_place(path, &err), 0);
	assert_int_equal(count_files(f->dir), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(appears_whole, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(abort_leaves_nothing, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(links_are_followed, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(a_new_file, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(pipes_directly, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(failures, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(format_by_ending, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(place_of_a_report, fixture_setup, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
