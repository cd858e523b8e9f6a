/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/capture/birth_ring.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "cachemon/capture/probe_set_impl.h"

struct birth_ring {
	const struct cachemon_maps_bpf *skel;
	struct ring_buffer *ring;
	birth_receive *receive;
	void *arg;
};

static int on_birth(void *ctx, void *data, size_t size)
{
	struct birth_ring *r = ctx;

	(void)size;
	r->receive(r->arg, data);
	return 0;
}

int birth_ring_new(struct probe_set *set, birth_receive *receive, void *arg,
		   struct birth_ring **ret)
{
	struct birth_ring *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	*r = (struct birth_ring){.skel = set->skel, .receive = receive, .arg = arg};
	r->ring = ring_buffer__new(bpf_map__fd(set->skel->maps.births), on_birth, r, NULL);
	if (!r->ring) {
		err = -errno;
		free(r);
		return err;
	}
	*ret = r;
	return 0;
}

void birth_ring_free(struct birth_ring *r)
{
	if (!r)
		return;
	ring_buffer__free(r->ring);
	free(r);
}

int birth_ring_fd(const struct birth_ring *r)
{
	return ring_buffer__epoll_fd(r->ring);
}

int birth_ring_consume(struct birth_ring *r)
{
	int n = ring_buffer__consume(r->ring);

	return n < 0 ? n : 0;
}

uint64_t birth_ring_dropped(const struct birth_ring *r)
{
	return __atomic_load_n(&r->skel->bss->shared.losses.births_dropped, __ATOMIC_RELAXED);
}
