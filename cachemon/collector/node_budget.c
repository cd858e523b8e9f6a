/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/collector/node_budget.h"

void node_budget_begin(struct node_budget *b, double share)
{
	*b = (struct node_budget){.share = share, .cost = -1};
}

/* Its cost now, which follows the jobs or the time. If this is too low, it is given up again. */
static double expected(const struct node_budget *b, int d)
{
	double by_time = b->of_time[d] * b->window.time_ns / b->window.jobs_cpu_ns;

	return by_time < b->of_cpu[d] ? by_time : b->of_cpu[d];
}

static void decide(struct node_budget *b)
{
	const struct node_cost *w = &b->window;
	double cost = b->cost;

	for (int d = 0; d < NODE_DETAILS && cost > b->share; d++) {
		if (w->detail_ns[d] <= 0)
			continue;
		/* Given up already: after the window, or during it. */
		cost -= w->detail_ns[d] / w->jobs_cpu_ns;
		if (b->shed[d])
			continue;
		b->shed[d] = true;
		b->of_cpu[d] = w->detail_ns[d] / w->jobs_cpu_ns;
		b->of_time[d] = w->detail_ns[d] / w->time_ns;
	}
	if (b->cost > b->share)
		return;
	for (int d = NODE_DETAILS - 1; d >= 0; d--) {
		if (!b->shed[d])
			continue;
		cost += expected(b, d);
		if (cost > b->share * NODE_BUDGET_ROOM)
			return;
		b->shed[d] = false;
	}
}

bool node_budget_judge(struct node_budget *b, const struct node_cost *now)
{
	struct node_cost w = {.time_ns = now->time_ns - b->mark.time_ns,
			      .jobs_cpu_ns = now->jobs_cpu_ns - b->mark.jobs_cpu_ns,
			      .cost_ns = now->cost_ns - b->mark.cost_ns};

	if (w.jobs_cpu_ns < NODE_BUDGET_WINDOW_NS || w.time_ns <= 0)
		return false;
	for (int d = 0; d < NODE_DETAILS; d++)
		w.detail_ns[d] = now->detail_ns[d] - b->mark.detail_ns[d];
	b->mark = *now;
	b->window = w;
	b->cost = w.cost_ns / w.jobs_cpu_ns;
	decide(b);
	return true;
}

void node_budget_change(struct node_budget *b, double share)
{
	b->share = share;
	if (b->cost >= 0)
		decide(b);
}
