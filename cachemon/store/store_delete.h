/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs leave a database for good, with all rows of theirs, in one transaction; the space is given
 * back to the filesystem.
 */
#ifndef STORE_DELETE_H
#define STORE_DELETE_H

#include "cachemon/store/store.h"

/* All of them or none. 0, or -errno with a text: -EBUSY while a run of the database is written,
 * -ENOENT for one that is not there. *ret_note: why the space was not given back; "": it was. */
int store_delete_runs(const struct store_config *c, const int64_t *ids, size_t nr,
		      struct errtext *ret_note, struct errtext *err);

#endif
