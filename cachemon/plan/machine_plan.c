/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/plan/machine_plan.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cachemon/plan/memlock.h"
#include "cachemon/plan/preempt.h"
#include "cachemon/base/cleanup.h"

static bool may_load(const struct kernel_caps *caps)
{
	return kernel_caps_holds(caps, CAP_BPF) && kernel_caps_holds(caps, CAP_PERFMON);
}

/* Names and some causes are read by address, in programs that every run needs. */
static void refuse_unreadable(const struct kernel_caps *caps, struct probe_plan *plan)
{
	if (!caps->reads_kernel || !plan->viable)
		return;
	plan->viable = false;
	if (!strcmp(caps->lockdown, "confidentiality"))
		snprintf(plan->refusal, sizeof(plan->refusal),
			 "needs BPF programs that read kernel memory, which "
			 "lockdown=confidentiality forbids; lockdown=integrity does not");
	else
		snprintf(plan->refusal, sizeof(plan->refusal),
			 "needs BPF programs that read kernel memory: %s",
			 strerror(-caps->reads_kernel));
}

/* A run needs about this many descriptors; with fewer, an unrelated failure would be blamed. */
enum { DESCRIPTORS_MIN = 64 };

static int check_descriptors(struct errtext *err)
{
	struct rlimit limit;
	int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, DESCRIPTORS_MIN - 1);

	if (fd >= 0) {
		close(fd);
		return 0;
	}
	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= DESCRIPTORS_MIN)
		return errtext_set(err, -EMFILE, "cannot open files: %s", strerror(errno));
	return errtext_set(err, -EMFILE,
			   "the limit of open files (%llu) is too low; raise it (ulimit -n 256)",
			   (unsigned long long)limit.rlim_cur);
}

int machine_plan_check(struct errtext *err)
{
	static const char *const places[][2] = {{"/proc", "/proc/self/status"},
						{"/sys", "/sys/kernel"}};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (access(places[i][1], R_OK))
			return errtext_set(
				err, -errno,
				"cannot read %s: %s; is %s mounted? cachemon needs it to "
				"measure",
				places[i][1], strerror(errno), places[i][0]);
	return check_descriptors(err);
}

int machine_plan_make(const struct plan_request *request, unsigned int kinds,
		      struct kernel_caps *ret_caps, struct probe_plan *ret_plan,
		      struct errtext *err)
{
	const struct kernel_env env = {"", kinds, hook_trial_run, preempt_trial};
	const struct probe_table *table = probe_table_own();
	_cleanup_free_ struct kernel_hook *hooks = NULL;
	bool binds = memlock_binds();
	size_t nr = 0;
	int r = machine_plan_check(err);

	if (r)
		return r;
	hooks = calloc(KERNEL_HOOKS_MAX, sizeof(*hooks));
	r = hooks ? probe_table_hooks(table, hooks, KERNEL_HOOKS_MAX, &nr) : -ENOMEM;
	if (!r)
		r = kernel_caps_read(&env, hooks, nr, ret_caps);
	if (r)
		return errtext_set(err, r, "cannot read the kernel's features: %s", strerror(-r));
	probe_plan_make(ret_caps, request, table, ret_plan);
	ret_caps->reads_kernel = 0;
	if (may_load(ret_caps)) {
		ret_caps->memlock_binds = binds ? CAPS_YES : CAPS_NO;
		ret_caps->reads_kernel = hook_trial_reads_kernel();
		refuse_unreadable(ret_caps, ret_plan);
	}
	return 0;
}

/* Replaces a list of probes that cannot be loaded by the usual cause: a missing sudo. */
static int refuse_user(const struct kernel_caps *caps, struct errtext *err)
{
	bool bpf = kernel_caps_holds(caps, CAP_BPF), perfmon = kernel_caps_holds(caps, CAP_PERFMON);

	return errtext_set(err, -EPERM,
			   "no privilege to measure, which needs %s%s%s: run cachemon as root, or "
			   "see 'cachemon doctor'",
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
	if (!may_load(ret_caps))
		return refuse_user(ret_caps, err);
	return errtext_set(err, -ENOTSUP, "%s ('cachemon doctor' shows more)", ret_plan->refusal);
}
