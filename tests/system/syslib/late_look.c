/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For LD_PRELOAD: every look into /proc at a process of the session LATE_SESSION comes too late,
 * and so does every insertion of its number into a BPF map that lacks it. Either continues once the
 * process has ended, except for the session's leader. The scheduler may delay cachemon in the same
 * way between listing the processes and using the list.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bpf_calls.h"

enum { PATIENCE_MS = 60000 };

static void until_ended(pid_t pid)
{
	const char *session = getenv("LATE_SESSION");
	int leader = session ? atoi(session) : 0, r;
	struct pollfd end = {.events = POLLIN};

	if (!leader || pid == leader || getsid(pid) != leader)
		return;
	end.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (end.fd < 0)
		return;
	do
		r = poll(&end, 1, PATIENCE_MS);
	while (r < 0 && errno == EINTR);
	close(end.fd);
	if (r != 1) {
		fprintf(stderr, "late_look: process %d does not end\n", pid);
		abort();
	}
}

int openat(int dir, const char *path, int flags, ...)
{
	va_list rest;
	int pid, whole = 0;
	unsigned int mode;

	va_start(rest, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, unsigned int) : 0;
	va_end(rest);
	if (sscanf(path, "/proc/%d/status%n", &pid, &whole) == 1 && whole)
		until_ended(pid);
	return (int)syscall(SYS_openat, dir, path, flags, mode);
}

static void before_bpf(long command, union bpf_attr *attr)
{
	if (command == BPF_MAP_UPDATE_ELEM && attr->flags == BPF_NOEXIST)
		until_ended(*(const pid_t *)attr->key);
}
