/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From the ring of references to the sample: takes what came, and keeps the bound that the programs
 * go by and the threshold of the sample together. Owns when the sample begins and why it ends; what
 * is in it, account/reference_sample does.
 */
#ifndef REFERENCE_RING_H
#define REFERENCE_RING_H

#include <bpf/libbpf.h>

#include "cachemon/account/reference_sample.h"
#include "cachemon/capture/probe_set.h"

/* NULL where the programs have no references: start, taken, limit_burst, thin and end take that. */
struct reference_ring;

/* rings: whose descriptor wakes for it too, and whose consumption takes what is in it. */
int reference_ring_new(struct probe_set *set, struct ring_buffer *rings,
		       struct reference_ring **ret);
void reference_ring_free(struct reference_ring *r);

/* From the start of the counting on, until the end or what breaks it. */
void reference_ring_start(struct reference_ring *r);
/* After the rings were consumed. */
void reference_ring_settle(struct reference_ring *r, uint64_t now_ns);
/* What came in the generation of rows that was drained is a chunk, and what came since is of the
 * next; last: all that came. lookups: those that were counted in it. */
void reference_ring_close(struct reference_ring *r, bool last, uint64_t start_ns, int64_t lookups);
/* References taken from the ring so far. */
uint64_t reference_ring_taken(const struct reference_ring *r);
/* At most so many at once from now on, before the programs halve the bound by themselves. */
void reference_ring_limit_burst(struct reference_ring *r, uint32_t references);
/* Half of the pages leave the sample; it ends where the rest would say little. */
void reference_ring_thin(struct reference_ring *r, const char *reason);
/* No more after what was consumed until now. */
void reference_ring_end(struct reference_ring *r, const char *reason);
/* NULL: it was not started. */
struct reference_sample *reference_ring_sample(struct reference_ring *r);

#endif
