/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/cost_charge.h"

#include <string.h>

void cost_charge_begin(struct cost_charge *c, const struct calibration *calibration,
		       const uint64_t runs[EV_NR])
{
	*c = (struct cost_charge){.price = *calibration};
	memcpy(c->runs, runs, sizeof(c->runs));
}

static bool price_is_settled(const struct cost_charge *c, enum event ev)
{
	return c->nr_looks[ev] >= COST_LOOKS;
}

static double lower(double a, double b)
{
	return a < b ? a : b;
}

static double higher(double a, double b)
{
	return a > b ? a : b;
}

static double price_of_looks(const double v[COST_LOOKS], uint64_t nr)
{
	if (nr == 1)
		return v[0];
	if (nr == 2)
		return lower(v[0], v[1]);
	return higher(lower(v[0], v[1]), lower(higher(v[0], v[1]), v[2]));
}

static void settle(struct cost_charge *c, enum event ev, uint64_t runs)
{
	if (!runs || c->settled_ns[ev] < 0)
		return;
	if (c->price.ns[ev] < 0)
		c->settled_ns[ev] = -1;
	else
		c->settled_ns[ev] += c->price.ns[ev] * (double)runs;
}

void cost_charge_runs(struct cost_charge *c, const uint64_t runs[EV_NR])
{
	for (int ev = 0; ev < EV_NR; ev++) {
		uint64_t since = runs[ev] - c->runs[ev];

		c->runs[ev] = runs[ev];
		if (price_is_settled(c, (enum event)ev))
			settle(c, (enum event)ev, since);
		else
			c->open[ev] += since;
	}
}

void cost_charge_look(struct cost_charge *c, enum event ev, double ns)
{
	bool was_settled = price_is_settled(c, ev);

	c->looks[ev][c->nr_looks[ev]++ % COST_LOOKS] = ns;
	c->price.ns[ev] = price_of_looks(c->looks[ev], c->nr_looks[ev]);
	if (was_settled || !price_is_settled(c, ev))
		return;
	settle(c, ev, c->open[ev]);
	c->open[ev] = 0;
}

static double charged_ns(const struct cost_charge *c, enum event ev)
{
	if (!c->open[ev])
		return c->settled_ns[ev];
	if (c->settled_ns[ev] < 0 || c->price.ns[ev] < 0)
		return -1;
	return c->settled_ns[ev] + c->price.ns[ev] * (double)c->open[ev];
}

double cost_charge_probe_ns(const struct cost_charge *c)
{
	double sum = 0;

	for (int ev = 0; ev < EV_NR; ev++) {
		double ns = charged_ns(c, (enum event)ev);

		if (ns < 0)
			return -1;
		sum += ns;
	}
	return sum;
}

double cost_charge_read_ns(const struct cost_charge *c)
{
	return charged_ns(c, EV_READ);
}
