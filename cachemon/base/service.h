/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The reports of a service to systemd, or to whoever listens at $NOTIFY_SOCKET: that it is ready,
 * how many jobs it watches, and that its loop goes round. Owns the address and the times. The
 * protocol is one datagram of lines KEY=VALUE (sd_notify(3)), so no library is needed. Without the
 * variable nothing is sent.
 */
#ifndef SERVICE_H
#define SERVICE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "cachemon/base/errtext.h"

struct service {
	int fd; /* < 0: nobody listens */
	struct sockaddr_un address;
	socklen_t address_len;
	uint64_t watchdog_ns, next_ns; /* how often to report the loop; 0: never */
	size_t jobs;
};

/* 0, or -errno with a text: nothing will be sent. Close *ret after a failure too. */
int service_open(struct service *ret, struct errtext *err);
void service_close(struct service *s);

/* 0, or -errno with a text. */
int service_ready(struct service *s, struct errtext *err);
/* Call service_ready() after it. */
void service_reloading(struct service *s);
void service_stopping(struct service *s);
/* Call it in each turn of the loop; returns when to call it at the latest (CLOCK_MONOTONIC). */
uint64_t service_alive(struct service *s, size_t jobs, uint64_t now_ns);

#endif
