/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: daemon */
/* The reports of a service, received on a real socket. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachemon/base/clock.h"
#include "cachemon/base/service.h"
#include "scratch.h"

#define SECOND UINT64_C(1000000000)

struct world {
	struct scratch scratch;
	char path[PATH_MAX];
	int fd;
	struct service service;
	struct errtext err;
};

static int listen_at(const char *name)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	size_t len = strlen(name);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0 && len < sizeof(a.sun_path));
	memcpy(a.sun_path, name, len);
	if (*name == '@')
		a.sun_path[0] = '\0';
	assert_int_equal(
		bind(fd, (struct sockaddr *)&a, offsetof(struct sockaddr_un, sun_path) + len), 0);
	return fd;
}

static void set(const char *name, const char *value)
{
	assert_int_equal(value ? setenv(name, value, 1) : unsetenv(name), 0);
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	if (!w)
		return -1;
	scratch_new(&w->scratch);
	scratch_path(&w->scratch, "notify", w->path);
	w->fd = listen_at(w->path);
	set("NOTIFY_SOCKET", w->path);
	set("WATCHDOG_USEC", NULL);
	set("WATCHDOG_PID", NULL);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	service_close(&w->service);
	close(w->fd);
	scratch_free(&w->scratch);
	free(w);
	return 0;
}

static void opened(struct world *w)
{
	if (service_open(&w->service, &w->err))
		fail_msg("%s", w->err.text);
}

/* The next message, or "" if nothing was sent. */
static void expect(struct world *w, const char *want)
{
	char got[256] = "";

	if (recv(w->fd, got, sizeof(got) - 1, 0) < 0)
		assert_int_equal(errno, EAGAIN);
	assert_string_equal(got, want);
}

static void test_ready_and_stopping(void **state)
{
	struct world *w = *state;

	opened(w);
	assert_int_equal(service_ready(&w->service, &w->err), 0);
	service_stopping(&w->service);
	expect(w, "READY=1");
	expect(w, "STOPPING=1");
	expect(w, "");
}

static void test_reloading(void **state)
{
	struct world *w = *state;
	uint64_t from = clock_now_ns() / 1000, at = 0;
	char got[256] = "";

	opened(w);
	service_reloading(&w->service);
	assert_true(recv(w->fd, got, sizeof(got) - 1, 0) > 0);
	assert_int_equal(sscanf(got, "RELOADING=1\nMONOTONIC_USEC=%" SCNu64, &at), 1);
	assert_in_range(at, from, clock_now_ns() / 1000);
}

static void test_number_of_jobs(void **state)
{
	struct world *w = *state;

	opened(w);
	for (uint64_t now = 1; now < 4; now++)
		assert_true(service_alive(&w->service, 0, now) == UINT64_MAX);
	expect(w, "STATUS=watching 0 jobs");
	expect(w, "");
	service_alive(&w->service, 1, 5);
	service_alive(&w->service, 2, 6);
	expect(w, "STATUS=watching 1 job");
	expect(w, "STATUS=watching 2 jobs");
	expect(w, "");
}

static void test_watchdog(void **state)
{
	struct world *w = *state;
	char pid[24];

	snprintf(pid, sizeof(pid), "%d", getpid());
	set("WATCHDOG_USEC", "3000000");
	set("WATCHDOG_PID", pid);
	opened(w);
	assert_int_equal(service_alive(&w->service, 0, 10 * SECOND), 11 * SECOND + SECOND / 2);
	expect(w, "STATUS=watching 0 jobs");
	expect(w, "WATCHDOG=1");
	assert_int_equal(service_alive(&w->service, 0, 11 * SECOND), 11 * SECOND + SECOND / 2);
	expect(w, "");
	assert_int_equal(service_alive(&w->service, 0, 12 * SECOND), 13 * SECOND + SECOND / 2);
	expect(w, "WATCHDOG=1");
	expect(w, "");
}

/* Of another process, or of none. */
static void test_no_watchdog(void **state)
{
	static const char *const of[][2] = {
		{"1000000", "1"}, {"0", NULL}, {"soon", NULL}, {"-1", NULL}, {NULL, NULL}};
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		set("WATCHDOG_USEC", of[i][0]);
		set("WATCHDOG_PID", of[i][1]);
		opened(w);
		assert_true(service_alive(&w->service, 0, SECOND) == UINT64_MAX);
		expect(w, "STATUS=watching 0 jobs");
		expect(w, "");
		service_close(&w->service);
	}
}

static void test_abstract_name(void **state)
{
	struct world *w = *state;
	char name[64];

	snprintf(name, sizeof(name), "@cachemon-test-%d", getpid());
	close(w->fd);
	w->fd = listen_at(name);
	set("NOTIFY_SOCKET", name);
	opened(w);
	assert_int_equal(service_ready(&w->service, &w->err), 0);
	expect(w, "READY=1");
}

static void test_nobody_listens(void **state)
{
	struct world *w = *state;

	set("NOTIFY_SOCKET", NULL);
	opened(w);
	assert_int_equal(service_ready(&w->service, &w->err), 0);
	assert_true(service_alive(&w->service, 7, SECOND) == UINT64_MAX);
	expect(w, "");
	set("NOTIFY_SOCKET", w->path);
	unlink(w->path);
	opened(w);
	assert_int_equal(service_ready(&w->service, &w->err), -ENOENT);
	assert_string_equal(w->err.text,
			    "cannot report to $NOTIFY_SOCKET: No such file or directory");
}

static void test_wrong_address(void **state)
{
	struct world *w = *state;
	char name[256];

	set("NOTIFY_SOCKET", "vsock:2:1");
	assert_int_equal(service_open(&w->service, &w->err), -EINVAL);
	assert_string_equal(w->err.text,
			    "cannot report to NOTIFY_SOCKET=vsock:2:1: not a path or @NAME");
	memset(name, '/', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	set("NOTIFY_SOCKET", name);
	assert_int_equal(service_open(&w->service, &w->err), -EINVAL);
	assert_non_null(strstr(w->err.text, "the name is too long"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_ready_and_stopping), TEST(test_reloading),	 TEST(test_number_of_jobs),
		TEST(test_watchdog),	       TEST(test_no_watchdog),	 TEST(test_abstract_name),
		TEST(test_nobody_listens),     TEST(test_wrong_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
