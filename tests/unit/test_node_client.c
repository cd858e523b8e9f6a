/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: daemon store account db access */
/*
 * A user asks the daemon's socket and reads the rows of a job: the server runs in this process, the
 * client in another one, as another user where the test runs as root.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <cmocka.h>
#include <grp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "cachemon/base/clock.h"
#include "cachemon/daemon/node_client.h"
#include "cachemon/daemon/node_server.h"
#include "cachemon/store/store_copy.h"
#include "test_store_fixture.h"

enum { ALICE = 4001, BOB = 4002 };

struct world {
	struct fixture f;
	char path[300];
	struct node_server *server;
	const char *text; /* of the next answer; NULL: the rows of run 1, for its user */
	bool unsealed;
};

/* As the daemon will: rows for the job's user only. */
static void answer(void *context, const struct node_peer *peer, const struct node_request *request,
		   struct node_answer *ret)
{
	struct world *w = context;
	struct errtext err;

	if (w->text) {
		snprintf(ret->text, sizeof(ret->text), "%s", w->text);
	} else if (!node_may_see(peer, ALICE)) {
		node_answer_error("this is the job of another user", 0, ret->text);
	} else if (store_copy_run(w->f.scratch.db, 1, &ret->fd, &err)) {
		node_answer_error(err.text, 0, ret->text);
	} else {
		strcpy(ret->text, "{\"ok\":true}");
	}
	if (w->unsealed)
		ret->fd = memfd_create("open", MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

static int setup_world(void **state)
{
	const struct store_run run = test_run();
	struct node_server_config c = {.admin_group = (gid_t)-1, .answer = answer};
	struct world *w = calloc(1, sizeof(*w));

	if (!w)
		return -1;
	w->f.scratch = scratch_make();
	assert_int_equal(chmod(w->f.scratch.dir, 0711), 0);
	begin(&w->f, &run, NULL);
	for (uint64_t n = 0; n < 10; n++)
		write_ok(&w->f, n, 20);
	snprintf(w->path, sizeof(w->path), "%s/socket", w->f.scratch.dir);
	c.path = w->path;
	c.context = w;
	if (node_server_new(&c, &w->server, &w->f.err))
		fail_msg("%s", w->f.err.text);
	*state = w;
	return 0;
}

static int teardown_world(void **state)
{
	struct world *w = *state;

	node_server_free(w->server);
	store_close(w->f.st);
	ledger_free(w->f.l);
	scratch_remove(&w->f.scratch);
	free(w);
	return 0;
}

/* Runs a client and serves it until it has ended; its exit status. */
static int serve(struct world *w, uid_t uid, int (*client)(const struct world *w))
{
	int status = 0, ended[2];
	struct pollfd fds[2];
	pid_t pid;

	assert_int_equal(pipe2(ended, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		close(ended[0]);
		if (!geteuid() &&
		    (setgroups(0, NULL) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid)))
			_exit(100);
		_exit(client(w));
	}
	close(ended[1]);
	fds[0] = (struct pollfd){.fd = node_server_fd(w->server), .events = POLLIN};
	fds[1] = (struct pollfd){.fd = ended[0], .events = POLLIN};
	do {
		poll(fds, 2, 1000);
		node_server_work(w->server, clock_now_ns());
	} while (!fds[1].revents);
	close(ended[0]);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#define SNAPSHOT "{\"request\": \"snapshot\", \"job\": \"slurm:1\"}"

static int64_t first(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *stmt = NULL;
	int64_t v = -2;

	if (!sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) && sqlite3_step(stmt) == SQLITE_ROW)
		v = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return v;
}

static int reads_rows(const struct world *w)
{
	struct node_reply reply;
	struct db_image image;
	struct errtext err;
	sqlite3 *db;

	if (!access(w->f.scratch.db, R_OK) && geteuid() == ALICE)
		return 1; /* otherwise this test would show nothing */
	if (node_client_ask(w->path, SNAPSHOT, NODE_CLIENT_WAIT_MS, &reply, &err) || reply.fd < 0)
		return 2;
	if (node_client_map(reply.fd, &image, &err))
		return 3;
	if (db_read_image(&image, "slurm:1", &db, &err))
		return 7;
	if (first(db, "SELECT misses FROM job WHERE slot = 1") != test_misses(10))
		return 4;
	if (first(db, "SELECT count(*) FROM interval") != 10)
		return 5;
	if (sqlite3_exec(db, "DELETE FROM run", NULL, NULL, NULL) != SQLITE_READONLY)
		return 6;
	sqlite3_close(db);
	node_client_unmap(&image);
	return 0;
}

static void test_a_user_reads_the_rows(void **state)
{
	struct world *w = *state;

	if (geteuid()) {
		print_message("only root can run clients of other users\n");
		skip();
	}
	assert_int_equal(serve(w, ALICE, reads_rows), 0);
	assert_int_equal(serve(w, 0, reads_rows), 0);
}

static int is_refused(const struct world *w)
{
	struct node_reply reply;
	struct errtext err;

	if (node_client_ask(w->path, SNAPSHOT, NODE_CLIENT_WAIT_MS, &reply, &err) != -EREMOTEIO)
		return 1;
	return reply.fd < 0 && !strcmp(err.text, "this is the job of another user") ? 0 : 2;
}

static void test_another_user_is_refused(void **state)
{
	struct world *w = *state;

	if (geteuid())
		skip();
	assert_int_equal(serve(w, BOB, is_refused), 0);
}

static int rejects_open_file(const struct world *w)
{
	struct node_reply reply;
	struct db_image image;
	struct errtext err;

	if (node_client_ask(w->path, SNAPSHOT, NODE_CLIENT_WAIT_MS, &reply, &err) || reply.fd < 0)
		return 1;
	if (node_client_map(reply.fd, &image, &err) != -EPERM)
		return 2;
	return fcntl(reply.fd, F_GETFD) < 0 && strstr(err.text, "can still change") ? 0 : 3;
}

/* A file that its writer could change below the reader. */
static void test_a_file_that_is_not_sealed(void **state)
{
	struct world *w = *state;

	w->text = "{\"ok\":true}";
	w->unsealed = true;
	assert_int_equal(serve(w, ALICE, rejects_open_file), 0);
}

static int rejects_text(const struct world *w)
{
	struct node_reply reply;
	struct errtext err;
	int e = node_client_ask(w->path, SNAPSHOT, NODE_CLIENT_WAIT_MS, &reply, &err);

	return e == -EBADMSG && reply.fd < 0 ? 0 : 1;
}

static void test_an_answer_that_is_not_json(void **state)
{
	struct world *w = *state;

	w->text = "hello";
	assert_int_equal(serve(w, ALICE, rejects_text), 0);
	w->text = "[]";
	w->unsealed = true;
	assert_int_equal(serve(w, ALICE, rejects_text), 0);
}

static int sees_an_end(const struct world *w)
{
	struct node_reply reply;
	struct errtext err;

	return node_client_ask(w->path, SNAPSHOT, NODE_CLIENT_WAIT_MS, &reply, &err) == -ECONNRESET
		       ? 0
		       : 1;
}

static void test_no_answer(void **state)
{
	struct world *w = *state;

	w->text = "";
	assert_int_equal(serve(w, ALICE, sees_an_end), 0);
}

static void test_no_daemon(void **state)
{
	struct world *w = *state;
	struct node_reply reply;
	struct errtext err;
	char path[400];

	snprintf(path, sizeof(path), "%s/none", w->f.scratch.dir);
	assert_int_equal(node_client_ask(path, SNAPSHOT, NODE_CLIENT_WAIT_MS, &reply, &err),
			 -ENOENT);
	assert_non_null(strstr(err.text, "cannot reach the daemon at "));
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(node_client_ask(path, SNAPSHOT, NODE_CLIENT_WAIT_MS, &reply, &err),
			 -ENAMETOOLONG);
}

/* Connected, because the queue of the socket has room, but never accepted. */
static void test_a_daemon_that_hangs(void **state)
{
	struct world *w = *state;
	uint64_t from_ns = clock_now_ns(), waited_ms;
	struct node_reply reply;
	struct errtext err;

	assert_int_equal(node_client_ask(w->path, SNAPSHOT, 300, &reply, &err), -ETIMEDOUT);
	waited_ms = (clock_now_ns() - from_ns) / 1000000;
	assert_in_range(waited_ms, 300, 5000);
	assert_non_null(strstr(err.text, "no answer in time from the daemon at "));
}

#define CLIENT_TEST(t) cmocka_unit_test_setup_teardown(t, setup_world, teardown_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CLIENT_TEST(test_a_user_reads_the_rows),
		CLIENT_TEST(test_another_user_is_refused),
		CLIENT_TEST(test_a_file_that_is_not_sealed),
		CLIENT_TEST(test_an_answer_that_is_not_json),
		CLIENT_TEST(test_no_answer),
		CLIENT_TEST(test_no_daemon),
		CLIENT_TEST(test_a_daemon_that_hangs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
