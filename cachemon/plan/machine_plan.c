/* SPDX-License-Identifier: BSD-2-Clause */
#include "plan/machine_plan.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>

int machine_plan_make(const struct plan_request *request, unsigned int kinds,
		      struct kernel_caps *ret_caps, struct probe_plan *ret_plan,
		      struct errtext *err)
{
	const struct kernel_env env = {"", kinds, hook_trial_run};
	const struct probe_table *table = probe_table_own();
	struct kernel_hook hooks[KERNEL_HOOKS_MAX];
	size_t nr;
	int r = probe_table_hooks(table, hooks, KERNEL_HOOKS_MAX, &nr);

	if (!r)
		r = kernel_caps_read(&env, hooks, nr, ret_caps);
	if (r)
		return errtext_set(err, r, "cannot read what this kernel offers: %s", strerror(-r));
	probe_plan_make(ret_caps, request, table, ret_plan);
	return 0;
}

/* In place of a list of probes that cannot be loaded: what everybody meets who forgot sudo. */
static int refuse_user(const struct kernel_caps *caps, struct errtext *err)
{
	bool bpf = kernel_caps_holds(caps, CAP_BPF), perfmon = kernel_caps_holds(caps, CAP_PERFMON);

	return errtext_set(err, -EPERM,
			   "no privilege to measure: without %s%s%s; run it as root, or see "
			   "'cachemon doctor'",
			   bpf ? "" : "CAP_BPF", bpf || perfmon ? "" : " and ",
			   perfmon ? "" : "CAP_PERFMON");
}

int machine_plan_viable(const struct plan_request *request, struct kernel_caps *ret_caps,
			struct probe_plan *ret_plan, struct errtext *err)
{
	int r = machine_plan_make(request, probe_table_kinds(probe_table_own()), ret_caps, ret_plan,
				  err);

	if (r || ret_plan->viable)
		return r;
	if (!kernel_caps_holds(ret_caps, CAP_BPF) || !kernel_caps_holds(ret_caps, CAP_PERFMON))
		return refuse_user(ret_caps, err);
	return errtext_set(err, -ENOTSUP, "%s ('cachemon doctor' tells more)", ret_plan->refusal);
}
