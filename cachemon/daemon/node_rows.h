/* SPDX-License-Identifier: BSD-2-Clause */
/* The rows that come with the answer to a snapshot, as a database. */
#ifndef NODE_ROWS_H
#define NODE_ROWS_H

#include <sqlite3.h>
#include <stddef.h>

#include "cachemon/base/errtext.h"

struct node_rows {
	sqlite3 *db;
	void *map;
	size_t bytes;
};

/* Opens the rows of a snapshot, read-only, and closes fd in any case. The file must be sealed: its
 * writer cannot change it while it is read. */
int node_rows_open(int fd, struct node_rows *ret, struct errtext *err);
void node_rows_close(struct node_rows *rows);

#endif
