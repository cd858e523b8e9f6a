/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: watch */
/* Marks: what a job, or an attacker in it, writes to the FIFO. */
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "cachemon/access/privileges.h"
#include "cachemon/base/clock.h"
#include "cachemon/watch/marks.h"

static const struct counters none;

static int begin(void **state)
{
	return marks_new_list((struct marks **)state);
}

static int end(void **state)
{
	marks_free(*state);
	return 0;
}

static void take(struct marks *m, const char *text)
{
	marks_take(m, text, strlen(text));
}

static void set_at(struct marks *m, uint64_t at_ns)
{
	const struct sample s = {.start_ns = at_ns - 1, .duration_ns = 1, .end_ns = clock_now_ns()};

	marks_set(m, &s, at_ns, &none, 0);
}

static void check_mark(const struct marks *m, size_t i, uint64_t at_ns, const char *text)
{
	size_t nr;
	const struct sample_mark *list = marks_fresh(m, &nr);

	assert_true(i < nr);
	assert_int_equal(list[i].at_ns, at_ns);
	assert_int_equal(list[i].len, strlen(text));
	assert_memory_equal(list[i].text, text, list[i].len);
}

static void test_lines(void **state)
{
	struct marks *m = *state;
	size_t nr;

	take(m, "one\n\n\r\ntwo\r\nthr");
	set_at(m, 5);
	check_mark(m, 0, 5, "one");
	check_mark(m, 1, 5, "two");
	take(m, "ee\n\033[31m\n");
	marks_fresh(m, &nr);
	assert_int_equal(nr, 2); /* the third has no time yet */
	marks_stored(m);
	set_at(m, 9);
	check_mark(m, 0, 9, "three");
	check_mark(m, 1, 9, "\033[31m");
	/* The very last line needs no newline. */
	take(m, "last");
	marks_finish(m);
	set_at(m, 10);
	check_mark(m, 2, 10, "last");
	assert_int_equal(marks_dropped(m), 0);
}

/* Exact only if the writer waits and was answered in time; else it is known how late at most. */
static void test_late(void **state)
{
	struct marks *m = *state;
	const struct sample_mark *list;
	struct sample s = {.duration_ns = 1};
	uint64_t before, empty, gone;
	char text[MARK_TEXT_MAX + 3];
	size_t nr;

	memset(text, 'x', sizeof(text));
	text[0] = MARK_ASKS;
	text[MARK_TEXT_MAX + 1] = '\n';
	text[MARK_TEXT_MAX + 2] = '\0';
	before = clock_now_ns();
	assert_int_equal(marks_waiting(m), 0);
	empty = clock_now_ns();
	take(m, text);
	take(m, "plain\nin\5side\n\5\nplain too\n");
	s.end_ns = clock_now_ns();
	marks_set(m, &s, 0, &none, 0);
	gone = s.end_ns - empty;
	list = marks_fresh(m, &nr);
	assert_int_equal(nr, 4);
	assert_int_equal(list[0].len, MARK_TEXT_MAX);
	assert_int_equal(list[0].text[0], 'x');
	assert_int_equal(list[0].late_ns, 0);
	check_mark(m, 1, 1, "plain");
	check_mark(m, 2, 1, "in\5side");
	check_mark(m, 3, 1, "plain too");
	for (size_t i = 1; i < nr; i++) {
		assert_true(list[i].late_ns >= gone);
		assert_true(list[i].late_ns <= s.end_ns - before);
	}
	/* The writer of the first has stopped waiting; the second line comes in two parts. */
	marks_stored(m);
	s.end_ns = before + 2 * MARK_WAIT_NS;
	take(m, "\5slow\npar");
	while (clock_now_ns() < empty + MARK_WAIT_NS)
		poll(NULL, 0, 10);
	marks_set(m, &s, 0, &none, 0);
	assert_true(marks_fresh(m, &nr)->late_ns >= 2 * MARK_WAIT_NS - (empty - before));
	assert_int_equal(nr, 1);
	marks_stored(m);
	marks_waiting(m);
	take(m, "ts\n");
	marks_set(m, &s, 0, &none, 0);
	check_mark(m, 0, 1, "parts");
	assert_true(marks_fresh(m, &nr)->late_ns >= 2 * MARK_WAIT_NS - (empty - before));
}

static void test_a_long_line_is_cut(void **state)
{
	struct marks *m = *state;
	const struct sample_mark *list;
	size_t nr;

	for (int i = 0; i < 100000; i++)
		take(m, "x");
	take(m, "\nnext\n");
	set_at(m, 1);
	list = marks_fresh(m, &nr);
	assert_int_equal(nr, 2);
	assert_int_equal(list[0].len, MARK_TEXT_MAX);
	check_mark(m, 1, 1, "next");
}

static void test_too_many_are_counted(void **state)
{
	struct marks *m = *state;
	size_t nr;

	for (int i = 0; i < MARKS_MAX + 7; i++) {
		assert_int_equal(marks_full(m), i >= MARKS_MAX);
		take(m, "m\n");
		set_at(m, 1);
		/* Storing marks does not make room for more. */
		if (i < MARKS_MAX - 1)
			marks_stored(m);
	}
	assert_int_equal(marks_dropped(m), 7);
	assert_int_equal(marks_fresh(m, &nr)[nr - 1].number, MARKS_MAX);
}

static void test_the_fifo_is_private_and_goes(void **state)
{
	struct invoker inv = {0};
	struct errtext err;
	struct marks *m = NULL;
	struct stat st;
	char path[256];
	size_t nr;
	int fd;

	assert_int_equal(invoker_current(&inv, &err), 0);
	assert_int_equal(marks_new(&inv, &m, &err), 0);
	snprintf(path, sizeof(path), "%s", marks_path(m));
	assert_int_equal(stat(path, &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_uid, inv.uid);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "epoch 1\npart", 12), 12);
	assert_int_equal(marks_waiting(m), 12);
	marks_read(m, 8);
	assert_int_equal(marks_waiting(m), 4);
	set_at(m, 3);
	assert_int_equal(marks_fresh(m, &nr)[0].len, strlen("epoch 1"));
	/* A writer that keeps the FIFO open is not ended by its later writes. */
	marks_free(m);
	assert_int_equal(stat(path, &st), -1);
	*strrchr(path, '/') = '\0';
	assert_int_equal(stat(path, &st), -1);
	for (int i = 0; i < 100; i++)
		assert_int_equal(write(fd, path, sizeof(path)), sizeof(path));
	close(fd);
	invoker_free(&inv);
}

static void __attribute__((noreturn)) write_without_end(int fd)
{
	static char lines[65536];

	memset(lines, '\n', sizeof(lines));
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (write(fd, lines, sizeof(lines)) > 0)
		;
	_exit(1);
}

static void test_a_flood_does_not_delay_the_end(void **state)
{
	struct invoker inv = {0};
	struct errtext err;
	struct marks *m = NULL;
	struct pollfd p = {.events = POLLIN};
	pid_t writers[4];
	int fd;

	assert_int_equal(invoker_current(&inv, &err), 0);
	assert_int_equal(marks_new(&inv, &m, &err), 0);
	fd = open(marks_path(m), O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	for (int i = 0; i < 4; i++) {
		writers[i] = fork();
		assert_true(writers[i] >= 0);
		if (!writers[i])
			write_without_end(fd);
	}
	close(fd);
	p.fd = marks_fd(m);
	assert_int_equal(poll(&p, 1, 20000), 1);
	/* Fails the test if it takes long. */
	alarm(20);
	marks_free(m);
	alarm(0);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(waitpid(writers[i], NULL, WNOHANG), 0);
		kill(writers[i], SIGKILL);
		waitpid(writers[i], NULL, 0);
	}
	invoker_free(&inv);
}

/* This process has one child; UINT64_MAX: not known. */
static uint64_t permitted_of_child(void)
{
	char path[64], line[256];
	unsigned long long mask = UINT64_MAX;
	int pid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	f = fopen(path, "re");
	if (!f || fscanf(f, "%d", &pid) != 1)
		return UINT64_MAX;
	fclose(f);
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "CapPrm: %llx", &mask) == 1)
			break;
	if (f)
		fclose(f);
	return mask;
}

/* 0, or the number of the step that failed. */
static int check_guard_of_user(void)
{
	struct invoker inv = {0};
	struct errtext err;
	struct marks *m = NULL;
	uint64_t left;

	/* As a user with the capabilities of a unit or of the program's file. */
	unsetenv("SUDO_UID");
	if (prctl(PR_SET_KEEPCAPS, 1) || setgroups(0, NULL) || setresgid(65534, 65534, 65534) ||
	    setresuid(65534, 65534, 65534))
		return 1;
	if (privileges_use(PRIVILEGE(CAP_SYS_ADMIN)) || !privileges_effective())
		return 2;
	if (invoker_current(&inv, &err) || inv.switched || marks_new(&inv, &m, &err))
		return 3;
	left = permitted_of_child();
	marks_free(m);
	invoker_free(&inv);
	return left ? 4 : 0;
}

static void test_the_guard_has_no_capabilities(void **state)
{
	int status;
	pid_t child;

	if (geteuid() != 0) {
		print_message("SKIP: becoming another user needs root\n");
		skip();
	}
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(check_guard_of_user());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_lines, begin, end),
		cmocka_unit_test_setup_teardown(test_late, begin, end),
		cmocka_unit_test_setup_teardown(test_a_long_line_is_cut, begin, end),
		cmocka_unit_test_setup_teardown(test_too_many_are_counted, begin, end),
		cmocka_unit_test(test_the_fifo_is_private_and_goes),
		cmocka_unit_test(test_a_flood_does_not_delay_the_end),
		cmocka_unit_test(test_the_guard_has_no_capabilities),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
