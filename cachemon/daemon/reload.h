/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the settings of a daemon again while it runs, and applies what can change. Owns the
 * settings that were read last.
 */
#ifndef RELOAD_H
#define RELOAD_H

#include "cachemon/daemon/follow.h"
#include "cachemon/daemon/node.h"
#include "cachemon/daemon/node_config.h"
#include "cachemon/daemon/node_desk.h"

struct reload {
	const char *file;
	const struct node_config *started;
	struct node *node;
	struct follow *follow; /* NULL: only jobs that were named are watched */
	struct node_desk *desk;
	struct node_config last; /* those of started, until it was read again */
};

/* The text says what happened: 0, or -errno and all settings stay as they were. */
int reload_read(struct reload *r, struct errtext *ret);
/* follow must not be used afterwards. */
void reload_free(struct reload *r);

#endif
