/* SPDX-License-Identifier: BSD-2-Clause */
/* Any bytes to the metrics server, over a socket: there is one answer with a known status or none,
 * the connection ends, and only the right password gets the figures. */
#include "fuzz.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cachemon/daemon/metrics_http.h"
#include "cachemon/daemon/metrics_server.h"

#define FIGURES	 "the figures"
#define PASSWORD "dTpw" /* base64 of u:p */

enum { TURNS_MAX = 1000, ANSWER_MAX = 1 << 14 };

struct served {
	struct sockaddr_un at;
	socklen_t at_len;
	struct metrics_server *server;
};

/* The daemon of this fuzzer: figures, then the end, so that the server runs for one turn. */
int metrics_http_receive(int channel, struct metrics_texts *ret)
{
	char end;

	if (!recv(channel, &end, 1, MSG_DONTWAIT | MSG_PEEK))
		return -EPIPE;
	if (recv(channel, &end, 1, MSG_DONTWAIT) != 1)
		return -EAGAIN;
	*ret = (struct metrics_texts){strdup(FIGURES), strdup(FIGURES), strlen(FIGURES),
				      strlen(FIGURES)};
	return 0;
}

static void one_turn(struct metrics_server *s, bool texts)
{
	int pair[2];

	MUST(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	MUST(!texts || send(pair[1], "", 1, 0) == 1);
	close(pair[1]);
	metrics_server_run(s, pair[0]);
	close(pair[0]);
}

static void serve(struct served *of, const struct web_config *web)
{
	struct errtext err = {""};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	of->at.sun_family = AF_UNIX; /* the kernel chooses a name */
	of->at_len = sizeof(of->at);
	MUST(fd >= 0 && !bind(fd, (struct sockaddr *)&of->at, sizeof(sa_family_t)));
	MUST(!getsockname(fd, (struct sockaddr *)&of->at, &of->at_len) && !listen(fd, 8));
	MUST(!metrics_server_new(fd, web, &of->server, &err));
	one_turn(of->server, true);
}

/* The bytes that came until the end, which must come. */
static size_t ask(const struct served *of, const uint8_t *data, size_t size, char *answer)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	size_t sent = 0, len = 0;
	ssize_t n = -1;

	MUST(fd >= 0 && !connect(fd, (const struct sockaddr *)&of->at, of->at_len));
	for (int turn = 0; n && turn < TURNS_MAX; turn++) {
		if (sent < size && (n = send(fd, data + sent, size - sent, MSG_NOSIGNAL)) > 0)
			sent += (size_t)n;
		else if (sent < size && errno != EAGAIN)
			sent = size;
		if (sent == size)
			shutdown(fd, SHUT_WR);
		one_turn(of->server, false);
		n = recv(fd, answer + len, ANSWER_MAX - len, 0);
		len += n > 0 ? (size_t)n : 0;
		if (n < 0 && errno != EAGAIN)
			n = 0;
	}
	MUST(!n);
	close(fd);
	return len;
}

static void check(const uint8_t *data, size_t size, const char *answer, size_t len, bool password)
{
	static const int known[] = {100, 200, 400, 401, 404, 405, 413,
				    414, 429, 431, 500, 501, 503, 505};
	bool is_known = false;

	if (!len)
		return;
	MUST(len > 13 && !strncmp(answer, "HTTP/1.", 7));
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		is_known |= atoi(answer + 9) == known[i];
	MUST(is_known);
	if (password && memmem(answer, len, FIGURES, strlen(FIGURES)))
		MUST(memmem(data, size, PASSWORD, strlen(PASSWORD)));
}

/* The first bit chooses whether a password is asked. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct web_user user = {
		"u", "$2b$04$abcdefghijklmnopqrstuudMegMbPN37MbpdEfAtP66w1z0RBCtLG"};
	static const struct web_config web[] = {{0}, {.users = &user, .nr_users = 1}};
	static struct served all[2];
	static char answer[ANSWER_MAX];
	bool password = size && *data & 1;

	if (!all[0].server) {
		serve(&all[0], &web[0]);
		serve(&all[1], &web[1]);
	}
	if (size)
		check(data + 1, size - 1, answer, ask(&all[password], data + 1, size - 1, answer),
		      password);
	return 0;
}
