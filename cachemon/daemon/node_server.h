/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The daemon's side of the users' socket: accepts, reads one request, sends one answer, closes. A
 * connection is kept for one more request and its answer if the first answer says so.
 * Never waits for a client. Owns the limits for each user: connections, requests a second, and the
 * time to speak. For the caller's loop it is one descriptor and one time.
 */
#ifndef NODE_SERVER_H
#define NODE_SERVER_H

#include "cachemon/daemon/node_protocol.h"

enum {
	NODE_CONNECTIONS = 16, /* of a user at a time */
	NODE_RATE = 5,	       /* requests of a user in a second */
	NODE_SPEAK_MS = 1000,  /* from the connection to the request */
};

struct node_answer {
	char text[NODE_MESSAGE_MAX + 1]; /* JSON; "": closes without an answer */
	int fd;				 /* passed to the client and closed here; < 0: none */
	bool keep; /* the connection stays open, until node_server_tell() or gone() */
};

/* Fills *ret, which is empty, in a short time. */
typedef void node_answer_fn(void *context, const struct node_peer *peer,
			    const struct node_request *request, struct node_answer *ret);

struct node_server_config {
	const char *path;
	gid_t admin_group; /* (gid_t)-1: root alone */
	node_answer_fn *answer;
	/* A kept connection was closed by its client, or broke the protocol. */
	void (*gone)(void *context, unsigned int place);
	void *context;
};

struct node_server;

/* Replaces a socket that nobody listens to. 0, or -errno with a text; -EADDRINUSE: another daemon
 * listens there. */
int node_server_new(const struct node_server_config *c, struct node_server **ret,
		    struct errtext *err);
/* The group that sees all jobs. */
void node_server_admit(struct node_server *s, gid_t admin_group);
/* The last answer of a kept connection, which it closes; descriptors as in node_answer. */
void node_server_tell(struct node_server *s, unsigned int place, const struct node_answer *a);
/* Removes the socket too. */
void node_server_free(struct node_server *s);

/* Readable: call node_server_work(). */
int node_server_fd(const struct node_server *s);
/* When to call it at the latest (CLOCK_MONOTONIC); 0: not before the descriptor is readable. */
uint64_t node_server_due(const struct node_server *s);
void node_server_work(struct node_server *s, uint64_t now_ns);

#endif
