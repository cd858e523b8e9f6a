/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The users' side of the daemon's socket: asks once, receives the answer, and maps the rows that
 * come with it. Waits for the daemon for a limited time.
 */
#ifndef NODE_CLIENT_H
#define NODE_CLIENT_H

#include "cachemon/daemon/node_protocol.h"
#include "cachemon/db/db_read.h"

struct node_reply {
	char text[NODE_MESSAGE_MAX + 1]; /* JSON */
	int fd;				 /* the caller's; < 0: none came */
	unsigned int retry_s;		 /* with -EREMOTEIO: when to ask again; 0: unknown */
};

enum { NODE_CLIENT_WAIT_MS = 10000 };

/* wait_ms: for all of it. 0, or -errno with a text: -ECONNREFUSED, -ENOENT: no daemon listens
 * there; -ETIMEDOUT; -EREMOTEIO: the daemon's own words. */
int node_client_ask(const char *path, const char *request, unsigned int wait_ms,
		    struct node_reply *ret, struct errtext *err);
/* The same in two steps, for a caller that does not wait: *ret_fd becomes readable with the answer.
 * Closes fd in any case. */
int node_client_send(const char *path, const char *request, unsigned int wait_ms, int *ret_fd,
		     struct errtext *err);
int node_client_receive(const char *path, int fd, struct node_reply *ret, struct errtext *err);
/* The same on a connection that the daemon keeps. request: NULL: only waits for an answer. */
int node_client_talk(const char *path, int fd, const char *request, unsigned int wait_ms,
		     struct node_reply *ret, struct errtext *err);
/* Maps the rows of a snapshot, and closes fd in any case. The file must be sealed: its writer
 * cannot change it while it is read. */
int node_client_map(int fd, struct db_image *ret, struct errtext *err);
void node_client_unmap(struct db_image *image);

#endif
