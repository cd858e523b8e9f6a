/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/capture/grace.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdint.h>
#include <unistd.h>

int grace_open(struct grace *ret)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts);
	struct grace g = GRACE_NONE;
	int r;

	g.inner = bpf_map_create(BPF_MAP_TYPE_ARRAY, "grace_in", sizeof(uint32_t), sizeof(uint32_t),
				 1, NULL);
	if (g.inner < 0)
		return -errno;
	opts.inner_map_fd = (uint32_t)g.inner;
	g.outer = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "grace_out", sizeof(uint32_t),
				 sizeof(uint32_t), 1, &opts);
	if (g.outer < 0) {
		r = -errno;
		close(g.inner);
		return r;
	}
	*ret = g;
	return 0;
}

int grace_wait(const struct grace *g)
{
	uint32_t zero = 0, inner = (uint32_t)g->inner;

	return bpf_map_update_elem(g->outer, &zero, &inner, BPF_ANY) ? -errno : 0;
}

void grace_close(struct grace *g)
{
	if (g->outer >= 0)
		close(g->outer);
	if (g->inner >= 0)
		close(g->inner);
	*g = GRACE_NONE;
}
