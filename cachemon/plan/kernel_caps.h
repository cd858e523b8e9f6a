/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Facts about this machine, from procfs, sysfs, BTF and trials. Owns their reading; every path is
 * below a root that tests can set, and tests can replace the trials, so that they can simulate any
 * kernel. plan/probe_plan draws the conclusions.
 */
#ifndef KERNEL_CAPS_H
#define KERNEL_CAPS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "cachemon/plan/hook_trial.h"
#include "cachemon/plan/probe_build.h"

#define KERNEL_HOOKS_MAX 128
#define KERNEL_PROTO_MAX 160
#define KERNEL_BTF_PATH	 "/sys/kernel/btf/vmlinux"

/* A hook to look up (kind, target), and the kernel's BTF for it. target is borrowed. Modules are
 * visible while they are loaded. */
struct kernel_hook {
	enum hook_kind kind;
	const char *target;
	const char *module; /* module to search too, NULL: none; borrowed */
	bool in_module;	    /* found in the module */
	/* 0: present; -ENOENT: not in this kernel; -ENODEV: nor is its module loaded; else
	 * unreadable */
	int err;
	char proto[KERNEL_PROTO_MAX]; /* as from plan/btf_proto */
};

enum caps_flag { CAPS_UNKNOWN = -1, CAPS_NO = 0, CAPS_YES = 1 };

struct kernel_caps {
	char release[80]; /* "" if unknown, as for all texts here */
	char arch[16];
	uint64_t page_size;
	uint64_t ram_bytes;
	unsigned int nr_cpus; /* possible CPUs: a per-CPU map takes memory for each */
	int btf_err;	      /* 0: present and loadable; -ENOENT: absent */
	struct kernel_hook hooks[KERNEL_HOOKS_MAX];
	size_t nr_hooks;
	struct hook_support support[HOOK_NR];
	enum probe_build build;	 /* which of the builds this kernel can run */
	int preemptible;	 /* from plan/preempt; 0: not tried */
	enum caps_flag preempts; /* from plan/preempt */
	bool drops_behind;	 /* RWF_DONTCACHE: pages leave when their call ends, since 6.14 */
	bool can_hold;		 /* programs can disable preemption: bpf_preempt_disable() */
	uint64_t held;		 /* effective capabilities, bit = CAP_* */
	char lockdown[32];	 /* "none" without lockdown */
	int unprivileged_bpf_disabled; /* as the sysctl, -1 unknown */
	int reads_kernel;	       /* 0; -errno: programs may not read kernel memory */
	int perf_event_paranoid;       /* as the sysctls, -1 unknown */
	int kptr_restrict;
	enum caps_flag bpf_stats;	 /* programs are always timed */
	uint64_t memlock_bytes;		 /* UINT64_MAX: unlimited */
	enum caps_flag memlock_binds;	 /* maps count as locked memory (before 5.11) */
	char cgroup_v1_memory[PATH_MAX]; /* mount point, "": not mounted */
	char cgroup_v2[PATH_MAX];
	enum caps_flag task_delayacct;
	enum caps_flag kallsyms; /* addresses can be read */
	enum caps_flag jit;
	enum caps_flag
		kprobe_misses; /* the kernel counts kprobe hits that ran no program (from 6.7) */
};

struct kernel_env {
	const char *root;   /* "": the running machine */
	unsigned int kinds; /* 1 << enum hook_kind: kinds to try */
	/* Tries a kind; hook_trial_run() except in tests. */
	struct hook_support (*try_hook)(enum hook_kind kind, const struct btf *btf,
					const char *root);
	/* preempt_trial(); NULL: not tried. */
	int (*try_preempt)(const struct btf *btf, const char *root);
};

#define KERNEL_KINDS_ALL ((1U << HOOK_NR) - 1)

/*
 * Collects all facts and looks up the nr hooks of wanted in BTF. An unreadable fact is recorded as
 * unknown and is not an error. Trials need their capabilities: -EPERM of an ordinary user says
 * nothing about the kernel. -E2BIG: more than KERNEL_HOOKS_MAX hooks.
 */
int kernel_caps_read(const struct kernel_env *env, const struct kernel_hook *wanted, size_t nr,
		     struct kernel_caps *ret_caps);

/* Effective capability cap (CAP_BPF ...); CAP_SYS_ADMIN includes CAP_BPF and CAP_PERFMON. */
bool kernel_caps_holds(const struct kernel_caps *caps, int cap);

/* Programs must disable preemption themselves: the hooks do not (or this is unknown), and it
 * matters here. */
bool kernel_caps_must_hold(const struct kernel_caps *caps);

/* "v2", "v1", "hybrid" (v1 memory controller next to a v2 tree), "none". */
const char *kernel_caps_cgroup(const struct kernel_caps *caps);

/* The hook that was looked up; NULL: it was not. */
const struct kernel_hook *kernel_caps_hook(const struct kernel_caps *caps, enum hook_kind kind,
					   const char *target);

#endif
