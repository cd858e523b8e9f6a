/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/daemon/node_client.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "cachemon/base/cleanup.h"
#include "cachemon/base/clock.h"
#include "cachemon/base/pass_fd.h"

#define ROWS_MAX ((off_t)1 << 32)

static int fail_at(struct errtext *err, int error, const char *path)
{
	if (error == -EAGAIN)
		return errtext_set(err, -ETIMEDOUT, "no answer in time from the daemon at %s",
				   path);
	return errtext_set(err, error, "cannot reach the daemon at %s: %s", path, strerror(-error));
}

/* The next call on the socket ends at that time. */
static int limit(int fd, int option, uint64_t until_ns)
{
	uint64_t now_ns = clock_now_ns(), left_us = 1;
	struct timeval wait;

	if (until_ns > now_ns + 1000)
		left_us = (until_ns - now_ns) / 1000;
	wait = (struct timeval){(time_t)(left_us / 1000000), (suseconds_t)(left_us % 1000000)};
	return setsockopt(fd, SOL_SOCKET, option, &wait, sizeof(wait));
}

static int connect_to(const char *path, uint64_t until_ns, int *ret_fd, struct errtext *err)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	if (strlen(path) >= sizeof(a.sun_path))
		return fail_at(err, -ENAMETOOLONG, path);
	strcpy(a.sun_path, path);
	if (fd < 0 || limit(fd, SO_SNDTIMEO, until_ns) ||
	    connect(fd, (const struct sockaddr *)&a, sizeof(a)))
		return fail_at(err, -errno, path);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int receive(int from, struct node_reply *ret)
{
	ssize_t n = pass_fd_receive(from, ret->text, NODE_MESSAGE_MAX, 0, &ret->fd);

	/* The daemon closed before it read the request; its answer comes after this error. */
	if (n == -ECONNRESET)
		n = pass_fd_receive(from, ret->text, NODE_MESSAGE_MAX, 0, &ret->fd);
	if (n < 0)
		return (int)n;
	ret->text[n] = '\0';
	return n ? 0 : -ECONNRESET;
}

/* An answer with the key "error" is one. */
static int judge(struct node_reply *reply, struct errtext *err)
{
	cJSON *root = cJSON_Parse(reply->text);
	const cJSON *error = cJSON_GetObjectItemCaseSensitive(root, "error");
	double retry_s = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(root, "retry_s"));
	int e = 0;

	reply->retry_s = retry_s >= 1 && retry_s <= 86400 ? (unsigned int)retry_s : 0;
	if (!cJSON_IsObject(root))
		e = errtext_set(err, -EBADMSG, "the daemon's answer is not JSON");
	else if (cJSON_IsString(error))
		e = errtext_set(err, -EREMOTEIO, "%s", error->valuestring);
	cJSON_Delete(root);
	return e;
}

/* A daemon that refuses the connection has answered already. */
static int say_until(const char *path, int fd, const char *request, uint64_t until_ns,
		     struct errtext *err)
{
	if (!limit(fd, SO_SNDTIMEO, until_ns) &&
	    (send(fd, request, strlen(request), MSG_NOSIGNAL) >= 0 || errno == EPIPE))
		return 0;
	return fail_at(err, -errno, path);
}

int node_client_send(const char *path, const char *request, unsigned int wait_ms, int *ret_fd,
		     struct errtext *err)
{
	uint64_t until_ns = clock_now_ns() + (uint64_t)wait_ms * 1000000;
	_cleanup_close_ int fd = -1;
	int e = connect_to(path, until_ns, &fd, err);

	if (!e)
		e = say_until(path, fd, request, until_ns, err);
	if (!e)
		*ret_fd = TAKE_FD(fd);
	return e;
}

static int hear_until(const char *path, int fd, uint64_t until_ns, struct node_reply *ret,
		      struct errtext *err)
{
	int e;

	ret->fd = -1;
	e = limit(fd, SO_RCVTIMEO, until_ns) ? -errno : receive(fd, ret);
	e = e ? fail_at(err, e, path) : judge(ret, err);
	if (e && ret->fd >= 0) {
		close(ret->fd);
		ret->fd = -1;
	}
	return e;
}

int node_client_receive(const char *path, int fd, struct node_reply *ret, struct errtext *err)
{
	int e = hear_until(path, fd, 0, ret, err);

	close(fd);
	return e;
}

int node_client_talk(const char *path, int fd, const char *request, unsigned int wait_ms,
		     struct node_reply *ret, struct errtext *err)
{
	uint64_t until_ns = clock_now_ns() + (uint64_t)wait_ms * 1000000;
	int e = request ? say_until(path, fd, request, until_ns, err) : 0;

	ret->fd = -1;
	return e ? e : hear_until(path, fd, until_ns, ret, err);
}

int node_client_ask(const char *path, const char *request, unsigned int wait_ms,
		    struct node_reply *ret, struct errtext *err)
{
	uint64_t until_ns = clock_now_ns() + (uint64_t)wait_ms * 1000000;
	_cleanup_close_ int fd = -1;
	int e = node_client_send(path, request, wait_ms, &fd, err);

	return e ? e : hear_until(path, fd, until_ns, ret, err);
}

static int map_sealed(int fd, struct db_image *ret)
{
	const int seals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW;
	int has = fcntl(fd, F_GET_SEALS);
	struct stat sb;
	void *map;

	if (has < 0 || (has & seals) != seals)
		return -EPERM;
	if (fstat(fd, &sb))
		return -errno;
	if (sb.st_size <= 0 || sb.st_size > ROWS_MAX)
		return -EFBIG;
	map = mmap(NULL, (size_t)sb.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	*ret = (struct db_image){map, (size_t)sb.st_size};
	return 0;
}

int node_client_map(int fd, struct db_image *ret, struct errtext *err)
{
	int e = map_sealed(fd, ret);

	close(fd);
	if (e == -EPERM)
		return errtext_set(err, e,
				   "the daemon sent rows that can still change, so "
				   "they were not read; restart it with this version "
				   "of cachemon");
	return e ? errtext_set(err, e, "cannot open the rows of the daemon: %s", strerror(-e)) : 0;
}

void node_client_unmap(struct db_image *image)
{
	if (image->map)
		munmap(image->map, image->bytes);
	*image = (struct db_image){0};
}
