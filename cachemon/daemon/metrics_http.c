/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/daemon/metrics_http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cachemon/access/access.h"
#include "cachemon/access/invoker.h"
#include "cachemon/access/privileges.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/base/pass_fd.h"
#include "cachemon/base/process.h"
#include "cachemon/daemon/metrics_server.h"

/* A scraper that finds no place in the queue tries again. */
enum { BACKLOG = 128, TEXT_MAX = 16 << 20, START_MS = 10000 };

/* Neither a user's nor a service's, some of which run as nobody (65534): processes of one user may
 * end each other. No range of Linux's distributions, systemd, SSSD, FreeIPA or subuid(5) has it. */
enum { OWN_USER = 2147483000 };

struct metrics_http {
	int channel;
	pid_t pid;
};

struct lengths {
	uint64_t text, open;
};

static int listen_at(const struct sockaddr_storage *at, int *ret, struct errtext *err)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)at;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)at;
	bool six = at->ss_family == AF_INET6;
	int fd = socket(at->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1;
	char host[INET6_ADDRSTRLEN] = "";
	int e;

	if (fd >= 0 && !setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) &&
	    !bind(fd, (const struct sockaddr *)at, six ? sizeof(*v6) : sizeof(*v4)) &&
	    !listen(fd, BACKLOG)) {
		*ret = fd;
		return 0;
	}
	e = -errno;
	if (fd >= 0)
		close(fd);
	inet_ntop(at->ss_family, six ? (const void *)&v6->sin6_addr : (const void *)&v4->sin_addr,
		  host, sizeof(host));
	return errtext_set(err, e, "metrics.listen: cannot listen on %s%s%s:%u: %s", six ? "[" : "",
			   host, six ? "]" : "", ntohs(six ? v6->sin6_port : v4->sin_port),
			   strerror(-e));
}

/* Keeps only the socket and the channel, and no right. */
static int confine(int listen_fd, int channel, pid_t parent)
{
	const struct invoker own = {.uid = OWN_USER, .gid = OWN_USER, .switched = true};
	const struct rlimit none = {0, 0};
	int null = access_open(AT_FDCWD, "/dev/null", O_RDWR, 0, ACCESS_STREAM);
	const int keep[] = {channel, listen_fd, null};
	int r = null < 0 ? null : process_keep_only(keep, 3);

	if (!r)
		r = geteuid() ? privileges_keep(0) : invoker_drop_permanently(&own);
	if (!r && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || setrlimit(RLIMIT_CORE, &none) ||
		   prctl(PR_SET_NAME, "cachemon-http") || prctl(PR_SET_PDEATHSIG, SIGKILL)))
		r = -errno;
	if (!r)
		r = process_untraceable();
	return r ? r : getppid() == parent ? 0 : -ESRCH;
}

static void __attribute__((noreturn))
serve(int listen_fd, int channel, pid_t parent, const struct web_config *web)
{
	struct errtext err = {""};
	struct metrics_server *server = NULL;
	int r = confine(listen_fd, channel, parent);

	if (r)
		errtext_set(&err, r, "cannot give up privileges: %s", strerror(-r));
	else
		r = metrics_server_new(1, web, &server, &err);
	if (send(0, &err, sizeof(err), MSG_NOSIGNAL) < 0 || r)
		_exit(EXIT_FAILURE);
	metrics_server_run(server, 0);
	_exit(EXIT_SUCCESS);
}

static int wait_started(struct metrics_http *h, struct errtext *err)
{
	struct pollfd p = {.fd = h->channel, .events = POLLIN};
	struct errtext said;

	if (poll(&p, 1, START_MS) <= 0 || recv(h->channel, &said, sizeof(said), 0) != sizeof(said))
		return errtext_set(err, -EIO, "the metrics server does not start");
	return *said.text ? errtext_set(err, -EINVAL, "cannot serve metrics: %s", said.text) : 0;
}

int metrics_http_new(const struct sockaddr_storage *listen, const struct web_config *web,
		     struct metrics_http **ret, struct errtext *err)
{
	struct metrics_http *h = calloc(1, sizeof(*h));
	_cleanup_close_ int listen_fd = -1;
	pid_t parent = getpid();
	int pair[2], r;

	if (!h)
		return errtext_set(err, -ENOMEM, "out of memory");
	h->channel = -1;
	r = listen_at(listen, &listen_fd, err);
	if (!r && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		r = errtext_set(err, -errno, "cannot serve metrics: %s", strerror(errno));
	if (!r) {
		h->channel = pair[0];
		h->pid = fork();
		if (!h->pid)
			serve(listen_fd, pair[1], parent, web);
		close(pair[1]);
		r = h->pid < 0
			    ? errtext_set(err, -errno, "cannot serve metrics: %s", strerror(errno))
			    : wait_started(h, err);
	}
	if (r)
		metrics_http_free(h);
	else
		*ret = h;
	return r;
}

void metrics_http_free(struct metrics_http *h)
{
	if (!h)
		return;
	/* That is its end. */
	if (h->channel >= 0)
		close(h->channel);
	if (h->pid > 0)
		while (waitpid(h->pid, NULL, 0) < 0 && errno == EINTR)
			;
	free(h);
}

static int write_all(int fd, const char *text, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = write(fd, text + done, len - done);

		if (n < 0)
			return -errno;
		done += (size_t)n;
	}
	return 0;
}

int metrics_http_publish(struct metrics_http *h, const struct metrics_texts *texts,
			 struct errtext *err)
{
	const struct lengths lengths = {texts->text_len, texts->open_len};
	_cleanup_close_ int fd = memfd_create("cachemon-metrics", MFD_CLOEXEC);
	int r = fd < 0 ? -errno : write_all(fd, texts->text, texts->text_len);

	if (!r)
		r = write_all(fd, texts->open, texts->open_len);
	if (!r)
		r = pass_fd_send(h->channel, &lengths, sizeof(lengths), fd,
				 MSG_DONTWAIT | MSG_NOSIGNAL);
	if (!r || r == -EAGAIN)
		return 0;
	return r == -EPIPE || r == -ECONNRESET
		       ? errtext_set(err, -EPIPE,
				     "the metrics server has ended unexpectedly: restart cachemon "
				     "daemon to serve metrics again")
		       : errtext_set(err, r, "cannot publish metrics: %s", strerror(-r));
}

static int read_text(int fd, uint64_t from, uint64_t len, char **ret)
{
	char *text = len <= TEXT_MAX ? malloc(len + 1) : NULL;

	if (!text)
		return -ENOMEM;
	if (pread(fd, text, len, (off_t)from) != (ssize_t)len) {
		free(text);
		return -EIO;
	}
	*ret = text;
	return 0;
}

int metrics_http_receive(int channel, struct metrics_texts *ret)
{
	struct lengths lengths;
	_cleanup_close_ int fd = -1;
	ssize_t n = pass_fd_receive(channel, &lengths, sizeof(lengths), MSG_DONTWAIT, &fd);
	int r;

	if (n == -EAGAIN || n == -EINTR)
		return -EAGAIN;
	if (n != sizeof(lengths) || fd < 0)
		return -EPIPE;
	memset(ret, 0, sizeof(*ret));
	r = read_text(fd, 0, lengths.text, &ret->text);
	if (!r)
		r = read_text(fd, lengths.text, lengths.open, &ret->open);
	if (r) {
		free(ret->text);
		return r;
	}
	ret->text_len = lengths.text;
	ret->open_len = lengths.open;
	return 0;
}
