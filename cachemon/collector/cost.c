/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/collector/cost.h"

#include <string.h>

double cost_probe_ns(const struct calibration *cal, const uint64_t runs[EV_NR])
{
	double sum = 0;

	for (int ev = 0; ev < EV_NR; ev++) {
		if (!runs[ev])
			continue;
		if (cal->ns[ev] < 0)
			return -1;
		sum += cal->ns[ev] * (double)runs[ev];
	}
	return sum;
}

void cost_charge_begin(struct cost_charge *c, const struct calibration *calibration,
		       const uint64_t runs[EV_NR])
{
	*c = (struct cost_charge){.price = *calibration};
	memcpy(c->runs, runs, sizeof(c->runs));
}

static double lower(double a, double b)
{
	return a < b ? a : b;
}

static double higher(double a, double b)
{
	return a > b ? a : b;
}

static double median_look(const double v[COST_LOOKS])
{
	return higher(lower(v[0], v[1]), lower(higher(v[0], v[1]), v[2]));
}

void cost_charge_runs(struct cost_charge *c, const uint64_t runs[EV_NR])
{
	for (int ev = 0; ev < EV_NR; ev++) {
		/* Two parts are read at different moments, so their sum may seem to fall. */
		if (runs[ev] <= c->runs[ev])
			continue;
		c->open[ev] += runs[ev] - c->runs[ev];
		c->runs[ev] = runs[ev];
	}
}

/* The price of the second-newest measurement is final, because both neighbours are known. The
 * first one with both also prices all earlier runs. */
static void settle_look(struct cost_charge *c, enum event ev)
{
	double price = median_look(c->looks[ev]);
	double from = c->nr_looks[ev] == COST_LOOKS ? price : c->before[ev];

	c->settled_ns[ev] += (double)c->between[ev] * (from + price) / 2;
	c->between[ev] = 0;
	c->before[ev] = price;
}

void cost_charge_look(struct cost_charge *c, enum event ev, double ns)
{
	double *looks = c->looks[ev];

	memmove(looks + 1, looks, (COST_LOOKS - 1) * sizeof(*looks));
	looks[0] = ns;
	c->nr_looks[ev]++;
	c->price.ns[ev] = c->nr_looks[ev] == 1 ? ns : lower(ns, looks[1]);
	if (c->nr_looks[ev] < COST_LOOKS)
		c->before[ev] = c->price.ns[ev];
	else
		settle_look(c, ev);
	c->between[ev] += c->open[ev];
	c->open[ev] = 0;
}

/* Before the first measurement, all runs have the calibration's price. */
double cost_charge_ns(const struct cost_charge *c, enum event ev)
{
	double price = c->price.ns[ev];

	if (c->open[ev] && price < 0)
		return -1;
	return c->settled_ns[ev] + (double)c->between[ev] * (c->before[ev] + price) / 2 +
	       (double)c->open[ev] * price;
}

double cost_excess_ns(const struct cost_seen *seen, double budget)
{
	if (seen->own_ns < 0 || seen->read_ns < 0)
		return 0;
	return seen->own_ns + seen->read_ns - budget * seen->job_cpu_ns;
}

bool cost_slicing_helps(const struct cost_seen *seen, double budget)
{
	struct cost_seen always = *seen;
	double excess;

	if (seen->read_on_share <= 0 || seen->read_ns <= 0)
		return false;
	always.read_ns = seen->read_ns / seen->read_on_share;
	excess = cost_excess_ns(&always, budget);
	return excess > 0 && always.read_ns >= excess / 2;
}

double cost_duty(const struct cost_seen *seen, double budget)
{
	double left, full, duty;

	if (seen->job_cpu_ns <= 0 || seen->read_on_share <= 0 || seen->read_ns <= 0 ||
	    seen->own_ns < 0)
		return 1;
	left = budget * seen->job_cpu_ns - seen->own_ns;
	full = seen->read_ns / seen->read_on_share; /* if it had been on all the time */
	duty = left / full;
	if (duty >= 1)
		return 1;
	return duty < COST_DUTY_MIN ? COST_DUTY_MIN : duty;
}

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

/* An unknown part makes the difference unknown. */
static double cost_since(double now, double before)
{
	return now < 0 || before < 0 ? -1 : now - before;
}

bool budget_slices(struct budget *b, const struct cost_seen *now)
{
	struct cost_seen window = {
		.job_cpu_ns = now->job_cpu_ns - b->mark.job_cpu_ns,
		.own_ns = cost_since(now->own_ns, b->mark.own_ns),
		.read_ns = cost_since(now->read_ns, b->mark.read_ns),
		.read_on_share = now->read_on_share,
	};

	if (window.job_cpu_ns < BUDGET_WINDOW_NS)
		return false;
	b->mark = *now;
	if (b->windows++ < BUDGET_SETTLE)
		return false;
	return cost_slicing_helps(now, b->share) && cost_slicing_helps(&window, b->share);
}
