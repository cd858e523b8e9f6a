/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Moves references from the ring to the sample, and keeps the bound of the programs and the
 * threshold of the sample in step. Owns when the sample begins and why it ends;
 * account/reference_sample owns its contents.
 */
#ifndef REFERENCE_RING_H
#define REFERENCE_RING_H

#include <bpf/libbpf.h>

#include "cachemon/account/reference_sample.h"
#include "cachemon/capture/probe_set.h"

/* NULL if the programs have no references; start, taken, limit_burst, thin and end accept that. */
struct reference_ring;

/* rings: its descriptor wakes for this ring too, and consuming it consumes this one. */
int reference_ring_new(struct probe_set *set, struct ring_buffer *rings,
		       struct reference_ring **ret);
void reference_ring_free(struct reference_ring *r);

/* Records from the start of counting until the end, or until an error. */
void reference_ring_start(struct reference_ring *r);
/* Call it after the rings were consumed. */
void reference_ring_settle(struct reference_ring *r, uint64_t now_ns);
/* Makes a chunk of the references of the drained generation; later ones belong to the next
 * chunk. last: takes all. lookups: those counted in the generation. */
void reference_ring_close(struct reference_ring *r, bool last, uint64_t start_ns, int64_t lookups);
/* References taken from the ring so far. */
uint64_t reference_ring_taken(const struct reference_ring *r);
/* Sets how many may come at once before the programs halve the bound. */
void reference_ring_limit_burst(struct reference_ring *r, uint32_t references);
/* Drops half of the sampled pages; ends the sample if the rest would be too small. */
void reference_ring_thin(struct reference_ring *r, const char *reason);
/* Ends the sample after the references consumed so far. */
void reference_ring_end(struct reference_ring *r, const char *reason);
/* NULL: not started. */
struct reference_sample *reference_ring_sample(struct reference_ring *r);

#endif
