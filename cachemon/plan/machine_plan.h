/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The plan of the running machine: reads its facts, then calls plan/probe_plan. Owns only this
 * order.
 */
#ifndef MACHINE_PLAN_H
#define MACHINE_PLAN_H

#include "cachemon/plan/probe_plan.h"
#include "cachemon/base/errtext.h"

/* Checks what the reading of facts needs: /proc, /sys, descriptors. Without them, facts would
 * look absent. 0 or -errno with the reason; machine_plan_make() checks it too. */
int machine_plan_check(struct errtext *err);

/* kinds: hooks to try, as in struct kernel_env. */
int machine_plan_make(const struct plan_request *request, unsigned int kinds,
		      struct kernel_caps *ret_caps, struct probe_plan *ret_plan,
		      struct errtext *err);

/* For a run: tries only what can be chosen. -ENOTSUP: a run would measure nothing useful; the
 * text has the reason. */
int machine_plan_viable(const struct plan_request *request, struct kernel_caps *ret_caps,
			struct probe_plan *ret_plan, struct errtext *err);

#endif
