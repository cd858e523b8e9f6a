/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Adds a run that another program recorded to a database: all of its rows, under numbers that are
 * free there.
 */
#ifndef STORE_IMPORT_H
#define STORE_IMPORT_H

#include "cachemon/db/db_read.h"
#include "cachemon/store/store.h"

/* Becomes the run of the store, which has none. exit_status: of its command; NULL: not known.
 * name: of the image, for messages. 0, or -errno with a text and nothing is added;
 * -EPROTONOSUPPORT: another version of cachemon wrote it; -EBADMSG: it does not hold one run. */
int store_import(struct store *st, const struct db_image *image, const char *name,
		 const int *exit_status, struct errtext *err);

#endif
