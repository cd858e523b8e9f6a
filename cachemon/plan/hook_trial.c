/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/plan/hook_trial.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cachemon/base/file.h"

/* Targets that every kernel with BTF has and that fire seldom, so that the trial has no
 * noticeable cost. */
#define TRIAL_TRACEPOINT "sched_process_fork"
#define TRIAL_FUNCTION	 "vfs_fsync_range"
#define TRIAL_ITERATOR	 "task"

const char *hook_kind_name(enum hook_kind kind)
{
	static const char *const names[HOOK_NR] = {
		[HOOK_TP_BTF] = "tp_btf", [HOOK_FENTRY] = "fentry",	    [HOOK_FEXIT] = "fexit",
		[HOOK_KPROBE] = "kprobe", [HOOK_KRETPROBE] = "kretprobe",   [HOOK_ITER] = "iter",
		[HOOK_RAW_TP] = "raw_tp", [HOOK_PERF_EVENT] = "perf_event",
	};

	return names[kind];
}

void hook_support_text(const struct hook_support *s, char *buf, size_t size)
{
	static const char *const words[] = {
		[TRIAL_NONE] = "not tried",
		[TRIAL_NO_TARGET] = "not in this kernel",
		[TRIAL_NO_LOAD] = "refused at load",
		[TRIAL_NO_ATTACH] = "loads, cannot be attached",
		[TRIAL_WORKS] = "works",
	};

	/* Missing capabilities are reported without a trial, and these are the usual other causes.
	 */
	if (s->trial == TRIAL_NO_LOAD && s->err == -EPERM)
		snprintf(buf, size, "%s: %s (perhaps by a seccomp filter or security module)",
			 words[s->trial], strerror(-s->err));
	else if (s->err)
		snprintf(buf, size, "%s: %s", words[s->trial], strerror(-s->err));
	else
		snprintf(buf, size, "%s", words[s->trial]);
}

int hook_trial_load(enum bpf_prog_type type, enum bpf_attach_type attach, int32_t btf_id,
		    const struct bpf_insn *insns, size_t nr)
{
	struct bpf_prog_load_opts opts = {
		.sz = sizeof(opts),
		.expected_attach_type = attach,
		.attach_btf_id = (uint32_t)btf_id,
	};
	int fd = bpf_prog_load(type, "cachemon_try", "Dual BSD/GPL", insns, nr, &opts);

	return fd < 0 ? -errno : fd;
}

int hook_trial_reads_kernel(void)
{
	const struct bpf_insn insns[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_1, .src_reg = BPF_REG_10},
		/* With a constant: BPF_K is 0. */
		{.code = BPF_ALU64 | BPF_ADD, .dst_reg = BPF_REG_1, .imm = -8},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_2, .imm = 8},
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_3, .src_reg = BPF_REG_10},
		{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_probe_read_kernel},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	int fd = hook_trial_load(BPF_PROG_TYPE_RAW_TRACEPOINT, 0, 0, insns,
				 sizeof(insns) / sizeof(insns[0]));

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static int attach_perf(int prog_fd, struct perf_event_attr *attr)
{
	/* This task alone: a fixed CPU could be offline. */
	int fd = (int)syscall(SYS_perf_event_open, attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	int err = 0;

	if (fd < 0)
		return -errno;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog_fd))
		err = -errno;
	close(fd);
	return err;
}

static int attach_trial(int prog_fd, enum hook_kind kind, uint32_t kprobe_pmu)
{
	struct perf_event_attr kprobe = {
		.size = sizeof(kprobe),
		.type = kprobe_pmu,
		.config = kind == HOOK_KRETPROBE, /* bit 0 of the PMU: retprobe */
		.sample_period = 1,
		.kprobe_func = (uint64_t)(unsigned long)TRIAL_FUNCTION,
	};
	struct perf_event_attr major_faults = {
		.size = sizeof(major_faults),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS_MAJ,
		.sample_period = 1,
		.disabled = 1,
	};
	int fd;

	switch (kind) {
	case HOOK_KPROBE:
	case HOOK_KRETPROBE:
		return attach_perf(prog_fd, &kprobe);
	case HOOK_PERF_EVENT:
		return attach_perf(prog_fd, &major_faults);
	case HOOK_ITER:
		fd = bpf_link_create(prog_fd, 0, BPF_TRACE_ITER, NULL);
		break;
	case HOOK_RAW_TP:
		fd = bpf_raw_tracepoint_open(TRIAL_TRACEPOINT, prog_fd);
		break;
	default: /* tp_btf, fentry, fexit: the program already names its target */
		fd = bpf_raw_tracepoint_open(NULL, prog_fd);
	}
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

struct hook_support hook_trial_run(enum hook_kind kind, const struct btf *btf, const char *root)
{
	static const struct {
		enum bpf_prog_type type;
		enum bpf_attach_type attach;
		const char *target; /* in BTF; NULL: this kind needs none */
		uint32_t btf_kind;
	} kinds[HOOK_NR] = {
		[HOOK_TP_BTF] = {BPF_PROG_TYPE_TRACING, BPF_TRACE_RAW_TP,
				 "btf_trace_" TRIAL_TRACEPOINT, BTF_KIND_TYPEDEF},
		[HOOK_FENTRY] = {BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY, TRIAL_FUNCTION,
				 BTF_KIND_FUNC},
		[HOOK_FEXIT] = {BPF_PROG_TYPE_TRACING, BPF_TRACE_FEXIT, TRIAL_FUNCTION,
				BTF_KIND_FUNC},
		[HOOK_KPROBE] = {BPF_PROG_TYPE_KPROBE},
		[HOOK_KRETPROBE] = {BPF_PROG_TYPE_KPROBE},
		[HOOK_ITER] = {BPF_PROG_TYPE_TRACING, BPF_TRACE_ITER, "bpf_iter_" TRIAL_ITERATOR,
			       BTF_KIND_FUNC},
		[HOOK_RAW_TP] = {BPF_PROG_TYPE_RAW_TRACEPOINT},
		[HOOK_PERF_EVENT] = {BPF_PROG_TYPE_PERF_EVENT},
	};
	static const struct bpf_insn return_0[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	struct hook_support res = {TRIAL_NO_TARGET, 0};
	long long pmu = 0;
	int32_t id = 0;
	int fd;

	if ((kind == HOOK_KPROBE || kind == HOOK_KRETPROBE) &&
	    file_number(root, "/sys/bus/event_source/devices/kprobe/type", &pmu))
		return res;

	if (kinds[kind].target) {
		id = btf ? btf__find_by_name_kind(btf, kinds[kind].target, kinds[kind].btf_kind)
			 : -ENOENT;
		if (id < 0)
			return res;
	}
	fd = hook_trial_load(kinds[kind].type, kinds[kind].attach, id, return_0, 2);
	if (fd < 0) {
		res.trial = TRIAL_NO_LOAD;
		res.err = fd;
		return res;
	}
	res.err = attach_trial(fd, kind, (uint32_t)pmu);
	res.trial = res.err ? TRIAL_NO_ATTACH : TRIAL_WORKS;
	close(fd);
	return res;
}
