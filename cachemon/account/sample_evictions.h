/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who pushed out whose pages in the interval of a sample. Owns the shape. Deltas; borrowed with the
 * sample.
 */
#ifndef SAMPLE_EVICTIONS_H
#define SAMPLE_EVICTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/cachemon.h"

struct sample_eviction {
	struct evictor_key key;
	uint64_t pages;
	const char *cgroup; /* of others: its path in the hierarchy that limits memory; NULL: not
			       known */
};

/* Others who added pages to the cache. */
struct sample_adder {
	struct adder_key key;
	uint64_t pages;
	const char *cgroup; /* as above */
};

struct sample_evictions {
	const struct sample_eviction *evicted;
	size_t nr_evicted;
	const struct sample_adder *adders;
	size_t nr_adders;
	/* What found no room: pages of the job by cause, and pages that others added. */
	uint64_t full[EVICT_NR];
	uint64_t adders_full;
};

#endif
