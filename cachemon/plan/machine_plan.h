/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The plan of the running machine: reads its facts, then calls plan/probe_plan. Owns only that
 * order.
 */
#ifndef MACHINE_PLAN_H
#define MACHINE_PLAN_H

#include "cachemon/plan/probe_plan.h"
#include "cachemon/base/errtext.h"

/* Checks what reading any fact takes: /proc, /sys, descriptors. Without them, facts would be taken
 * for absent. 0 or -errno with the reason; machine_plan_make() checks it too. */
int machine_plan_check(struct errtext *err);

/* kinds: of hook to try, as struct kernel_env has them. */
int machine_plan_make(const struct plan_request *request, unsigned int kinds,
		      struct kernel_caps *ret_caps, struct probe_plan *ret_plan,
		      struct errtext *err);

/* For a run: tries only what can be chosen. -ENOTSUP: nothing worth a run, with the reason. */
int machine_plan_viable(const struct plan_request *request, struct kernel_caps *ret_caps,
			struct probe_plan *ret_plan, struct errtext *err);

#endif
