/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The sample of references: which pages it contains, and the messages about them. Owns the hash,
 * which programs and user space both compute, and the layouts. A page is in the sample if its hash
 * is at most a bound, which only falls. The hash is the upper half of the square, modulo 2^64, of
 * seed ^ index * step; the seed comes from device, inode and generation. It takes four instructions
 * and samples neighbours and strides as often as chance would. (With a sum instead of the exclusive
 * or, eight times as many files would have too many or too few sampled pages.) */
#ifndef CACHEMON_REFERENCES_H
#define CACHEMON_REFERENCES_H

#include "bpf/cachemon.h"

/* 2^32 / golden ratio, as a negative number: odd, and short enough for one instruction. */
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

/* The generation of the row in which the lookup counts, so that references and counts belong to the
 * same interval. */
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
