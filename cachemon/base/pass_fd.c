/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/base/pass_fd.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
	char space[CMSG_SPACE(sizeof(int))];
	struct cmsghdr head;
};

int pass_fd_send(int to, const void *data, size_t len, int fd, int flags)
{
	union control control = {{0}};
	struct iovec v = {(void *)data, len};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};

	if (fd >= 0) {
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.head), &fd, sizeof(int));
		m.msg_control = control.space;
		m.msg_controllen = sizeof(control.space);
	}
	return sendmsg(to, &m, flags) < 0 ? -errno : 0;
}

ssize_t pass_fd_receive(int from, void *data, size_t size, int flags, int *ret_fd)
{
	union control control = {{0}};
	struct iovec v = {data, size};
	struct msghdr m = {.msg_iov = &v,
			   .msg_iovlen = 1,
			   .msg_control = control.space,
			   .msg_controllen = sizeof(control.space)};
	ssize_t n = recvmsg(from, &m, flags | MSG_CMSG_CLOEXEC);
	const struct cmsghdr *c = n < 0 ? NULL : CMSG_FIRSTHDR(&m);

	*ret_fd = -1;
	if (n < 0)
		return -errno;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(ret_fd, CMSG_DATA(c), sizeof(int));
	if (!(m.msg_flags & MSG_TRUNC))
		return n;
	if (*ret_fd >= 0)
		close(*ret_fd);
	*ret_fd = -1;
	return -EMSGSIZE;
}
