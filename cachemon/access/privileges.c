/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/access/privileges.h"

#include <errno.h>

static uint64_t set_of_process(cap_flag_t set)
{
	cap_t caps = cap_get_proc();
	uint64_t mask = 0;
	cap_flag_value_t value;

	if (!caps)
		return 0;
	for (int cap = 0; cap < 64 && !cap_get_flag(caps, cap, set, &value); cap++)
		if (value == CAP_SET)
			mask |= PRIVILEGE(cap);
	cap_free(caps);
	return mask;
}

uint64_t privileges_permitted(void)
{
	return set_of_process(CAP_PERMITTED);
}

uint64_t privileges_effective(void)
{
	return set_of_process(CAP_EFFECTIVE);
}

/* Clears the capabilities outside the mask in one of the three sets. */
static int limit_set(cap_t caps, cap_flag_t set, uint64_t mask)
{
	cap_flag_value_t value;

	for (int cap = 0; cap < 64 && !cap_get_flag(caps, cap, set, &value); cap++)
		if (value == CAP_SET && !(mask & PRIVILEGE(cap)) &&
		    cap_set_flag(caps, set, 1, &cap, CAP_CLEAR))
			return -errno;
	return 0;
}

static int fill_set(cap_t caps, cap_flag_t set, uint64_t mask)
{
	for (int cap = 0; cap < 64; cap++)
		if (mask & PRIVILEGE(cap) && cap_set_flag(caps, set, 1, &cap, CAP_SET))
			return -errno;
	return 0;
}

static int apply_sets(uint64_t permitted, uint64_t effective, uint64_t inheritable)
{
	cap_t caps = cap_get_proc();
	int r;

	if (!caps)
		return -errno;
	r = limit_set(caps, CAP_INHERITABLE, inheritable);
	if (!r)
		r = limit_set(caps, CAP_PERMITTED, permitted);
	if (!r)
		r = cap_clear_flag(caps, CAP_EFFECTIVE) ? -errno : 0;
	if (!r)
		r = fill_set(caps, CAP_EFFECTIVE, effective);
	if (!r && cap_set_proc(caps))
		r = -errno;
	cap_free(caps);
	return r;
}

int privileges_use(uint64_t wanted)
{
	return apply_sets(~UINT64_C(0), privileges_permitted() & wanted, ~UINT64_C(0));
}

int privileges_keep(uint64_t kept)
{
	kept &= privileges_permitted();
	/* The ambient set follows: it only has what is both permitted and inheritable. */
	return apply_sets(kept, kept, 0);
}

int privileges_not_inherited(uint64_t given)
{
	/* The ambient set follows here too. */
	return apply_sets(~UINT64_C(0), privileges_permitted(), ~given);
}
