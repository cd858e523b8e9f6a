/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How much of the reads from a filesystem the hooks see, from its type, its mount options and a
 * trial. Owns the list of filesystems. Pure.
 */
#ifndef FS_COVER_H
#define FS_COVER_H

#include <stdbool.h>
#include <stddef.h>

struct probe_plan;

#define FS_BLOCK_DEVICE "block device"

enum fs_cover {
	FS_EXACT,    /* every read passes the hooks, or counts as a direct read */
	FS_PARTLY,   /* reads through the page cache are counted, others are not seen */
	FS_BYPASSED, /* the page cache does not have the data, or its hooks do not fire */
	FS_UNKNOWN,  /* not tested */
	FS_COVER_NR,
};

enum fs_trial {
	FS_TRIAL_NONE,
	FS_TRIAL_CACHED, /* a read left its page in the cache */
	FS_TRIAL_PAST,	 /* a read left no page in the cache */
};

/* Direct reads that are counted, one bit per kind. */
enum fs_direct {
	FS_DIRECT_GIVEN = 1 << 0, /* by returned bytes, without those read through the cache */
	FS_DIRECT_BLOCK = 1 << 1,
	FS_DIRECT_NFS = 1 << 2,
	FS_DIRECT_FUSE = 1 << 3,
	FS_READS_BY_CALL = 1 << 4,     /* of cached reads: each is seen, hit or miss */
	FS_SUBVOLUMES_AS_ONE = 1 << 5, /* the device of a subvolume is unknown */
};

struct fs_facts {
	const char *type;    /* as in mountinfo, or FS_BLOCK_DEVICE; "" unknown */
	const char *options; /* options of the superblock; NULL: unknown */
	bool dax;
	enum fs_trial trial;
	unsigned int direct; /* bits of enum fs_direct */
};

/* "exact", "partly", "cache-bypassed", "unknown". */
const char *fs_cover_name(enum fs_cover cover);

/* Whether a trial may say more about a file than its type does. */
bool fs_cover_wants_trial(const char *type);

/* *ret_why: one sentence, static. */
enum fs_cover fs_cover_decide(const struct fs_facts *facts, const char **ret_why);

/* The direct reads that a plan counts: bits of enum fs_direct. If a plan does not see the end of
 * a read, it counts the request, even if it is refused: such reads are not in these bits. */
unsigned int fs_cover_direct(const struct probe_plan *plan);

#endif
