/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A compact set of the files that a run has seen, 8 bytes each. Owns what is still known of a file
 * that has no row of its own: that it was seen, a rough weight, and whether it is counted among
 * the files without a name. Says when it is full, so that nobody takes its count for exact.
 */
#ifndef FILESET_H
#define FILESET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fileset;

/* At most max files; NULL when out of memory. */
struct fileset *fileset_new(size_t max);
void fileset_free(struct fileset *s);
size_t fileset_count(const struct fileset *s);
size_t fileset_bytes(const struct fileset *s);

/*
 * The entry of a file by the hash of its key, added if it was not there. NULL: not there, and
 * there is no room. Good until the next call that adds.
 */
uint64_t *fileset_get(struct fileset *s, uint64_t hash, bool *ret_added);

/* The same without adding; NULL: not there. */
uint64_t *fileset_find(const struct fileset *s, uint64_t hash);

bool fileset_unnamed(const uint64_t *entry);
void fileset_set_unnamed(uint64_t *entry, bool unnamed);
/* A weight is kept to about 20 %, right on average: good enough to compare, not to report. */
int64_t fileset_weight(const struct fileset *s, const uint64_t *entry);
void fileset_add_weight(struct fileset *s, uint64_t *entry, int64_t delta);

#endif
