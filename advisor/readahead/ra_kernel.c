/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/readahead/ra_kernel.h"

#include <stdio.h>
#include <string.h>

/*
 * Each entry was compared page by page with its kernel: tests/vm/readahead, and the recordings in
 * tests/unit/fixtures/readahead that a unit test replays. Versions in between were not tested.
 */
static const struct ra_kernel kernels[] = {
	{
		.name = "5.10",
		.prev_pos = RA_PREV_LAST_READ,
		.order = RA_ORDER_NONE,
		.one_body = true,
		.next_full_is_last = true,
		.prev_full_is_last = true,
		.asks_past_end = true,
		.eof_marker = true,
	},
	{
		.name = "6.1",
		.prev_pos = RA_PREV_NEXT_EACH,
		.order = RA_ORDER_MARKER,
		.one_body = true,
		.next_full_is_last = true,
		.prev_full_is_last = true,
		.never_shrinks = true,
		.search_lags = true,
		.small_is_single = true,
		.no_order_1 = true,
		.overshoots = true,
		.eof_marker = true,
	},
	{
		.name = "6.12",
		.prev_pos = RA_PREV_NEXT_END,
		.order = RA_ORDER_MARKER,
		.prev_full_is_last = true,
		.never_shrinks = true,
		.search_lags = true,
		.small_is_single = true,
		.overshoots = true,
		.eof_marker = true,
	},
	{
		.name = "6.18",
		.prev_pos = RA_PREV_NEXT_END,
		.order = RA_ORDER_RAMP,
		.prev_full_is_last = true,
		.never_shrinks = true,
		.search_lags = true,
		.round_end = true,
		.eof_marker = true,
		.exec_window = true,
	},
	{
		.name = "7.2",
		.prev_pos = RA_PREV_NEXT_END,
		.order = RA_ORDER_RAMP,
		.mmap_miss = RA_MISS_FAULTING,
		.never_shrinks = true,
		.search_lags = true,
		.round_end = true,
		.exec_window = true,
		.exec_uncounted = true,
	},
};

enum { NR_KERNELS = sizeof(kernels) / sizeof(kernels[0]) };

const struct ra_kernel *ra_kernel_named(const char *name)
{
	for (size_t i = 0; i < NR_KERNELS; i++)
		if (strcmp(kernels[i].name, name) == 0)
			return &kernels[i];
	return NULL;
}

const struct ra_kernel *ra_kernel_of(const char *release, const char **ret_why)
{
	unsigned int major, minor;
	char name[24];
	const struct ra_kernel *found;

	if (!release || sscanf(release, "%u.%u", &major, &minor) != 2) {
		*ret_why = "the run does not name its kernel";
		return NULL;
	}
	snprintf(name, sizeof(name), "%u.%u", major, minor);
	found = ra_kernel_named(name);
	if (!found)
		*ret_why = "the readahead of this kernel is not modelled; supported kernels are "
			   "5.10, 6.1, 6.12, 6.18 and 7.2";
	return found;
}

int ra_kernel_max_order(const struct ra_kernel *kernel, const char *fstype)
{
	/* The order is smaller if the kernel was built without huge pages; the recorded figure
	 * decides. */
	static const struct {
		const char *kernel, *fstype;
		int order;
	} known[] = {
		{"6.1", "ext4", 0},  {"6.1", "btrfs", 0},  {"6.1", "xfs", 9},
		{"6.12", "ext4", 0}, {"6.12", "btrfs", 0}, {"6.12", "xfs", 9},
		{"6.18", "ext4", 9}, {"6.18", "btrfs", 0}, {"6.18", "xfs", 9},
		{"7.2", "ext4", 9},  {"7.2", "xfs", 9},
	};

	if (kernel->order == RA_ORDER_NONE)
		return 0;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(kernel->name, known[i].kernel) == 0 &&
		    strcmp(fstype, known[i].fstype) == 0)
			return known[i].order;
	return -1;
}
