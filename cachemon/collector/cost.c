/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/collector/cost.h"

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
	full = seen->read_ns / seen->read_on_share; /* had it been on all the time */
	duty = left / full;
	if (duty >= 1)
		return 1;
	return duty < COST_DUTY_MIN ? COST_DUTY_MIN : duty;
}
