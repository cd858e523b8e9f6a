/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernels whose BTF the tests have, and the kinds of hooks that a machine may allow. Makes a
 * plan from each such pair.
 */
#ifndef PLAN_KERNELS_H
#define PLAN_KERNELS_H

#include "plan_invent.h"

static const char *const kernels[] = {"5.10", "6.1", "6.12", "6.18", "7.2"};

#define NR_KERNELS (sizeof(kernels) / sizeof(kernels[0]))
#define FUNCTIONS  (1U << HOOK_FENTRY | 1U << HOOK_FEXIT)
#define PROBES	   (1U << HOOK_KPROBE | 1U << HOOK_KRETPROBE)

static const struct {
	const char *name;
	unsigned int refused; /* 1 << enum hook_kind */
} machines[] = {
	{"every kind of hook", 0},
	{"no fentry, no fexit", FUNCTIONS},
	{"tracepoints alone", FUNCTIONS | PROBES},
};

#define NR_MACHINES (sizeof(machines) / sizeof(machines[0]))

static inline struct hook_support all_work(enum hook_kind kind, const struct btf *btf,
					   const char *root)
{
	return (struct hook_support){TRIAL_WORKS, 0};
}

/* The facts of the kernel in root; all kinds of hooks work. */
static inline void read_kernel(const struct fake_root *root, struct kernel_caps *caps)
{
	struct kernel_env env = {root->dir, KERNEL_KINDS_ALL, all_work, NULL};
	struct kernel_hook hooks[KERNEL_HOOKS_MAX];
	size_t nr;

	unsetenv("CACHEMON_PROBES");
	fake_root_write(root, "/proc/self/status", "CapEff:\t000001ffffffffff\n");
	fake_root_write(root, "/proc/sys/kernel/version", "#1 SMP Debian (2026-01-01)\n");
	assert_int_equal(probe_table_hooks(probe_table_own(), hooks, KERNEL_HOOKS_MAX, &nr), 0);
	assert_int_equal(kernel_caps_read(&env, hooks, nr, caps), 0);
	assert_int_equal(caps->btf_err, 0);
}

static inline void set_machine(struct kernel_caps *caps, size_t machine)
{
	for (int k = 0; k < HOOK_NR; k++) {
		bool works = !(machines[machine].refused & 1U << k);

		caps->support[k] = (struct hook_support){works ? TRIAL_WORKS : TRIAL_NO_ATTACH,
							 works ? 0 : -EOPNOTSUPP};
	}
}

#endif
