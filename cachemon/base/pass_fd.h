/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A message on a Unix socket with a descriptor (SCM_RIGHTS). Owns the control data.
 */
#ifndef PASS_FD_H
#define PASS_FD_H

#include <stddef.h>
#include <sys/types.h>

/* fd < 0: none. flags: as sendmsg(). 0 or -errno. */
int pass_fd_send(int to, const void *data, size_t len, int fd, int flags);
/* *ret_fd: the caller's; -1: none came. Further descriptors are closed by the kernel. flags: as
 * recvmsg(). The length; -EMSGSIZE: it is longer, and its descriptor was closed; or -errno. */
ssize_t pass_fd_receive(int from, void *data, size_t size, int flags, int *ret_fd);

#endif
