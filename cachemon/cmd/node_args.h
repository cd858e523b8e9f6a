/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the verbs that ask the daemon of a node: the rows of a job. Owns the request. */
#ifndef NODE_ARGS_H
#define NODE_ARGS_H

#include <stdbool.h>

#include "cachemon/base/errtext.h"
#include "cachemon/daemon/node_client.h"

/* Whether it is KIND:NAME of a kind that a daemon finds. */
bool node_args_finds(const char *job);
/* The rows of KIND:NAME; call node_client_unmap(). socket: NULL: the default one. 0, or -errno with
 * a text. */
int node_args_rows(const char *socket, const char *job, struct db_image *ret, struct errtext *err);

#endif
