/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Permanently deletes runs with all of their rows, in one transaction, and returns the space to the
 * filesystem.
 */
#ifndef STORE_DELETE_H
#define STORE_DELETE_H

#include "cachemon/store/store.h"

/* Deletes all of them or none. 0, or -errno with a text: -EBUSY while a run of the database is
 * being written, -ENOENT for an unknown run. *ret_note: why the space was not returned; "": it
 * was. */
int store_delete_runs(const struct store_config *c, const int64_t *ids, size_t nr,
		      struct errtext *ret_note, struct errtext *err);

#endif
