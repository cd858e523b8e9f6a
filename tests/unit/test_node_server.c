/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: daemon */
/*
 * The users' socket, with real connections of several users. The test's own process connects as
 * another effective user, which the kernel reports to the server.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cachemon/base/cleanup.h"
#include "cachemon/daemon/node_server.h"
#include "scratch.h"

#define MS    UINT64_C(1000000)
#define HELLO "{\"request\": \"hello\"}"

enum { ALICE = 4001, BOB = 4002, ADMINS = 4100 };

struct world {
	struct scratch scratch;
	char path[PATH_MAX];
	struct node_server *server;
	uint64_t now;
	int answered;
	struct node_peer peer; /* of the last request */
	struct node_request request;
	int fd;	   /* given with the next answer */
	bool keep; /* the connection of the next answer */
	int gone;  /* kept connections that ended */
	unsigned int gone_place;
	struct errtext err;
};

static void answer(void *context, const struct node_peer *peer, const struct node_request *request,
		   struct node_answer *ret)
{
	struct world *w = context;

	w->answered++;
	w->peer = *peer;
	w->request = *request;
	strcpy(ret->text, "{\"ok\":true}");
	ret->fd = w->fd;
	w->fd = -1;
	ret->keep = w->keep;
	w->keep = false;
}

static void gone(void *context, unsigned int place)
{
	struct world *w = context;

	w->gone++;
	w->gone_place = place;
}

static struct node_server_config config(struct world *w)
{
	return (struct node_server_config){.path = w->path,
					   .admin_group = ADMINS,
					   .answer = answer,
					   .gone = gone,
					   .context = w};
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct node_server_config c;

	if (!w)
		return -1;
	scratch_new(&w->scratch);
	assert_int_equal(chmod(w->scratch.dir, 0755), 0);
	scratch_path(&w->scratch, "socket", w->path);
	w->now = 1000 * MS;
	w->fd = -1;
	c = config(w);
	if (node_server_new(&c, &w->server, &w->err))
		fail_msg("%s", w->err.text);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	node_server_free(w->server);
	scratch_free(&w->scratch);
	free(w);
	return 0;
}

static void work(struct world *w)
{
	node_server_work(w->server, w->now);
}

static int connect_of(const struct world *w, int type)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0);
	strcpy(a.sun_path, w->path);
	if (!connect(fd, (const struct sockaddr *)&a, sizeof(a)))
		return fd;
	close(fd);
	return -errno;
}

/* The server sees this user. */
static int connect_as(const struct world *w, uid_t uid)
{
	int fd;

	assert_int_equal(seteuid(uid), 0);
	fd = connect_of(w, SOCK_SEQPACKET);
	assert_int_equal(seteuid(0), 0);
	assert_true(fd >= 0);
	return fd;
}

static void need_root(void)
{
	if (geteuid()) {
		print_message("only root can connect as other users\n");
		skip();
	}
}

static void say(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* "": closed without an answer; NULL: still open. Valid until the next call. */
static const char *heard(int fd)
{
	static char text[NODE_MESSAGE_MAX + 1];
	ssize_t n = recv(fd, text, sizeof(text) - 1, 0);

	if (n < 0 && errno == EAGAIN)
		return NULL;
	text[n > 0 ? n : 0] = '\0';
	return text;
}

static void expect(int fd, const char *text)
{
	const char *is = heard(fd);

	if (!is || !strstr(is, text) || (!*text && *is))
		fail_msg("'%s' is not '%s'", is ?: "(open)", text);
}

/* One request of a user, from the connection to the end. */
static void ask(struct world *w, uid_t uid, const char *request, const char *text)
{
	_cleanup_close_ int fd = connect_as(w, uid);

	say(fd, request);
	work(w);
	work(w);
	expect(fd, text);
	expect(fd, "");
}

static int open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int nr = 0;

	assert_non_null(d);
	while (readdir(d))
		nr++;
	closedir(d);
	return nr;
}

static void test_users_are_known(void **state)
{
	struct world *w = *state;

	need_root();
	ask(w, ALICE, HELLO, "{\"ok\":true}");
	assert_int_equal(w->peer.uid, ALICE);
	assert_int_equal(w->peer.pid, getpid());
	assert_false(w->peer.admin);
	ask(w, BOB, "{\"request\": \"snapshot\", \"job\": \"slurm:1\"}", "{\"ok\":true}");
	assert_int_equal(w->peer.uid, BOB);
	assert_int_equal(w->request.verb, NODE_SNAPSHOT);
	ask(w, 0, HELLO, "{\"ok\":true}");
	assert_int_equal(w->peer.uid, 0);
	assert_true(w->peer.admin);
	assert_int_equal(w->answered, 3);
	assert_int_equal(node_server_due(w->server), 0);
}

static bool is_admin(struct world *w, gid_t gid, gid_t other)
{
	int fd = -1, status;
	pid_t pid = fork();

	if (!pid) {
		char text[64];

		if (setgroups(1, &other) || setresgid(gid, gid, gid) ||
		    setresuid(ALICE, ALICE, ALICE))
			_exit(1);
		fd = connect_of(w, SOCK_SEQPACKET);
		if (fd < 0 || send(fd, HELLO, strlen(HELLO), 0) < 0 || fcntl(fd, F_SETFL, 0) ||
		    recv(fd, text, sizeof(text), 0) <= 0)
			_exit(2);
		_exit(0);
	}
	w->answered = 0;
	while (!w->answered && !waitpid(pid, &status, WNOHANG))
		work(w);
	if (w->answered)
		waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	w->now += 1000 * MS;
	return w->peer.admin;
}

static void test_admins(void **state)
{
	need_root();
	assert_false(is_admin(*state, ALICE, ALICE));
	assert_true(is_admin(*state, ADMINS, ALICE));
	assert_true(is_admin(*state, ALICE, ADMINS));
}

static void test_errors_of_requests(void **state)
{
	struct world *w = *state;

	need_root();
	ask(w, ALICE, "hello", "{\"error\":\"a request is one object in JSON\"}");
	ask(w, ALICE, "{\"request\":\"stop\"}", "{\"error\":\"unknown request;");
	assert_int_equal(w->answered, 0);
}

static void test_length(void **state)
{
	char text[NODE_MESSAGE_MAX + 2];
	struct world *w = *state;

	need_root();
	memset(text, ' ', sizeof(text));
	memcpy(text, HELLO, strlen(HELLO));
	text[NODE_MESSAGE_MAX] = '\0';
	ask(w, ALICE, text, "{\"ok\":true}");
	text[NODE_MESSAGE_MAX] = ' ';
	text[NODE_MESSAGE_MAX + 1] = '\0';
	ask(w, ALICE, text, "{\"error\":\"a message has at most 4096 bytes\"}");
}

static void test_silence(void **state)
{
	struct world *w = *state;
	_cleanup_close_ int fd = -1;

	need_root();
	fd = connect_as(w, ALICE);
	work(w);
	assert_int_equal(node_server_due(w->server), w->now + 1000 * MS);
	w->now += 1000 * MS - 1;
	work(w);
	assert_null(heard(fd));
	w->now++;
	work(w);
	expect(fd, "");
	assert_int_equal(node_server_due(w->server), 0);
}

/* A user who keeps connections open takes nothing from others. */
static void test_many_connections(void **state)
{
	struct world *w = *state;
	int fds[NODE_CONNECTIONS], more;

	need_root();
	for (int i = 0; i < NODE_CONNECTIONS; i++)
		fds[i] = connect_as(w, ALICE);
	work(w);
	more = connect_as(w, ALICE);
	work(w);
	expect(more, "{\"error\":\"too many connections of this user;");
	close(more);
	ask(w, BOB, HELLO, "{\"ok\":true}");
	ask(w, 0, HELLO, "{\"ok\":true}");
	say(fds[3], HELLO);
	work(w);
	expect(fds[3], "{\"ok\":true}");
	w->now += 500 * MS;
	ask(w, ALICE, HELLO, "{\"ok\":true}");
	w->now += 500 * MS;
	work(w);
	for (int i = 0; i < NODE_CONNECTIONS; i++) {
		expect(fds[i], "");
		close(fds[i]);
	}
}

static void test_rate(void **state)
{
	static const char slow[] = "{\"error\":\"too many requests of this user;";
	struct world *w = *state;

	need_root();
	for (int i = 0; i < NODE_RATE; i++)
		ask(w, ALICE, i % 2 ? HELLO : "nonsense", i % 2 ? "ok" : "error");
	ask(w, ALICE, HELLO, slow);
	ask(w, BOB, HELLO, "ok");
	for (int i = 0; i < 20; i++)
		ask(w, 0, HELLO, "ok"); /* a hundred jobs may begin at once */
	w->now += 199 * MS;
	ask(w, ALICE, HELLO, slow);
	w->now += 1 * MS;
	ask(w, ALICE, HELLO, "ok");
	ask(w, ALICE, HELLO, slow);
	w->now += 60000 * MS;
	for (int i = 0; i < NODE_RATE; i++)
		ask(w, ALICE, HELLO, "ok");
	ask(w, ALICE, HELLO, slow);
}

/* It is silent as long as it likes, has one more request, and is answered later. */
static void test_kept(void **state)
{
	struct node_answer last = {.text = "{\"last\":true}", .fd = -1};
	struct world *w = *state;
	unsigned int place;
	int fd;

	need_root();
	fd = connect_as(w, ALICE);
	w->keep = true;
	say(fd, HELLO);
	work(w);
	work(w);
	expect(fd, "{\"ok\":true}");
	assert_false(w->peer.kept);
	place = w->peer.place;
	assert_int_equal(node_server_due(w->server), 0);
	w->now += 3600 * 1000 * MS;
	work(w);
	assert_null(heard(fd));
	for (int i = 0; i < NODE_RATE; i++)
		ask(w, ALICE, HELLO, "ok");
	w->keep = true; /* the limit of requests is reached */
	say(fd, HELLO);
	work(w);
	assert_true(w->peer.kept);
	assert_int_equal(w->peer.place, place);
	expect(fd, "{\"ok\":true}");
	node_server_tell(w->server, place, &last);
	expect(fd, "{\"last\":true}");
	expect(fd, "");
	assert_int_equal(w->gone, 0);
	close(fd);
}

/* By its client, by an invalid request, and by an answer that does not keep it. */
static void test_kept_ends(void **state)
{
	struct world *w = *state;

	need_root();
	for (int how = 0; how < 3; how++) {
		int fd = connect_as(w, BOB);

		w->keep = true;
		say(fd, HELLO);
		work(w);
		work(w);
		expect(fd, "{\"ok\":true}");
		assert_int_equal(w->gone, how);
		if (how == 1)
			say(fd, "nonsense");
		else if (how == 2)
			say(fd, HELLO);
		else
			close(fd);
		work(w);
		assert_int_equal(w->gone, how + 1);
		assert_int_equal(w->gone_place, w->peer.place);
		if (!how)
			continue;
		expect(fd, how == 1 ? "error" : "ok");
		expect(fd, "");
		close(fd);
	}
}

/* A user's kept connections count among those of the user. */
static void test_many_kept(void **state)
{
	struct world *w = *state;
	int fds[NODE_CONNECTIONS];

	need_root();
	for (int i = 0; i < NODE_CONNECTIONS; i++) {
		fds[i] = connect_as(w, ALICE);
		w->keep = true;
		say(fds[i], HELLO);
		work(w);
		work(w);
		expect(fds[i], "{\"ok\":true}");
		w->now += 1000 * MS;
	}
	ask(w, ALICE, HELLO, "{\"error\":\"too many connections of this user;");
	ask(w, BOB, HELLO, "{\"ok\":true}");
	for (int i = 0; i < NODE_CONNECTIONS; i++)
		close(fds[i]);
	work(w);
	assert_int_equal(w->gone, NODE_CONNECTIONS);
	ask(w, ALICE, HELLO, "{\"ok\":true}");
}

/* Many users, or one with the ids of subuid(5), fill all places: the oldest silent ones give way,
 * and a request that has arrived is answered. */
static void test_many_users(void **state)
{
	enum { USERS = 17 };
	struct world *w = *state;
	int fds[USERS][NODE_CONNECTIONS], silent = 0;

	need_root();
	for (int u = 0; u < USERS; u++) {
		for (int i = 0; i < NODE_CONNECTIONS; i++)
			fds[u][i] = connect_as(w, (uid_t)(5000 + u));
		work(w);
		w->now += 1 * MS;
	}
	expect(fds[0][0], "{\"error\":\"too many connections; try again");
	/* As the next one that is the oldest. */
	assert_int_equal(send(fds[1][0], HELLO, strlen(HELLO), MSG_NOSIGNAL), strlen(HELLO));
	ask(w, ALICE, HELLO, "{\"ok\":true}");
	expect(fds[1][0], "{\"ok\":true}");
	ask(w, 0, HELLO, "{\"ok\":true}");
	for (int u = 0; u < USERS; u++)
		for (int i = 0; i < NODE_CONNECTIONS; i++)
			silent += u + i && !(u == 1 && !i) && !heard(fds[u][i]);
	assert_int_equal(silent, 255);
	w->now += 1000 * MS;
	work(w);
	for (int u = 0; u < USERS; u++)
		for (int i = 0; i < NODE_CONNECTIONS; i++)
			close(fds[u][i]);
	ask(w, ALICE, HELLO, "{\"ok\":true}");
}

/* More users than the server remembers: they are refused, until a second has passed. */
static void test_users_come_and_go(void **state)
{
	struct world *w = *state;

	need_root();
	for (uid_t u = 0; u < 512; u++)
		ask(w, 10000 + u, HELLO, "ok");
	ask(w, ALICE, HELLO, "too many connections; try again in a second");
	w->now += 200 * MS;
	ask(w, ALICE, HELLO, "ok");
}

static void test_closed_in_the_middle(void **state)
{
	struct world *w = *state;
	int before = open_fds();

	need_root();
	for (int i = 0; i < 4; i++) {
		int fd = connect_as(w, ALICE);

		if (i % 2)
			work(w);
		if (i / 2)
			say(fd, HELLO);
		close(fd);
		work(w);
		work(w);
	}
	assert_int_equal(open_fds(), before);
	assert_int_equal(node_server_due(w->server), 0);
	ask(w, ALICE, HELLO, "ok");
}

static void test_an_empty_message(void **state)
{
	struct world *w = *state;
	_cleanup_close_ int fd = -1;

	need_root();
	fd = connect_as(w, ALICE);
	assert_int_equal(send(fd, "", 0, 0), 0);
	work(w);
	work(w);
	expect(fd, "");
	assert_int_equal(w->answered, 0);
}

static void send_fd(int to, int fd)
{
	union {
		char space[CMSG_SPACE(sizeof(int))];
		struct cmsghdr head;
	} control = {.head = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
	struct iovec v = {(void *)HELLO, strlen(HELLO)};
	const struct msghdr m = {.msg_iov = &v,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control.space)};

	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	assert_int_equal(sendmsg(to, &m, 0), strlen(HELLO));
}

/* The pipe ends when nobody has its writing end any more. */
static void test_a_descriptor_is_passed_in(void **state)
{
	struct world *w = *state;
	int fd, before = open_fds(), ends[2];
	char byte;

	need_root();
	fd = connect_as(w, ALICE);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	send_fd(fd, ends[1]);
	close(ends[1]);
	work(w);
	work(w);
	expect(fd, "{\"error\":\"a request has no descriptors\"}");
	assert_int_equal(read(ends[0], &byte, 1), 0);
	close(ends[0]);
	close(fd);
	assert_int_equal(open_fds(), before);
	assert_int_equal(w->answered, 0);
}

static void test_an_answer_with_a_descriptor(void **state)
{
	union {
		char space[CMSG_SPACE(4 * sizeof(int))];
		struct cmsghdr head;
	} control;
	struct world *w = *state;
	char text[64];
	struct iovec v = {text, sizeof(text)};
	struct msghdr m = {.msg_iov = &v,
			   .msg_iovlen = 1,
			   .msg_control = &control,
			   .msg_controllen = sizeof(control)};
	int fd, given, before = open_fds();

	need_root();
	fd = connect_as(w, ALICE);
	w->fd = memfd_create("test", MFD_CLOEXEC);
	assert_int_equal(write(w->fd, "rows", 4), 4);
	say(fd, HELLO);
	work(w);
	work(w);
	assert_int_equal(recvmsg(fd, &m, MSG_CMSG_CLOEXEC), strlen("{\"ok\":true}"));
	assert_int_equal(control.head.cmsg_len, CMSG_LEN(sizeof(int)));
	memcpy(&given, CMSG_DATA(&control.head), sizeof(given));
	assert_int_equal(pread(given, text, sizeof(text), 0), 4);
	assert_memory_equal(text, "rows", 4);
	close(given);
	/* A client that leaves before its answer: the server closes the file. */
	close(fd);
	fd = connect_as(w, ALICE);
	w->fd = memfd_create("test", MFD_CLOEXEC);
	say(fd, HELLO);
	work(w);
	close(fd);
	work(w);
	assert_int_equal(open_fds(), before);
}

static void test_a_stream(void **state)
{
	assert_int_equal(connect_of(*state, SOCK_STREAM), -EPROTOTYPE);
}

static void test_places(void **state)
{
	struct world *w = *state;
	struct node_server_config c = config(w);
	struct node_server *other = NULL;
	char path[PATH_MAX], long_path[200];
	struct stat sb;

	assert_int_equal(node_server_new(&c, &other, &w->err), -EADDRINUSE);
	assert_non_null(strstr(w->err.text, "another daemon does. Stop it first"));
	scratch_write(&w->scratch, "file", "precious");
	c.path = scratch_path(&w->scratch, "file", path);
	assert_int_equal(node_server_new(&c, &other, &w->err), -EEXIST);
	assert_int_equal(stat(path, &sb), 0);
	assert_int_equal(sb.st_size, strlen("precious"));
	memset(long_path, 'a', sizeof(long_path));
	long_path[0] = '/';
	long_path[sizeof(long_path) - 1] = '\0';
	c.path = long_path;
	assert_int_equal(node_server_new(&c, &other, &w->err), -ENAMETOOLONG);
	c.path = scratch_path(&w->scratch, "none/socket", path);
	assert_int_equal(node_server_new(&c, &other, &w->err), -ENOENT);
}

/* The socket of a daemon that was killed. */
static void test_a_dead_socket(void **state)
{
	struct world *w = *state;
	struct node_server_config c = config(w);
	struct node_server *other = NULL;
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	char path[PATH_MAX];
	struct stat sb;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	c.path = scratch_path(&w->scratch, "dead", path);
	strcpy(a.sun_path, path);
	assert_int_equal(bind(fd, (const struct sockaddr *)&a, sizeof(a)), 0);
	close(fd);
	if (node_server_new(&c, &other, &w->err))
		fail_msg("%s", w->err.text);
	assert_int_equal(stat(path, &sb), 0);
	assert_int_equal(sb.st_mode & 0777, 0666);
	/* It removes its own socket only. */
	assert_int_equal(unlink(path), 0);
	scratch_write(&w->scratch, "dead", "another file");
	node_server_free(other);
	assert_int_equal(stat(path, &sb), 0);
}

#define SERVER_TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SERVER_TEST(test_users_are_known),
		SERVER_TEST(test_admins),
		SERVER_TEST(test_errors_of_requests),
		SERVER_TEST(test_length),
		SERVER_TEST(test_silence),
		SERVER_TEST(test_many_connections),
		SERVER_TEST(test_rate),
		SERVER_TEST(test_kept),
		SERVER_TEST(test_kept_ends),
		SERVER_TEST(test_many_kept),
		SERVER_TEST(test_many_users),
		SERVER_TEST(test_users_come_and_go),
		SERVER_TEST(test_closed_in_the_middle),
		SERVER_TEST(test_an_empty_message),
		SERVER_TEST(test_a_descriptor_is_passed_in),
		SERVER_TEST(test_an_answer_with_a_descriptor),
		SERVER_TEST(test_a_stream),
		SERVER_TEST(test_places),
		SERVER_TEST(test_a_dead_socket),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
