/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How far the hooks see what is read from a filesystem, decided by its type, the options of its
 * mount and what a trial said. Owns the list of filesystems. Pure: looks at nothing.
 */
#ifndef FS_COVER_H
#define FS_COVER_H

#include <stdbool.h>
#include <stddef.h>

struct probe_plan;

#define FS_BLOCK_DEVICE "block device"

enum fs_cover {
	FS_EXACT,    /* every read passes the hooks, or is counted as a direct one */
	FS_PARTLY,   /* what goes through the page cache is counted, the rest is not seen */
	FS_BYPASSED, /* the data is not in the page cache, or not by its hooks */
	FS_UNKNOWN,  /* nobody has checked */
	FS_COVER_NR,
};

enum fs_trial {
	FS_TRIAL_NONE,
	FS_TRIAL_CACHED, /* a read left its page in the cache */
	FS_TRIAL_PAST,	 /* it did not */
};

/* Direct reads that are counted, a bit for each way. */
enum fs_direct {
	FS_DIRECT_GIVEN = 1 << 0, /* by what they gave: what was read through the cache is not */
	FS_DIRECT_BLOCK = 1 << 1,
	FS_DIRECT_NFS = 1 << 2,
	FS_DIRECT_FUSE = 1 << 3,
	FS_READS_BY_CALL = 1 << 4,     /* of cached ones: each is seen, whatever it finds */
	FS_SUBVOLUMES_AS_ONE = 1 << 5, /* the device of a subvolume is not known */
};

struct fs_facts {
	const char *type;    /* as in mountinfo, or FS_BLOCK_DEVICE; "" unknown */
	const char *options; /* of the superblock; NULL: unknown */
	bool dax;
	enum fs_trial trial;
	unsigned int direct; /* of enum fs_direct */
};

/* "exact", "partly", "cache-bypassed", "unknown". */
const char *fs_cover_name(enum fs_cover cover);

/* Whether a trial may say more of a file than its type does. */
bool fs_cover_wants_trial(const char *type);

/* *ret_why: one sentence, static. */
enum fs_cover fs_cover_decide(const struct fs_facts *facts, const char **ret_why);

/* The direct reads that a plan counts: bits of enum fs_direct. If the end of a read is not seen, a
 * plan counts what was asked for, even if it is refused: such reads are not in these bits. */
unsigned int fs_cover_direct(const struct probe_plan *plan);

#endif
