/* SPDX-License-Identifier: BSD-2-Clause */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "cachemon/base/vec.h"
#include "cachemon/capture/sampler_impl.h"

enum { BATCH = 128, WAITERS_KEPT = 64 };

/* The generation is quiet since the switch. Without memory a process has no row: its time is what
 * the rows lack of the job's. */
int sampler_waiters_drain(struct sampler *s, uint32_t generation)
{
	int fd = bpf_map__fd(generation ? s->skel->maps.waiters_b : s->skel->maps.waiters_a);
	struct waiter waited[BATCH];
	uint32_t pids[BATCH];
	uint64_t token;
	bool first = true;
	int r = 0;

	while (!r) {
		uint32_t n = BATCH;

		if (bpf_map_lookup_and_delete_batch(fd, first ? NULL : &token, &token, pids, waited,
						    &n, NULL))
			r = -errno;
		if (r && r != -ENOENT)
			return r;
		first = false;
		if (vec_reserve(s->waiters, s->max_waiters, s->nr_waiters + n))
			continue;
		for (uint32_t i = 0; i < n; i++)
			s->waiters[s->nr_waiters++] =
				(struct sample_waiter){.pid = pids[i], .waited = waited[i]};
	}
	return 0;
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
