/* SPDX-License-Identifier: BSD-2-Clause */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/vec.h"
#include "cachemon/capture/sampler_impl.h"

/* A build without these maps has no rows, not rows of zeros. */
bool sampler_sees_evictors(const struct sampler *s)
{
	return probe_build_evictors(s->set->plan->build);
}

void sampler_evictions_begin(struct sampler *s)
{
	s->nr_evictions = s->nr_adders = 0;
	cgroup_names_again(s->cgroups);
}

/* Without memory for a row, its pages have an unknown evictor. */
static void eviction_push(struct sampler *s, const struct evictor_key *key, uint64_t pages)
{
	struct sample_eviction *e;

	if (key->cause >= EVICT_NR)
		return;
	if (vec_reserve(s->evictions, s->max_evictions, s->nr_evictions + 1)) {
		s->evictors_full[key->cause] += pages;
		return;
	}
	e = &s->evictions[s->nr_evictions++];
	*e = (struct sample_eviction){.key = *key, .pages = pages};
	e->key.comm[COMM_BYTES - 1] = '\0';
	if (key->kind == EVICTOR_OTHERS)
		e->cgroup = cgroup_names_get(s->cgroups, key->cgroup);
}

static void evictions_take(struct sampler *s, const void *keys, const void *values, uint32_t n)
{
	const struct evictor_key *key = keys;
	const uint64_t *pages = values;

	for (uint32_t i = 0; i < n; i++)
		eviction_push(s, &key[i], pages[i]);
}

static int evictors_drain(struct sampler *s, int fd)
{
	struct evictor_key keys[SAMPLER_BATCH];
	uint64_t pages[SAMPLER_BATCH];

	return sampler_drain(s, fd,
			     &(struct sampler_batch){keys, pages, SAMPLER_BATCH, evictions_take});
}

/* The CPUs' last notes of it. */
static int runs_drain(struct sampler *s, uint32_t generation)
{
	int fd = bpf_map__fd(s->skel->maps.evictor_runs);
	unsigned int nr = s->set->nr_cpus;
	struct evictor_run *runs = calloc(nr, sizeof(*runs));
	int r = 0;

	if (!runs)
		return -ENOMEM;
	if (bpf_map_lookup_elem(fd, &generation, runs))
		r = -errno;
	for (unsigned int i = 0; !r && i < nr; i++)
		if (runs[i].pages)
			eviction_push(s, &runs[i].key, runs[i].pages);
	memset(runs, 0, nr * sizeof(*runs));
	if (!r && bpf_map_update_elem(fd, &generation, runs, BPF_ANY))
		r = -errno;
	free(runs);
	return r;
}

static void adder_push(struct sampler *s, const struct adder_key *key, uint64_t pages)
{
	struct sample_adder *a;

	if (vec_reserve(s->adders, s->max_adders, s->nr_adders + 1)) {
		s->adders_full += pages;
		return;
	}
	a = &s->adders[s->nr_adders++];
	*a = (struct sample_adder){.key = *key, .pages = pages};
	a->key.comm[COMM_BYTES - 1] = '\0';
	a->cgroup = cgroup_names_get(s->cgroups, key->cgroup);
}

/* Drains the adders of that generation; each element is deleted once the next one is known. */
static int adders_drain(struct sampler *s, uint32_t generation)
{
	int fd = bpf_map__fd(s->skel->maps.adders);
	struct adder_key key, next;
	bool more = !bpf_map_get_next_key(fd, NULL, &key);

	while (more) {
		uint64_t pages;

		more = !bpf_map_get_next_key(fd, &key, &next);
		if (key.generation == generation && !bpf_map_lookup_elem(fd, &key, &pages)) {
			if (bpf_map_delete_elem(fd, &key))
				return -errno;
			adder_push(s, &key, pages);
		}
		key = next;
	}
	return 0;
}

int sampler_evictions_drain(struct sampler *s, uint32_t generation)
{
	int fd, r;

	if (!sampler_sees_evictors(s))
		return 0;
	fd = bpf_map__fd(generation ? s->skel->maps.evictors_b : s->skel->maps.evictors_a);
	r = evictors_drain(s, fd);
	if (!r)
		r = runs_drain(s, generation);
	return r ? r : adders_drain(s, generation);
}

void sampler_evictions_end(struct sampler *s, struct sample_evictions *ret)
{
	const struct shared *now = &s->skel->bss->shared;

	*ret = (struct sample_evictions){.evicted = s->evictions,
					 .nr_evicted = s->nr_evictions,
					 .adders = s->adders,
					 .nr_adders = s->nr_adders};
	/* Sums since the start, of both generations. */
	for (int i = 0; i < EVICT_NR; i++) {
		uint64_t full = now->evictors_full[i] + s->evictors_full[i];

		ret->full[i] = full - s->full_reported[i];
		s->full_reported[i] = full;
	}
	ret->adders_full = now->adders_full + s->adders_full - s->adders_full_reported;
	s->adders_full_reported += ret->adders_full;
}
