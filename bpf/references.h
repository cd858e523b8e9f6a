/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which pages are in the sample of references, and the messages about references. Both sides
 * compute the hash; owns its arithmetic and the layouts. A page is in the sample if the hash of
 * (device, inode, generation, page index) is not above a bound that only falls. The whole file key
 * goes into a seed, once. The hash of a page is the square, modulo 2^64, of seed ^ index * step.
 * Neighbours and equal strides are sampled as often as chance would, for four instructions. (With a
 * sum instead of the exclusive or, files with too many or too few sampled pages would be eight
 * times as frequent.) The upper half is recorded.
 */
#ifndef CACHEMON_REFERENCES_H
#define CACHEMON_REFERENCES_H

#include "bpf/cachemon.h"

/* Odd, and a constant that one instruction holds: 2^32 over the golden ratio, as a negative. */
#define REFERENCE_STEP (-1640531535LL)

#define REFERENCES_ALL	(~0ULL) /* a bound: every page is in the sample */
#define REFERENCES_NONE 0ULL

#define REFERENCE_RING_BYTES (2 << 20) /* 65,536 records */
#define NR_REFERENCE_PAGES   32768

/*
 * The cost limit of a sample: references per second in the long run, and a burst in which a job
 * shows what it reads. Beyond that the bound is halved, and again after each further quarter of the
 * burst. A reference costs a lookup in a hash and a record in a ring.
 */
#define REFERENCES_A_SECOND 5000
#define REFERENCES_AT_ONCE  20000

/* The map of pages fills faster than user space empties it: the bound is halved again. */
#define REFERENCE_PAGES_PRESSED (NR_REFERENCE_PAGES / 4 * 3)
#define REFERENCE_PAGES_AGAIN	1024

/* Records until user space is woken; it polls 20 times a second anyway. */
#define REFERENCES_WAKE 4096

/* The generation of the row in which the lookup counts, so that the references of an interval
 * are those that it counted. */
enum { REFERENCE_REMOVED = 1, REFERENCE_B = 2, REFERENCE_FLAG_BITS = 2 };

struct reference_record {
	struct file_key file;
	__u64 page; /* index << REFERENCE_FLAG_BITS | REFERENCE_* */
};

static inline __attribute__((always_inline)) __u64 reference_mix(__u64 x)
{
	x = (x ^ x >> 32) * 0xd6e8feb86659fd93ULL;
	x = (x ^ x >> 32) * 0xd6e8feb86659fd93ULL;
	return x ^ x >> 32;
}

static inline __attribute__((always_inline)) __u64 reference_seed(const struct file_key *file)
{
	return reference_mix(file->ino + reference_mix((__u64)file->dev << 32 | file->gen));
}

static inline __attribute__((always_inline)) __u64 reference_hash(__u64 seed, __u64 page)
{
	__u64 root = seed ^ page * (__u64)REFERENCE_STEP;

	return root * root;
}

#endif
