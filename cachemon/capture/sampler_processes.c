/* SPDX-License-Identifier: BSD-2-Clause */
#include <bpf/libbpf.h>
#include <stdlib.h>

#include "cachemon/base/vec.h"
#include "cachemon/capture/sampler_impl.h"

enum { PROCESSES_KEPT = 64 };

/* Without memory a process has no row: its time is what the rows lack of the job's. */
static void processes_take(struct sampler *s, const void *keys, const void *values, uint32_t n)
{
	const struct process_row *rows = values;
	const uint32_t *pids = keys;

	if (vec_reserve(s->processes, s->max_processes, s->nr_processes + n))
		return;
	for (uint32_t i = 0; i < n; i++)
		s->processes[s->nr_processes++] =
			(struct sample_process){.job = pids[i] >> PROCESS_SLOT_SHIFT,
						.pid = pids[i] & PROCESS_PID,
						.row = rows[i]};
}

int sampler_processes_drain(struct sampler *s, uint32_t generation)
{
	struct process_row rows[SAMPLER_BATCH];
	uint32_t pids[SAMPLER_BATCH]; /* and the slots of many jobs */
	int fd = bpf_map__fd(generation ? s->skel->maps.processes_b : s->skel->maps.processes_a);
	const struct sampler_batch b = {pids, rows, SAMPLER_BATCH, processes_take};

	return sampler_drain(s, fd, &b);
}

static int by_pid(const void *a, const void *b)
{
	const struct sample_process *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

/* By the time that they waited, then by what they read. */
static int by_time(const void *a, const void *b)
{
	const struct sample_process *x = a, *y = b;

	if (x->row.stall_ns != y->row.stall_ns)
		return x->row.stall_ns > y->row.stall_ns ? -1 : 1;
	if (x->row.rchar_bytes != y->row.rchar_bytes)
		return x->row.rchar_bytes > y->row.rchar_bytes ? -1 : 1;
	return by_pid(a, b);
}

static void row_add(struct process_row *sum, const struct process_row *row)
{
	sum->stall_ns += row->stall_ns;
	sum->stalls += row->stalls;
	sum->rchar_bytes += row->rchar_bytes;
	sum->syscr_calls += row->syscr_calls;
}

size_t sampler_processes_order(struct sample_process *p, size_t nr)
{
	size_t kept = 0;

	if (!nr)
		return 0;
	/* The last sample drains both generations. */
	qsort(p, nr, sizeof(*p), by_pid);
	for (size_t i = 1; i < nr; i++) {
		if (p[i].pid != p[kept].pid)
			p[++kept] = p[i];
		else
			row_add(&p[kept].row, &p[i].row);
	}
	nr = kept + 1;
	qsort(p, nr, sizeof(*p), by_time);
	return nr < PROCESSES_KEPT ? nr : PROCESSES_KEPT;
}

void sampler_processes_end(struct sampler *s)
{
	s->nr_processes = sampler_processes_order(s->processes, s->nr_processes);
}
