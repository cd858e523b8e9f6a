/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/collector/cost_charge.h"

#include <string.h>

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

static double median(const double v[COST_LOOKS])
{
	return higher(lower(v[0], v[1]), lower(higher(v[0], v[1]), v[2]));
}

void cost_charge_runs(struct cost_charge *c, const uint64_t runs[EV_NR])
{
	for (int ev = 0; ev < EV_NR; ev++) {
		/* Two of its parts are read one after the other: a sum may seem to go back. */
		if (runs[ev] <= c->runs[ev])
			continue;
		c->open[ev] += runs[ev] - c->runs[ev];
		c->runs[ev] = runs[ev];
	}
}

/* The look before the newest one has both its neighbours. The first to have them gives the price of
 * all that ran before it. */
static void settle(struct cost_charge *c, enum event ev)
{
	double price = median(c->looks[ev]);
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
		settle(c, ev);
	c->between[ev] += c->open[ev];
	c->open[ev] = 0;
}

/* Without a look all is open, at the calibration's price. */
double cost_charge_ns(const struct cost_charge *c, enum event ev)
{
	double price = c->price.ns[ev];

	if (c->open[ev] && price < 0)
		return -1;
	return c->settled_ns[ev] + (double)c->between[ev] * (c->before[ev] + price) / 2 +
	       (double)c->open[ev] * price;
}
