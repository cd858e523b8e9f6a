/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Adds the runs of other databases to one, each run with all of its rows in one transaction. The
 * others are read like any database that somebody else wrote, and never changed; older ones are
 * migrated in a temporary copy. Rows get new ids. Memory does not depend on their size.
 */
#ifndef STORE_MERGE_H
#define STORE_MERGE_H

#include <stdbool.h>
#include <stddef.h>

#include "cachemon/store/store.h"

struct store_merge;

/* The result for one database. */
struct store_merged {
	size_t added;
	size_t replaced; /* runs that had not ended when they were added before */
	size_t known;	 /* runs that are there already, at least as long */
	size_t left_out; /* damaged runs */
	bool stop;	 /* the target cannot be written: no other database can be added */
};

/* The target is created, or migrated, when the first run is added. c must stay valid. NULL: no
 * memory. */
struct store_merge *store_merge_begin(const struct store_config *c);
/* 0, or -errno with a text; what was added before the error stays. */
int store_merge_add(struct store_merge *m, const char *path, struct store_merged *ret,
		    struct errtext *err);
void store_merge_end(struct store_merge *m);

#endif
