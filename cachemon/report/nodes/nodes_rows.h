/* SPDX-License-Identifier: BSD-2-Clause */
/* Parts of nodes_model_load(), which has loaded the nodes: files that several nodes read, and
 * processes by waiting. Memory does not depend on the number of rows. */
#ifndef NODES_ROWS_H
#define NODES_ROWS_H

#include "cachemon/report/nodes/nodes_model.h"

int nodes_load_files(sqlite3 *db, size_t most, struct nodes_model *m, struct errtext *err);
int nodes_load_processes(sqlite3 *db, struct nodes_model *m, struct errtext *err);

#endif
