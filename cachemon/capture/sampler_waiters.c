/* SPDX-License-Identifier: BSD-2-Clause */
#include <bpf/libbpf.h>
#include <stdlib.h>

#include "cachemon/base/vec.h"
#include "cachemon/capture/sampler_impl.h"

enum { WAITERS_KEPT = 64 };

/* Without memory a process has no row: its time is what the rows lack of the job's. */
static void waiters_take(struct sampler *s, const void *keys, const void *values, uint32_t n)
{
	const struct waiter *waited = values;
	const uint32_t *pids = keys;

	if (vec_reserve(s->waiters, s->max_waiters, s->nr_waiters + n))
		return;
	for (uint32_t i = 0; i < n; i++)
		s->waiters[s->nr_waiters++] =
			(struct sample_waiter){.pid = pids[i], .waited = waited[i]};
}

int sampler_waiters_drain(struct sampler *s, uint32_t generation)
{
	struct waiter waited[SAMPLER_BATCH];
	uint32_t pids[SAMPLER_BATCH];
	int fd = bpf_map__fd(generation ? s->skel->maps.waiters_b : s->skel->maps.waiters_a);

	return sampler_drain(s, fd,
			     &(struct sampler_batch){pids, waited, SAMPLER_BATCH, waiters_take});
}

static int by_pid(const void *a, const void *b)
{
	const struct sample_waiter *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

static int by_time(const void *a, const void *b)
{
	const struct sample_waiter *x = a, *y = b;

	if (x->waited.stall_ns != y->waited.stall_ns)
		return x->waited.stall_ns > y->waited.stall_ns ? -1 : 1;
	return by_pid(a, b);
}

void sampler_waiters_end(struct sampler *s)
{
	size_t kept = 0;

	if (!s->nr_waiters)
		return;
	/* The last sample drains both generations. */
	qsort(s->waiters, s->nr_waiters, sizeof(*s->waiters), by_pid);
	for (size_t i = 1; i < s->nr_waiters; i++) {
		const struct sample_waiter *w = &s->waiters[i];

		if (w->pid != s->waiters[kept].pid) {
			s->waiters[++kept] = *w;
			continue;
		}
		s->waiters[kept].waited.stall_ns += w->waited.stall_ns;
		s->waiters[kept].waited.stalls += w->waited.stalls;
	}
	s->nr_waiters = kept + 1;
	qsort(s->waiters, s->nr_waiters, sizeof(*s->waiters), by_time);
	if (s->nr_waiters > WAITERS_KEPT)
		s->nr_waiters = WAITERS_KEPT;
}
