/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/base/service.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "cachemon/base/clock.h"
#include "cachemon/base/parse.h"

static int send_lines(struct service *s, const char *lines)
{
	if (s->fd < 0)
		return 0;
	return sendto(s->fd, lines, strlen(lines), MSG_NOSIGNAL,
		      (const struct sockaddr *)&s->address, s->address_len) < 0
		       ? -errno
		       : 0;
}

/* A path, or @NAME in the abstract namespace. */
static int set_address(struct service *s, const char *name, struct errtext *err)
{
	size_t len = strlen(name);

	if ((*name != '/' && *name != '@') || len >= sizeof(s->address.sun_path))
		return errtext_set(err, -EINVAL, "cannot report to NOTIFY_SOCKET=%s: %s", name,
				   len < sizeof(s->address.sun_path) ? "not a path or @NAME"
								     : "the name is too long");
	s->address.sun_family = AF_UNIX;
	memcpy(s->address.sun_path, name, len + 1);
	if (*name == '@')
		s->address.sun_path[0] = '\0';
	/* An abstract name has no byte 0 at its end. */
	s->address_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (*name == '/'));
	return 0;
}

/* systemd wants a report in this time, from the process of WATCHDOG_PID: two are sent. */
static uint64_t watchdog_ns(void)
{
	const char *time = secure_getenv("WATCHDOG_USEC"), *pid = secure_getenv("WATCHDOG_PID");
	uint64_t us = 0, wanted = (uint64_t)getpid();

	if (!time || parse_u64(time, &us) || us > UINT64_MAX / 1000 ||
	    (pid && parse_u64(pid, &wanted)) || wanted != (uint64_t)getpid())
		return 0;
	return us * 1000 / 2;
}

int service_open(struct service *ret, struct errtext *err)
{
	/* A manager that does not receive must not stop the daemon. */
	const struct timeval wait = {.tv_sec = 1};
	const char *name = secure_getenv("NOTIFY_SOCKET");
	int r;

	*ret = (struct service){.fd = -1, .jobs = SIZE_MAX};
	r = name ? set_address(ret, name, err) : 0;
	if (!name || r)
		return r;
	ret->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (ret->fd < 0 || setsockopt(ret->fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)))
		return errtext_set(err, -errno, "cannot make a socket: %s", strerror(errno));
	ret->watchdog_ns = watchdog_ns();
	return 0;
}

void service_close(struct service *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

int service_ready(struct service *s, struct errtext *err)
{
	int r = send_lines(s, "READY=1");

	return r ? errtext_set(err, r, "cannot report to $NOTIFY_SOCKET: %s", strerror(-r)) : 0;
}

void service_reloading(struct service *s)
{
	char lines[64];

	/* Type=notify-reload compares the time with that of its own signal. */
	snprintf(lines, sizeof(lines), "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
		 clock_now_ns() / 1000);
	send_lines(s, lines);
}

void service_stopping(struct service *s)
{
	send_lines(s, "STOPPING=1");
}

uint64_t service_alive(struct service *s, size_t jobs, uint64_t now_ns)
{
	char lines[64];

	if (s->fd < 0)
		return UINT64_MAX;
	snprintf(lines, sizeof(lines), "STATUS=watching %zu job%s", jobs, &"s"[jobs == 1]);
	if (jobs != s->jobs && !send_lines(s, lines))
		s->jobs = jobs;
	if (!s->watchdog_ns)
		return UINT64_MAX;
	if (now_ns >= s->next_ns) {
		send_lines(s, "WATCHDOG=1");
		s->next_ns = now_ns + s->watchdog_ns;
	}
	return s->next_ns;
}
