/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What was sent and what came back, kept in files for whoever wants to look: DIR/run-N/
 * attempt-M-request.json, -headers, -response. Nobody else may read them; no other run's are
 * written over; no key is in them. For a process that runs as their owner.
 */
#ifndef WIRE_SAVE_H
#define WIRE_SAVE_H

#include <stddef.h>

#include "cachemon/base/errtext.h"

struct save {
	int dir; /* of this run; -1: nothing is kept */
};

/* A directory of this run, in dir, which is made when there is none. dir NULL: nothing is kept. */
int save_open(const char *dir, struct save *ret, struct errtext *err);
int save_part(const struct save *s, unsigned int attempt, const char *part, const char *bytes,
	      size_t len, struct errtext *err);
void save_close(struct save *s);

#endif
