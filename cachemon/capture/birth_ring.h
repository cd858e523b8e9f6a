/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ring with records of cgroups that are made and removed, from the moment when the programs of
 * many jobs are attached. Owns the ring; the receiver decides what a record means.
 */
#ifndef BIRTH_RING_H
#define BIRTH_RING_H

#include <stdint.h>

#include "bpf/births.h"
#include "cachemon/capture/probe_set.h"

struct birth_ring;

typedef void birth_receive(void *arg, const struct birth *b);

/* For a set with many jobs; the set outlives the ring. */
int birth_ring_new(struct probe_set *set, birth_receive *receive, void *arg,
		   struct birth_ring **ret);
void birth_ring_free(struct birth_ring *r);

/* Becomes readable when there are records. */
int birth_ring_fd(const struct birth_ring *r);
/* Passes on all records, in the order of the events of a CPU; each cgroup's in their order. */
int birth_ring_consume(struct birth_ring *r);
/* A change since before means that records were lost. */
uint64_t birth_ring_dropped(const struct birth_ring *r);

#endif
