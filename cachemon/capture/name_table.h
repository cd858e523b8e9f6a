/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names that arrived since the last sample, by file. Owns the strings; a later name of a file
 * replaces an earlier one.
 */
#ifndef NAME_TABLE_H
#define NAME_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf/cachemon.h"

struct name_entry {
	struct file_key key;
	char *path; /* NULL: the file has no name */
	char fstype[16];
	bool deleted;
	bool taken;   /* handed out with a file of this sample */
	bool waiting; /* came in a sample without counts of its file; the next may have them */
};

struct name_table;

int name_table_new(struct name_table **ret);
void name_table_free(struct name_table *t);
/* Takes ownership of path, also on failure. */
int name_table_put(struct name_table *t, const struct file_key *key, char *path, const char *fstype,
		   bool deleted);
struct name_entry *name_table_get(struct name_table *t, const struct file_key *key);
size_t name_table_nr(const struct name_table *t);
struct name_entry *name_table_at(struct name_table *t, size_t i);
/* Ends a sample: drops names that were used, and those that have waited for one more sample. */
void name_table_expire(struct name_table *t);
void name_table_clear(struct name_table *t);

#endif
