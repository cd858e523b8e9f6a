/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Serves texts by HTTP, in a process of its own without privileges, so that neither a client nor an
 * error in HTTP or TLS reaches the daemon. Owns that process, and the way of the texts to it;
 * metrics_server.h answers the requests.
 */
#ifndef METRICS_HTTP_H
#define METRICS_HTTP_H

#include <netinet/in.h>

#include "cachemon/base/errtext.h"
#include "cachemon/daemon/web_config.h"

struct metrics_http;

struct metrics_texts {
	char *text, *open; /* the formats of Prometheus and OpenMetrics */
	size_t text_len, open_len;
};

/* Listens, and starts the process; of a process with one thread. 0, or -errno with a text. */
int metrics_http_new(const struct sockaddr_storage *listen, const struct web_config *web,
		     struct metrics_http **ret, struct errtext *err);
/* Ends the process. */
void metrics_http_free(struct metrics_http *h);

/* Hands over the texts that the next requests get. Never waits: a process that has not taken
 * earlier texts keeps those. -EPIPE: it has ended. */
int metrics_http_publish(struct metrics_http *h, const struct metrics_texts *texts,
			 struct errtext *err);

/* The other side: the next texts, to be freed. -EAGAIN: later; -EPIPE: the end. */
int metrics_http_receive(int channel, struct metrics_texts *ret);

#endif
