/* SPDX-License-Identifier: BSD-2-Clause */
/* A compact set of the files that a run has seen, 10 bytes each. Owns what is kept about a file
 * without a row: that it was seen, where it is counted, and a rough weight. Reports when it is
 * full, because its count is then a lower bound. */
#ifndef FILESET_H
#define FILESET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fileset;

struct fileset_entry {
	uint16_t place; /* for the caller; 0 at first */
	uint8_t weight; /* a code, see fileset_weight() */
	uint8_t tag[7]; /* all 0: an empty slot */
};

/* At most max files; NULL: out of memory. */
struct fileset *fileset_new(size_t max);
void fileset_free(struct fileset *s);

/*
 * Finds the entry of a file by the hash of its key, or adds it. NULL: absent, and the set is full.
 * Valid until the next call that adds.
 */
struct fileset_entry *fileset_get(struct fileset *s, uint64_t hash, bool *ret_added);

/* The same without adding; NULL: absent. */
struct fileset_entry *fileset_find(const struct fileset *s, uint64_t hash);

/* A weight is accurate to about 20 % and unbiased: good enough to compare, not to report. */
int64_t fileset_weight(const struct fileset *s, const struct fileset_entry *entry);
void fileset_add_weight(struct fileset *s, struct fileset_entry *entry, int64_t delta);

#endif
