/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The plan of the machine this runs on: its facts, read, and the decision of plan/probe_plan over
 * them. Owns nothing but that order.
 */
#ifndef MACHINE_PLAN_H
#define MACHINE_PLAN_H

#include "cachemon/plan/probe_plan.h"
#include "cachemon/base/errtext.h"

/* What every look at the machine takes: /proc, /sys, descriptors. Else what was looked for would be
 * taken for absent. 0 or -errno with the reason; machine_plan_make() asks it too. */
int machine_plan_check(struct errtext *err);

/* kinds: of hook to try, as struct kernel_env has them. */
int machine_plan_make(const struct plan_request *request, unsigned int kinds,
		      struct kernel_caps *ret_caps, struct probe_plan *ret_plan,
		      struct errtext *err);

/* For a run: tries only what can be chosen. -ENOTSUP: nothing worth a run, with the reason. */
int machine_plan_viable(const struct plan_request *request, struct kernel_caps *ret_caps,
			struct probe_plan *ret_plan, struct errtext *err);

#endif
