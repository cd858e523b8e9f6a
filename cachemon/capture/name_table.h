/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names that arrived since the last sample, by file. Owns the strings; a later name of the same
 * file replaces an earlier one.
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
	bool waiting; /* came with a sample that had no counts of its file: maybe the next has */
};

struct name_table;

int name_table_new(struct name_table **ret);
void name_table_free(struct name_table *t);
/* Takes path over, also on failure. */
int name_table_put(struct name_table *t, const struct file_key *key, char *path, const char *fstype,
		   bool deleted);
struct name_entry *name_table_get(struct name_table *t, const struct file_key *key);
size_t name_table_nr(const struct name_table *t);
struct name_entry *name_table_at(struct name_table *t, size_t i);
/* A sample is over: forgets what was taken, and what has waited for one more sample. */
void name_table_expire(struct name_table *t);
void name_table_clear(struct name_table *t);

#endif
