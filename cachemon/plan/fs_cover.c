/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/plan/fs_cover.h"

#include <string.h>

#include "cachemon/access/mountinfo.h"
#include "cachemon/plan/probe_plan.h"

static const char why_cached[] = "cached reads, writes and faults are counted exactly";
static const char why_btrfs[] = "cached reads, writes and faults are counted exactly; a direct "
				"read that falls back to the cache is counted as both";
static const char why_as_one[] =
	"subvolumes could not be distinguished, because the types of the btrfs module were not "
	"known "
	"when watching began: a file and its snapshots are one row, and their figures are mixed";
static const char why_device[] =
	"cached reads, writes and faults are counted exactly; O_DIRECT reads are not observed";
static const char why_network[] =
	"page-cache accesses are counted exactly; O_DIRECT reads are not observed";
static const char why_fuse[] = "page-cache accesses are counted exactly; files that its server "
			       "opens with direct_io bypass the cache and are not observed";
static const char why_tail[] = "page-cache accesses are counted exactly, except reads that end in "
			       "the last page of a file: they may leave no event";
static const char why_direct[] = "page-cache accesses and direct reads are counted exactly";
static const char why_no_pages[] =
	"its data does not pass through the page cache hooks; hit ratios do not apply";
static const char why_kernel[] = "the kernel generates its data on each read; nothing is cached";

static const struct known {
	const char *type;
	enum fs_cover cover;
	const char *why;
} known[] = {
	{"ext2", FS_EXACT, why_cached},
	{"ext3", FS_EXACT, why_cached},
	{"ext4", FS_EXACT, why_cached},
	{"xfs", FS_EXACT, why_cached},
	{"btrfs", FS_EXACT, why_btrfs},
	{"f2fs", FS_EXACT, why_cached},
	/* This filesystem keeps pages beyond the end of a file that never become up to date. */
	{"squashfs", FS_PARTLY, why_tail},
	{FS_BLOCK_DEVICE, FS_PARTLY, why_device},
	{"bdev", FS_PARTLY, why_device}, /* the kernel's name for it */
	{"nfs", FS_PARTLY, why_network},
	{"nfs4", FS_PARTLY, why_network},
	{"cifs", FS_PARTLY, why_network},
	{"smb3", FS_PARTLY, why_network},
	{"ceph", FS_PARTLY, why_network},
	{"9p", FS_PARTLY, why_network},
	{"virtiofs", FS_PARTLY, why_fuse},
	{"fuse", FS_PARTLY, why_fuse},
	{"fuseblk", FS_PARTLY, why_fuse},
	{"tmpfs", FS_BYPASSED,
	 "its files are in memory, so reads never miss and are not observed; hit ratios do not "
	 "apply"},
	{"devtmpfs", FS_BYPASSED, why_no_pages},
	{"hugetlbfs", FS_BYPASSED, why_no_pages},
	{"zfs", FS_BYPASSED,
	 "it has its own cache (ARC), which is not observed; hit ratios do not apply"},
	{"proc", FS_BYPASSED, why_kernel},
	{"sysfs", FS_BYPASSED, why_kernel},
	{"cgroup", FS_BYPASSED, why_kernel},
	{"cgroup2", FS_BYPASSED, why_kernel},
	{"debugfs", FS_BYPASSED, why_kernel},
	{"tracefs", FS_BYPASSED, why_kernel},
};

const char *fs_cover_name(enum fs_cover cover)
{
	static const char *const names[FS_COVER_NR] = {
		[FS_EXACT] = "exact",
		[FS_PARTLY] = "partly",
		[FS_BYPASSED] = "cache-bypassed",
		[FS_UNKNOWN] = "unknown",
	};

	return names[cover];
}

static const struct known *find_known(const char *type)
{
	static const struct known unknown = {"", FS_UNKNOWN,
					     "not tested: run selftest on one of its directories"};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(known[i].type, type))
			return &known[i];
	/* "fuse.sshfs": mount's name for a FUSE filesystem with a subtype. */
	return !strncmp(type, "fuse.", 5) ? find_known("fuse") : &unknown;
}

bool fs_cover_wants_trial(const char *type)
{
	enum fs_cover cover = find_known(type)->cover;

	/* An overlay uses the pages of its layers, and these are judged. */
	return cover == FS_PARTLY || (cover == FS_UNKNOWN && strcmp(type, "overlay") != 0);
}

/* The sentence for a filesystem whose direct reads are counted, else NULL. */
static const char *why_counted(const char *type, unsigned int direct)
{
	static const struct {
		const char *type;
		enum fs_direct needs;
		const char *why;
	} ways[] = {
		{"btrfs", FS_DIRECT_GIVEN, why_cached},
		{"squashfs", FS_READS_BY_CALL, why_cached},
		{FS_BLOCK_DEVICE, FS_DIRECT_BLOCK, why_direct},
		{"bdev", FS_DIRECT_BLOCK, why_direct},
		{"nfs", FS_DIRECT_NFS, why_direct},
		{"nfs4", FS_DIRECT_NFS, why_direct},
		{"virtiofs", FS_DIRECT_FUSE, why_direct},
		{"fuse", FS_DIRECT_FUSE, why_direct},
		{"fuseblk", FS_DIRECT_FUSE, why_direct},
	};

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!strcmp(ways[i].type, type) && ways[i].needs & direct)
			return ways[i].why;
	return NULL;
}

/* The sentence for mounts whose options turn caching off, else NULL. */
static const char *option_bypass(const char *type, const char *options)
{
	if (!options)
		return NULL;
	if ((!strcmp(type, "cifs") || !strcmp(type, "smb3")) &&
	    mountinfo_has_option(options, "cache=none"))
		return "mounted with cache=none: reads go to the server; hit ratios do not apply";
	/* The default, which is not printed; kernels print names or, later, bits. */
	if (!strcmp(type, "9p") &&
	    (!strstr(options, "cache=") || mountinfo_has_option(options, "cache=none") ||
	     mountinfo_has_option(options, "cache=0")))
		return "mounted without a cache: reads go to the server; hit ratios do not apply";
	return NULL;
}

static const char *option_note(const char *type, const char *options, bool direct)
{
	if (!options || strncmp(type, "nfs", 3) != 0 || !mountinfo_has_option(options, "fsc"))
		return NULL;
	return direct ? "page-cache accesses and direct reads are counted exactly; the local cache "
			"(fsc) may serve a miss"
		      : "page-cache accesses are counted exactly; the local cache (fsc) may serve "
			"a miss; O_DIRECT reads are not observed";
}

enum fs_cover fs_cover_decide(const struct fs_facts *facts, const char **ret_why)
{
	const struct known *k = find_known(facts->type);
	const char *why = option_bypass(facts->type, facts->options);
	const char *direct = why_counted(k->type, facts->direct);

	if (facts->dax) {
		*ret_why = "DAX: reads and mappings access the device directly and bypass the page "
			   "cache; hit ratios do not apply";
		return FS_BYPASSED;
	}
	if (fs_cover_wants_trial(facts->type) && facts->trial == FS_TRIAL_PAST) {
		*ret_why = direct ? "test: a read of this file did not enter the page cache; its "
				    "reads are counted as direct, and hit ratios do not apply"
				  : "test: a read of this file did not enter the page cache; hit "
				    "ratios do not apply";
		return FS_BYPASSED;
	}
	/* A mount without caching may still cache mapped pages; a trial is more reliable than
	 * options. */
	if (why && facts->trial != FS_TRIAL_CACHED) {
		*ret_why = why;
		return FS_BYPASSED;
	}
	if (!strcmp(k->type, "btrfs") && facts->direct & FS_SUBVOLUMES_AS_ONE) {
		*ret_why = why_as_one;
		return FS_PARTLY;
	}
	why = option_note(facts->type, facts->options, direct);
	*ret_why = why ? why : direct ? direct : k->why;
	return direct ? FS_EXACT : k->cover;
}

unsigned int fs_cover_direct(const struct probe_plan *plan)
{
	static const struct {
		enum fs_direct direct;
		enum probe_role begin, end;
	} ways[] = {
		{FS_DIRECT_GIVEN, ROLE_DIRECT_READ, ROLE_DIRECT_DONE},
		{FS_DIRECT_BLOCK, ROLE_DIRECT_BLOCK, ROLE_DIRECT_BLOCK_END},
		{FS_DIRECT_NFS, ROLE_DIRECT_NFS, ROLE_DIRECT_NFS_END},
		{FS_DIRECT_FUSE, ROLE_DIRECT_FUSE, ROLE_DIRECT_FUSE_END},
	};
	const struct probe_choice *block = &plan->choices[ROLE_DIRECT_BLOCK];
	unsigned int direct = 0;

	/* Counted by the request, because a device returns all of it or fails. */
	if (probe_plan_has(plan, ROLE_DIRECT_BLOCK) && block->kind == HOOK_TP_BTF)
		direct |= FS_DIRECT_BLOCK;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (probe_plan_has(plan, ways[i].begin) && probe_plan_has(plan, ways[i].end))
			direct |= ways[i].direct;
	if (probe_plan_by_function(plan, ROLE_READ))
		direct |= FS_READS_BY_CALL;
	return direct;
}
