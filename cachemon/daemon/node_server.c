/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/daemon/node_server.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "cachemon/base/cleanup.h"
#include "cachemon/base/pass_fd.h"

/* Places are shared by all users; root has more, because it reports the jobs. */
enum { PLACES = 256, PLACES_OF_ROOT = 16, USERS = 512, BACKLOG = 64, EVENTS = 64 };

#define SECOND_NS UINT64_C(1000000000)
#define SPEAK_NS  (NODE_SPEAK_MS * UINT64_C(1000000))

/* A user's part of the limits that is used. */
struct user {
	uid_t uid;
	unsigned int connections;
	uint64_t full_ns; /* when all requests of a second are available again; 0: free entry */
};

struct place {
	int fd; /* < 0: free */
	struct node_peer peer;
	struct user *user;
	uint64_t due_ns; /* unless it is kept */
};

struct node_server {
	struct node_server_config config;
	char *path;
	int listener, epoll;
	dev_t dev; /* of the socket that this server made */
	ino_t ino;
	struct place places[PLACES + PLACES_OF_ROOT];
	struct user users[USERS];
};

static int set_address(const char *path, struct sockaddr_un *ret, struct errtext *err)
{
	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof(ret->sun_path))
		return errtext_set(err, -ENAMETOOLONG,
				   "cannot listen at %s: the path has more than %zu bytes", path,
				   sizeof(ret->sun_path) - 1);
	strcpy(ret->sun_path, path);
	return 0;
}

/* A daemon that was killed left its socket. */
static int remove_dead(const struct sockaddr_un *a, struct errtext *err)
{
	_cleanup_close_ int fd = -1;
	struct stat sb;

	if (lstat(a->sun_path, &sb))
		return 0; /* bind() says what is wrong */
	if (!S_ISSOCK(sb.st_mode))
		return errtext_set(err, -EEXIST,
				   "cannot listen at %s: there is a file. Choose another socket",
				   a->sun_path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return errtext_set(err, -errno, "cannot make a socket: %s", strerror(errno));
	if (!connect(fd, (const struct sockaddr *)a, sizeof(*a)) || errno == EAGAIN)
		return errtext_set(err, -EADDRINUSE,
				   "cannot listen at %s: another daemon does. Stop it first",
				   a->sun_path);
	unlink(a->sun_path);
	return 0;
}

static int watch_fd(struct node_server *s, int fd, uint32_t place)
{
	struct epoll_event e = {.events = EPOLLIN, .data.u32 = place};

	return epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &e) ? -errno : 0;
}

#define LISTENER UINT32_MAX

/* Every user may ask; the answer depends on who it is. Its mode from the beginning, because
 * whoever can change the directory could replace the socket by a link before chmod(). */
static int bind_for_all(int fd, const struct sockaddr_un *a)
{
	mode_t mask = umask(0111);
	int r = bind(fd, (const struct sockaddr *)a, sizeof(*a));

	umask(mask);
	return r;
}

static int listen_at(struct node_server *s, struct errtext *err)
{
	struct sockaddr_un a;
	struct stat sb;
	int e = set_address(s->path, &a, err);

	if (!e)
		e = remove_dead(&a, err);
	if (e)
		return e;
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->epoll < 0 || s->listener < 0 || bind_for_all(s->listener, &a))
		return errtext_set(err, -errno, "cannot listen at %s: %s", s->path,
				   strerror(errno));
	if (lstat(s->path, &sb) || listen(s->listener, BACKLOG) ||
	    watch_fd(s, s->listener, LISTENER))
		return errtext_set(err, -errno, "cannot listen at %s: %s", s->path,
				   strerror(errno));
	s->dev = sb.st_dev;
	s->ino = sb.st_ino;
	return 0;
}

int node_server_new(const struct node_server_config *c, struct node_server **ret,
		    struct errtext *err)
{
	struct node_server *s = calloc(1, sizeof(*s));
	int e;

	if (!s)
		return errtext_set(err, -ENOMEM, "out of memory");
	s->config = *c;
	s->listener = s->epoll = -1;
	for (size_t i = 0; i < PLACES + PLACES_OF_ROOT; i++)
		s->places[i].fd = -1;
	s->path = strdup(c->path);
	e = s->path ? listen_at(s, err) : errtext_set(err, -ENOMEM, "out of memory");
	if (e) {
		node_server_free(s);
		return e;
	}
	*ret = s;
	return 0;
}

void node_server_admit(struct node_server *s, gid_t admin_group)
{
	s->config.admin_group = admin_group;
}

static void close_place(struct place *p)
{
	if (p->fd < 0)
		return;
	close(p->fd); /* leaves the epoll set too */
	p->fd = -1;
	p->user->connections--;
}

void node_server_free(struct node_server *s)
{
	struct stat sb;

	if (!s)
		return;
	for (size_t i = 0; i < PLACES + PLACES_OF_ROOT; i++)
		close_place(&s->places[i]);
	if (s->ino && !lstat(s->path, &sb) && sb.st_dev == s->dev && sb.st_ino == s->ino)
		unlink(s->path);
	if (s->listener >= 0)
		close(s->listener);
	if (s->epoll >= 0)
		close(s->epoll);
	free(s->path);
	free(s);
}

int node_server_fd(const struct node_server *s)
{
	return s->epoll;
}

uint64_t node_server_due(const struct node_server *s)
{
	uint64_t due = 0;

	for (size_t i = 0; i < PLACES + PLACES_OF_ROOT; i++)
		if (s->places[i].fd >= 0 && !s->places[i].peer.kept &&
		    (!due || s->places[i].due_ns < due))
			due = s->places[i].due_ns;
	return due;
}

/* The entry of a user, or a free one: without connections, and with all requests of a second. NULL:
 * too many users asked within a second. */
static struct user *find_user(struct node_server *s, uid_t uid, uint64_t now_ns)
{
	struct user *unused = NULL;

	for (size_t i = 0; i < USERS; i++) {
		struct user *u = &s->users[i];

		if (u->full_ns && u->uid == uid)
			return u;
		if (!u->connections && u->full_ns <= now_ns)
			unused = unused ?: u;
	}
	if (unused)
		*unused = (struct user){.uid = uid, .full_ns = now_ns};
	return unused;
}

/* Each request takes a fifth of a second, of one second at most. */
static bool may_ask(struct user *u, uint64_t now_ns)
{
	uint64_t from = u->full_ns > now_ns ? u->full_ns : now_ns;

	if (from + SECOND_NS / NODE_RATE > now_ns + SECOND_NS)
		return false;
	u->full_ns = from + SECOND_NS / NODE_RATE;
	return true;
}

static bool in_group(int fd, gid_t group)
{
	gid_t groups[1024];
	socklen_t len = sizeof(groups);

	if (group == (gid_t)-1 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len)) /* ERANGE: too many */
		return false;
	for (size_t i = 0; i < len / sizeof(groups[0]); i++)
		if (groups[i] == group)
			return true;
	return false;
}

static bool read_peer(const struct node_server *s, int fd, struct node_peer *ret)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len))
		return false;
	*ret = (struct node_peer){
		.uid = cred.uid,
		.pid = cred.pid,
		.admin = !cred.uid || (s->config.admin_group != (gid_t)-1 &&
				       (cred.gid == s->config.admin_group ||
					in_group(fd, s->config.admin_group))),
	};
	return true;
}

/* A client that does not read loses its answer. */
static void send_answer(int to, const struct node_answer *a)
{
	pass_fd_send(to, a->text, strlen(a->text), a->fd, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void refuse(int fd, const char *text, uint64_t retry_s)
{
	struct node_answer a = {.fd = -1};

	node_answer_error(text, retry_s, a.text);
	send_answer(fd, &a);
}

static struct place *free_place(struct node_server *s, bool root)
{
	for (size_t i = 0; i < PLACES + (root ? PLACES_OF_ROOT : 0); i++)
		if (s->places[i].fd < 0)
			return &s->places[i];
	return NULL;
}

/* If a request were left unread, the client would receive an error before the answer. */
static void turn_away(int fd, const char *text)
{
	char byte;

	recv(fd, &byte, 1, MSG_DONTWAIT);
	refuse(fd, text, 0);
	close(fd);
}

/* Whether the connection stays open. */
static bool answer(struct node_server *s, const struct place *p, const char *text, size_t len)
{
	struct node_answer a = {.fd = -1};
	struct node_request request;
	struct errtext err;

	if (node_request_parse(text, len, &request, &err)) {
		refuse(p->fd, err.text, 0);
		return false;
	}
	s->config.answer(s->config.context, &p->peer, &request, &a);
	if (*a.text)
		send_answer(p->fd, &a);
	if (a.fd >= 0)
		close(a.fd);
	return a.keep;
}

/* Without room for control data the kernel closes descriptors that a client passes. A kept
 * connection has one more request, so the limit of requests does not count it. */
static void hear(struct node_server *s, struct place *p, uint64_t now_ns)
{
	char text[NODE_MESSAGE_MAX + 1];
	struct iovec v = {text, sizeof(text)};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
	ssize_t n = recvmsg(p->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	bool keep = false;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0 && p->peer.uid && !p->peer.kept && !may_ask(p->user, now_ns))
		refuse(p->fd, "too many requests of this user; try again in a second", 1);
	else if (n > 0 && m.msg_flags & MSG_CTRUNC)
		refuse(p->fd, "a request has no descriptors", 0);
	else if (n > 0)
		keep = answer(s, p, text, (size_t)n);
	if (!keep && p->peer.kept)
		s->config.gone(s->config.context, p->peer.place);
	if (keep)
		p->peer.kept = true;
	else
		close_place(p);
}

void node_server_tell(struct node_server *s, unsigned int place, const struct node_answer *a)
{
	struct place *p = &s->places[place];

	send_answer(p->fd, a);
	if (a->fd >= 0)
		close(a->fd);
	close_place(p);
}

static const char too_many[] = "too many connections; try again in a second";

/* The place that has been silent for the longest time; if its request has arrived by now, it is
 * answered. One user with the ids of subuid(5) can fill all places, and clients speak at once.
 * NULL: it is kept now. */
static struct place *take_oldest(struct node_server *s, uint64_t now_ns)
{
	struct place *oldest = NULL;

	for (size_t i = 0; i < PLACES; i++)
		if (!s->places[i].peer.kept && (!oldest || s->places[i].due_ns < oldest->due_ns))
			oldest = &s->places[i];
	if (!oldest)
		return NULL;
	hear(s, oldest, now_ns);
	if (oldest->fd < 0)
		return oldest;
	if (oldest->peer.kept)
		return NULL;
	refuse(oldest->fd, too_many, 0);
	close_place(oldest);
	return oldest;
}

static void take_connection(struct node_server *s, int fd, uint64_t now_ns)
{
	struct node_peer peer;
	struct user *u = read_peer(s, fd, &peer) ? find_user(s, peer.uid, now_ns) : NULL;
	struct place *p;

	if (u && peer.uid && u->connections >= NODE_CONNECTIONS) {
		turn_away(fd, "too many connections of this user; close some");
		return;
	}
	p = u ? free_place(s, !peer.uid) ?: take_oldest(s, now_ns) : NULL;
	if (!p || watch_fd(s, fd, (uint32_t)(p - s->places))) {
		turn_away(fd, too_many);
		return;
	}
	peer.place = (unsigned int)(p - s->places);
	*p = (struct place){.fd = fd, .peer = peer, .user = u, .due_ns = now_ns + SPEAK_NS};
	u->connections++;
}

/* EMFILE stays until a connection ends; the listener is readable until then, and the caller has
 * other work. */
static void take_connections(struct node_server *s, uint64_t now_ns)
{
	for (int i = 0; i < BACKLOG; i++) {
		int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			return;
		take_connection(s, fd, now_ns);
	}
}

void node_server_work(struct node_server *s, uint64_t now_ns)
{
	struct epoll_event events[EVENTS];
	int nr = epoll_wait(s->epoll, events, EVENTS, 0);

	for (int i = 0; i < nr; i++) {
		uint32_t at = events[i].data.u32;

		if (at == LISTENER)
			take_connections(s, now_ns);
		else if (s->places[at].fd >= 0)
			hear(s, &s->places[at], now_ns);
	}
	for (size_t i = 0; i < PLACES + PLACES_OF_ROOT; i++)
		if (s->places[i].fd >= 0 && !s->places[i].peer.kept &&
		    s->places[i].due_ns <= now_ns)
			close_place(&s->places[i]);
}
