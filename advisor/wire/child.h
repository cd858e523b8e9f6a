/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The process that talks to the network: started for one question, as the invoking user, without
 * capabilities and without anything of the starter's but a pipe. Owns its life: it ends before its
 * starter does, and when time is over.
 */
#ifndef WIRE_CHILD_H
#define WIRE_CHILD_H

#include "advisor/wire/attempts.h"

struct child {
	pid_t pid;
	int fd; /* frames come from it */
};

/* job->fd is set for the child. -errno with a text. */
int child_start(const struct attempts_job *job, const struct invoker *as, struct child *ret,
		struct errtext *err);
/* Kills and waits for it. How it ended, as of waitpid(); -1: nobody knows. */
int child_end(struct child *c);

/* In the child: gives up all that it has no use for. -errno. */
int child_confine(const struct invoker *as, pid_t starter, int fd);

#endif
