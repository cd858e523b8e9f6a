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
#include "cachemon/db/db_open.h"

enum { WAIT_S = 10 };

#define ROWS_MAX ((off_t)1 << 32)

static int fail_at(struct errtext *err, int error, const char *path)
{
	if (error == -EAGAIN)
		return errtext_set(err, -ETIMEDOUT, "no answer from the daemon at %s in %d s", path,
				   WAIT_S);
	return errtext_set(err, error, "cannot reach the daemon at %s: %s", path, strerror(-error));
}

static int connect_to(const char *path, int *ret_fd, struct errtext *err)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	const struct timeval wait = {.tv_sec = WAIT_S};
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	if (strlen(path) >= sizeof(a.sun_path))
		return fail_at(err, -ENAMETOOLONG, path);
	strcpy(a.sun_path, path);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)) ||
	    connect(fd, (const struct sockaddr *)&a, sizeof(a)))
		return fail_at(err, -errno, path);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* One descriptor at most fits; the kernel closes others. */
static int receive(int from, struct node_reply *ret)
{
	union {
		char space[CMSG_SPACE(sizeof(int))];
		struct cmsghdr head;
	} control;
	struct iovec v = {ret->text, NODE_MESSAGE_MAX};
	struct msghdr m = {.msg_iov = &v,
			   .msg_iovlen = 1,
			   .msg_control = &control,
			   .msg_controllen = sizeof(control.space)};
	const struct cmsghdr *c;
	ssize_t n = recvmsg(from, &m, MSG_CMSG_CLOEXEC);

	/* The daemon closed before it read the request; its answer comes after this error. */
	if (n < 0 && errno == ECONNRESET)
		n = recvmsg(from, &m, MSG_CMSG_CLOEXEC);
	if (n < 0)
		return -errno;
	ret->text[n] = '\0';
	c = CMSG_FIRSTHDR(&m);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&ret->fd, CMSG_DATA(c), sizeof(int));
	if (!n)
		return -ECONNRESET;
	return m.msg_flags & MSG_TRUNC ? -EMSGSIZE : 0;
}

/* An answer with the key "error" is one. */
static int judge(const struct node_reply *reply, struct errtext *err)
{
	cJSON *root = cJSON_Parse(reply->text);
	const cJSON *error = cJSON_GetObjectItemCaseSensitive(root, "error");
	int e = 0;

	if (!cJSON_IsObject(root))
		e = errtext_set(err, -EBADMSG, "the daemon's answer is not JSON");
	else if (cJSON_IsString(error))
		e = errtext_set(err, -EREMOTEIO, "%s", error->valuestring);
	cJSON_Delete(root);
	return e;
}

int node_client_ask(const char *path, const char *request, struct node_reply *ret,
		    struct errtext *err)
{
	_cleanup_close_ int fd = -1;
	int e = connect_to(path, &fd, err);

	ret->fd = -1;
	if (e)
		return e;
	/* A daemon that refuses the connection has answered already. */
	if (send(fd, request, strlen(request), MSG_NOSIGNAL) < 0 && errno != EPIPE)
		return fail_at(err, -errno, path);
	e = receive(fd, ret);
	e = e ? fail_at(err, e, path) : judge(ret, err);
	if (e && ret->fd >= 0) {
		close(ret->fd);
		ret->fd = -1;
	}
	return e;
}

static int map_rows(int fd, struct node_rows *rows)
{
	const int seals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW;
	int has = fcntl(fd, F_GET_SEALS);
	struct stat sb;

	if (has < 0 || (has & seals) != seals)
		return -EPERM;
	if (fstat(fd, &sb))
		return -errno;
	if (sb.st_size <= 0 || sb.st_size > ROWS_MAX)
		return -EFBIG;
	rows->bytes = (size_t)sb.st_size;
	rows->map = mmap(NULL, rows->bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	if (rows->map == MAP_FAILED)
		rows->map = NULL;
	return rows->map ? 0 : -errno;
}

int node_client_open(int fd, struct node_rows *ret, struct errtext *err)
{
	struct node_rows rows = {0};
	int e = map_rows(fd, &rows), rc = SQLITE_OK;

	close(fd);
	if (!e) {
		rc = db_open(NULL, DB_MEMORY, &rows.db);
		if (!rc)
			rc = sqlite3_deserialize(
				rows.db, "main", rows.map, (sqlite3_int64)rows.bytes,
				(sqlite3_int64)rows.bytes, SQLITE_DESERIALIZE_READONLY);
	}
	if (!e && !rc) {
		*ret = rows;
		return 0;
	}
	node_client_close(&rows);
	if (e == -EPERM)
		return errtext_set(err, e,
				   "the daemon sent rows that can still change, so "
				   "they were not read; restart it with this version "
				   "of cachemon");
	return errtext_set(err, e ?: -EIO, "cannot open the rows of the daemon: %s",
			   e ? strerror(-e) : sqlite3_errstr(rc));
}

void node_client_close(struct node_rows *rows)
{
	sqlite3_close(rows->db);
	if (rows->map)
		munmap(rows->map, rows->bytes);
	*rows = (struct node_rows){0};
}
