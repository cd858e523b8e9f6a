/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kinds of hook, and whether this kernel really accepts them. A name in BTF or a file in sysfs
 * is no proof, so a two-instruction program of each kind is loaded and attached for a moment. Owns
 * the trial and its wording; plan/probe_plan decides which hooks are used.
 */
#ifndef HOOK_TRIAL_H
#define HOOK_TRIAL_H

#include <linux/bpf.h>
#include <stddef.h>
#include <stdint.h>

struct btf;

/* Order of preference where a role can be had in several ways. */
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

/* How far the trial of a kind came. */
enum hook_trial {
	TRIAL_NONE,	 /* not tried: privileges or BTF are missing, or nobody asked */
	TRIAL_NO_TARGET, /* nothing in this kernel to try it on, e.g. no kprobe PMU */
	TRIAL_NO_LOAD,	 /* the kernel refused the program */
	TRIAL_NO_ATTACH, /* it loads but cannot be attached */
	TRIAL_WORKS,
};

struct hook_support {
	enum hook_trial trial;
	int err; /* -errno of the refusal, 0: none */
};

/* A program for a trial, with a GPL licence as the real ones have; btf_id: of its target, or 0. Its
 * descriptor or -errno. */
int hook_trial_load(enum bpf_prog_type type, enum bpf_attach_type attach, int32_t btf_id,
		    const struct bpf_insn *insns, size_t nr);

/* Whether programs may read kernel memory by the helper for it: 0, or -errno of the refusal, as
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
