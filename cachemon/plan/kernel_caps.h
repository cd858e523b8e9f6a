/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Facts about this machine: read from procfs, sysfs, BTF and by trying. Owns their reading; every
 * path lies below an injectable root and the trials are injectable, so that tests can invent any
 * kernel. plan/probe_plan decides what follows from the facts.
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

/* A hook to ask about (kind, target) and what the kernel's BTF says. target is borrowed.
 * Modules are seen while they are loaded. */
struct kernel_hook {
	enum hook_kind kind;
	const char *target;
	const char *module; /* where else to look, NULL: nowhere; borrowed */
	bool in_module;	    /* it was found there */
	/* 0: it is there; -ENOENT: not in this kernel; -ENODEV: and its module is not loaded; else
	 * unreadable */
	int err;
	char proto[KERNEL_PROTO_MAX]; /* as plan/btf_proto writes it */
};

enum caps_flag { CAPS_UNKNOWN = -1, CAPS_NO = 0, CAPS_YES = 1 };

struct kernel_caps {
	char release[80]; /* "" where unknown, as all texts here */
	char arch[16];
	uint64_t page_size;
	uint64_t ram_bytes;
	unsigned int nr_cpus; /* possible ones: what a per-CPU map takes memory for */
	int btf_err;	      /* 0: there and loadable; -ENOENT: none */
	struct kernel_hook hooks[KERNEL_HOOKS_MAX];
	size_t nr_hooks;
	struct hook_support support[HOOK_NR];
	enum probe_build build;	 /* which of the builds this kernel can run */
	int preemptible;	 /* as plan/preempt answers; 0: not tried */
	enum caps_flag preempts; /* as plan/preempt finds */
	bool drops_behind;	 /* RWF_DONTCACHE: pages go when their call ends, since 6.14 */
	bool can_hold;		 /* programs can hold preemption off: bpf_preempt_disable() */
	uint64_t held;		 /* effective capabilities, bit = CAP_* */
	char lockdown[32];	 /* "none" where the kernel has no lockdown */
	int unprivileged_bpf_disabled; /* as the sysctl, -1 unknown */
	int reads_kernel;	       /* 0; -errno: programs may not read its memory */
	int perf_event_paranoid;       /* as the sysctls, -1 unknown */
	int kptr_restrict;
	enum caps_flag bpf_stats;	 /* programs are timed all the time */
	uint64_t memlock_bytes;		 /* UINT64_MAX: unlimited */
	enum caps_flag memlock_binds;	 /* maps count as locked memory: before 5.11 */
	char cgroup_v1_memory[PATH_MAX]; /* where mounted, "" not */
	char cgroup_v2[PATH_MAX];
	enum caps_flag task_delayacct;
	enum caps_flag kallsyms; /* addresses can be read */
	enum caps_flag jit;
	enum caps_flag
		kprobe_misses; /* the kernel counts the hits that kprobes left out: from 6.7 */
};

struct kernel_env {
	const char *root;   /* "": the running machine */
	unsigned int kinds; /* 1 << enum hook_kind: what to try */
	/* Tries a kind; hook_trial_run() but in tests. */
	struct hook_support (*try_hook)(enum hook_kind kind, const struct btf *btf,
					const char *root);
	/* preempt_trial(); NULL: not tried. */
	int (*try_preempt)(const struct btf *btf, const char *root);
};

#define KERNEL_KINDS_ALL ((1U << HOOK_NR) - 1)

/*
 * Gathers all facts, asking BTF about the nr hooks of wanted. An unreadable fact is recorded as
 * unknown and is not a failure. Nothing is tried without the capabilities it takes: -EPERM of an
 * ordinary user says nothing about the kernel. -E2BIG: more than KERNEL_HOOKS_MAX hooks.
 */
int kernel_caps_read(const struct kernel_env *env, const struct kernel_hook *wanted, size_t nr,
		     struct kernel_caps *ret_caps);

/* Effective capability cap (CAP_BPF ...); CAP_SYS_ADMIN stands for CAP_BPF and CAP_PERFMON. */
bool kernel_caps_holds(const struct kernel_caps *caps, int cap);

/* Programs must disable preemption themselves: the hooks do not, or this is unknown, and it
 * matters here. */
bool kernel_caps_must_hold(const struct kernel_caps *caps);

/* "v2", "v1", "hybrid" (v1 memory controller next to a v2 tree), "none". */
const char *kernel_caps_cgroup(const struct kernel_caps *caps);

/* The hook asked for, NULL: nobody asked. */
const struct kernel_hook *kernel_caps_hook(const struct kernel_caps *caps, enum hook_kind kind,
					   const char *target);

#endif
