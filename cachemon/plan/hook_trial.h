/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kinds of hook, and whether this kernel accepts them. A name in BTF or a file in sysfs does
 * not prove it, so a two-instruction program of each kind is loaded and attached for a moment. Owns
 * the trial and its wording; plan/probe_plan decides which hooks to use.
 */
#ifndef HOOK_TRIAL_H
#define HOOK_TRIAL_H

#include <linux/bpf.h>
#include <stddef.h>
#include <stdint.h>

struct btf;

/* In order of preference, if a role has several. */
enum hook_kind {
	HOOK_TP_BTF,
	HOOK_FENTRY,
	HOOK_FEXIT,
	HOOK_KPROBE,
	HOOK_KRETPROBE,
	HOOK_ITER,
	HOOK_RAW_TP,
	HOOK_PERF_EVENT,
	HOOK_NR,
};

/* The result of a kind's trial. */
enum hook_trial {
	TRIAL_NONE,	 /* not tried: privileges or BTF are missing, or not requested */
	TRIAL_NO_TARGET, /* the kernel has nothing to try it on, e.g. no kprobe PMU */
	TRIAL_NO_LOAD,	 /* the kernel rejected the program */
	TRIAL_NO_ATTACH, /* it loads but cannot be attached */
	TRIAL_WORKS,
};

struct hook_support {
	enum hook_trial trial;
	int err; /* -errno of the rejection, 0: none */
};

/* Loads a program for a trial, with a GPL licence like the real ones; btf_id: of its target, or
 * 0. Returns its descriptor or -errno. */
int hook_trial_load(enum bpf_prog_type type, enum bpf_attach_type attach, int32_t btf_id,
		    const struct bpf_insn *insns, size_t nr);

/* Whether programs may read kernel memory with the helper: 0, or -errno of the rejection, as
 * under lockdown=confidentiality. Other programs that load do not prove it. */
int hook_trial_reads_kernel(void);

/* "tp_btf", "fentry", ...: as in a hook's name "tp_btf:mm_filemap_fault". */
const char *hook_kind_name(enum hook_kind kind);

/*
 * Tries kind on the running kernel and detaches at once. btf: the running kernel's, NULL: none.
 * Needs CAP_BPF and CAP_PERFMON. Reads the kprobe PMU's number below root ("" for /).
 */
struct hook_support hook_trial_run(enum hook_kind kind, const struct btf *btf, const char *root);

/* "works", "refused at load: Operation not permitted", ... */
void hook_support_text(const struct hook_support *s, char *buf, size_t size);

#endif
