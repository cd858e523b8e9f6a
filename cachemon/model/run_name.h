/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a user calls a run: its number, the beginning of its uuid, "last", "last-1" (the one before
 * it). Owns those words.
 */
#ifndef REPORT_RUN_NAME_H
#define REPORT_RUN_NAME_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "cachemon/base/errtext.h"

/* Whether a word could be one, before a database is opened. */
bool run_name_is(const char *name);
/* 0, or -errno with a line in err: -ENOENT, or -EEXIST where several uuids begin like that. */
int run_name_find(sqlite3 *db, const char *name, int64_t *ret_id, struct errtext *err);

#endif
