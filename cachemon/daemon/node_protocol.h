/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The messages between a node's daemon and its users, on a socket that keeps their boundaries
 * (SOCK_SEQPACKET). A client sends one request in JSON and receives one answer, then the daemon
 * closes the connection. The answer to a snapshot has the job's rows as a file. Pure: requests are
 * hostile text.
 *
 *   {"request": "hello"}                         versions of the daemon and of this
 *   {"request": "jobs"}                          the jobs that the caller may see
 *   {"request": "snapshot", "job": "slurm:14"}   the rows of a job
 *   {"request": "snapshot", "job": "slurm:14", "since": 7012}   those after that interval
 *   {"request": "totals", "job": "slurm:14"}     its sums
 *   {"request": "begin", "job": "slurm:14", "name": "train", "uid": 1000, "partition": "gpu"}
 *   {"request": "end", "job": "slurm:14"}
 *   {"request": "sample", "job": "slurm:14"}     its sums, of which newer ones come soon
 *
 * One conversation is longer: the process that connected becomes a job, for as long as the
 * connection is open.
 *
 *   {"request": "watch", "name": "train", "command": "python3 train.py"}   counts it from now on
 *   {"request": "done"}                          its command has ended: all of its rows
 */
#ifndef NODE_PROTOCOL_H
#define NODE_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cachemon/base/errtext.h"

#define NODE_SOCKET "/run/cachemon/socket" /* unless the settings name another */

enum {
	NODE_PROTOCOL = 1,	 /* version */
	NODE_MESSAGE_MAX = 4096, /* bytes, in each direction */
	NODE_NAME_MAX = 255,
	NODE_COMMAND_MAX = 1024,
};

enum node_verb {
	NODE_HELLO,
	NODE_JOBS,
	NODE_SNAPSHOT,
	NODE_TOTALS,
	NODE_BEGIN,
	NODE_END,
	NODE_SAMPLE,
	NODE_WATCH,
	NODE_DONE,
	NODE_VERB_NR
};

struct node_request {
	enum node_verb verb;
	char job[NODE_NAME_MAX + 1]; /* KIND:NAME; "" if the verb has none */
	/* of a job that begins; "", -1: not given */
	char name[NODE_NAME_MAX + 1], partition[NODE_NAME_MAX + 1];
	char command[NODE_COMMAND_MAX + 1]; /* for people */
	int64_t uid;
	int64_t since; /* an interval of a snapshot's job, or 0; -1: not given */
};

/* 0, -EINVAL or -ENOMEM, and a text for the client. *ret is complete or unchanged. */
int node_request_parse(const char *text, size_t len, struct node_request *ret, struct errtext *err);
/* 0 or -ENOMEM. Every request that node_request_parse() accepts fits. */
int node_request_print(const struct node_request *q, char ret[NODE_MESSAGE_MAX + 1]);

/* The user who asks, as the kernel says. */
struct node_peer {
	uid_t uid;
	pid_t pid;
	bool admin;	    /* root, or a member of the admin group */
	unsigned int place; /* of the connection, while it is open */
	bool kept;	    /* it has had an answer already */
};

/* Whether they may see a job of that user; < 0: the job's user is unknown. */
bool node_may_see(const struct node_peer *peer, int64_t uid);

/* {"error": text}, and the seconds after which to ask again, unless they are 0. */
void node_answer_error(const char *text, uint64_t retry_s, char ret[NODE_MESSAGE_MAX + 1]);

#endif
