/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A compact set of the files that a run has seen, 10 bytes each. Owns what is still known of a file
 * that has no row of its own: that it was seen, where it is counted, and a rough weight. Says when
 * it is full, so that nobody takes its count for exact.
 */
#ifndef FILESET_H
#define FILESET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fileset;

struct fileset_entry {
	uint16_t place; /* the caller's: 0 when it was added */
	uint8_t weight; /* a code, see fileset_weight() */
	uint8_t tag[7]; /* all 0: an empty slot */
};

/* At most max files; NULL when out of memory. */
struct fileset *fileset_new(size_t max);
void fileset_free(struct fileset *s);

/*
 * The entry of a file by the hash of its key, added if it was not there. NULL: not there, and
 * there is no room. Good until the next call that adds.
 */
struct fileset_entry *fileset_get(struct fileset *s, uint64_t hash, bool *ret_added);

/* The same without adding; NULL: not there. */
struct fileset_entry *fileset_find(const struct fileset *s, uint64_t hash);

/* A weight is kept to about 20 %, right on average: good enough to compare, not to report. */
int64_t fileset_weight(const struct fileset *s, const struct fileset_entry *entry);
void fileset_add_weight(struct fileset *s, struct fileset_entry *entry, int64_t delta);

#endif
