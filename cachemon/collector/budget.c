/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/collector/budget.h"

void budget_begin(struct budget *b, double share)
{
	*b = (struct budget){.share = share, .detail_ns = BUDGET_PURSE_NS};
}

double budget_detail_ns(struct budget *b, const struct cost_seen *now)
{
	double cpu_ns = now->job_cpu_ns - b->paid_cpu_ns;

	if (cpu_ns <= 0)
		return b->detail_ns;
	b->paid_cpu_ns = now->job_cpu_ns;
	if (cost_excess_ns(now, b->share) <= 0)
		b->detail_ns += cpu_ns * b->share * BUDGET_DETAIL_SHARE;
	return b->detail_ns;
}

/* A part that is not known makes the difference unknown. */
static double since(double now, double before)
{
	return now < 0 || before < 0 ? -1 : now - before;
}

bool budget_slices(struct budget *b, const struct cost_seen *now)
{
	struct cost_seen window = {
		.job_cpu_ns = now->job_cpu_ns - b->mark.job_cpu_ns,
		.own_ns = since(now->own_ns, b->mark.own_ns),
		.read_ns = since(now->read_ns, b->mark.read_ns),
		.read_on_share = now->read_on_share,
	};

	if (window.job_cpu_ns < BUDGET_WINDOW_NS)
		return false;
	b->mark = *now;
	if (b->windows++ < BUDGET_SETTLE)
		return false;
	return cost_slicing_helps(now, b->share) && cost_slicing_helps(&window, b->share);
}
