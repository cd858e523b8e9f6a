/* SPDX-License-Identifier: BSD-2-Clause */
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

struct order {
	int op;
	long n;
};

static void measure(int (*run)(void *ctx, int op, long n, uint64_t *cpu_ns), void *ctx,
		    const struct order *order, struct worker_result *r)
{
	uint64_t wall = bench_now_ns(), cpu, other = 0;
	struct rusage before, after;

	getrusage(RUSAGE_SELF, &before);
	cpu = bench_thread_cpu_ns();
	r->err = run(ctx, order->op, order->n, &other);
	r->cpu_ns = other ? other : bench_thread_cpu_ns() - cpu;
	r->wall_ns = bench_now_ns() - wall;
	getrusage(RUSAGE_SELF, &after);
	r->blocks_in = (uint64_t)(after.ru_inblock - before.ru_inblock);
	r->switches =
		(uint64_t)(after.ru_nvcsw + after.ru_nivcsw - before.ru_nvcsw - before.ru_nivcsw);
}

void worker_start(int (*run)(void *ctx, int op, long n, uint64_t *cpu_ns), void *ctx, bool ahead,
		  struct worker *ret)
{
	int to[2], from[2];
	const struct sched_param first = {.sched_priority = 1};
	struct worker_result r;
	struct order order;

	if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC))
		bench_fail("no pipe: %s", strerror(errno));
	ret->pid = fork();
	if (ret->pid < 0)
		bench_fail("cannot fork: %s", strerror(errno));
	if (!ret->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(to[1]);
		close(from[0]);
		if (ahead && sched_setscheduler(0, SCHED_FIFO, &first))
			bench_fail("cannot run ahead of other processes: %s", strerror(errno));
		while (read(to[0], &order, sizeof(order)) == sizeof(order)) {
			measure(run, ctx, &order, &r);
			if (write(from[1], &r, sizeof(r)) != sizeof(r))
				break;
		}
		_exit(0);
	}
	close(to[0]);
	close(from[1]);
	ret->to = to[1];
	ret->from = from[0];
}

void worker_do(struct worker *w, int op, long n, struct worker_result *ret)
{
	struct order order = {.op = op, .n = n};
	struct worker_result r;

	if (write(w->to, &order, sizeof(order)) != sizeof(order) ||
	    read(w->from, &r, sizeof(r)) != sizeof(r))
		bench_fail("the measured process has ended");
	if (r.err)
		bench_fail("the measured operation failed: %s", strerror(-r.err));
	*ret = r;
}

void worker_stop(struct worker *w)
{
	close(w->to);
	close(w->from);
	waitpid(w->pid, NULL, 0);
}
