/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Answers requests for metrics, by libmicrohttpd. Owns the limits of clients, the choice of the
 * format and the check of passwords. Runs in a process of its own: metrics_http.h.
 */
#ifndef METRICS_SERVER_H
#define METRICS_SERVER_H

#include <stdbool.h>

#include "cachemon/base/errtext.h"
#include "cachemon/daemon/web_config.h"

enum {
	METRICS_CONNECTIONS = 64, /* when all are taken, the oldest is closed */
	METRICS_SILENT_S = 3,
	METRICS_AGE_S = 10, /* of a connection; each has one request */
};

struct metrics_server;

/* web outlives it. */
int metrics_server_new(int listen_fd, const struct web_config *web, struct metrics_server **ret,
		       struct errtext *err);
/* Serves what arrives on the channel, until its end. */
void metrics_server_run(struct metrics_server *s, int channel);

/* Whether this header Accept prefers OpenMetrics. NULL: it is absent. */
bool metrics_server_accepts_open(const char *accept);

#endif
