/* SPDX-License-Identifier: BSD-2-Clause */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stddef.h>

#include "cachemon/capture/probe_set_impl.h"

/*
 * Two counts that add up: a program's own (bpf_prog_info.recursion_misses: raw tracepoints and
 * trampolines from 5.12, kprobes from 6.7), and hits of a kprobe that got to no program, since the
 * CPU was in another one (bpf_link_info, 6.7).
 */

/* The beginning of bpf_link_info of a kprobe, include/uapi/linux/bpf.h; headers before 6.7 have
 * less of it. */
struct kprobe_link_info {
	uint32_t type, id, prog_id, pad;
	uint32_t event, pad2;
	uint64_t func_name;
	uint32_t name_len, offset;
	uint64_t addr;
	uint64_t missed;
};

#define EVENT_KPROBE	3 /* enum bpf_perf_event_type */
#define EVENT_KRETPROBE 4

_Static_assert(offsetof(struct kprobe_link_info, missed) == 48, "the kernel's layout");

static bool on_kprobe(const struct probe_set *set, enum probe_role role)
{
	const struct probe_choice *c = probe_set_choice(set, role);

	return c && (c->kind == HOOK_KPROBE || c->kind == HOOK_KRETPROBE);
}

static int link_missed(const struct bpf_link *link, uint64_t *hits)
{
	struct kprobe_link_info info = {};
	uint32_t len = sizeof(info);

	if (bpf_obj_get_info_by_fd(bpf_link__fd(link), &info, &len))
		return -errno;
	if (len < sizeof(info) || (info.event != EVENT_KPROBE && info.event != EVENT_KRETPROBE))
		return -ENOTSUP;
	*hits += info.missed;
	return 0;
}

void probe_set_close_link(struct probe_set *set, enum probe_role role)
{
	/* What it would not say is never known again. */
	if (set->links[role] && on_kprobe(set, role) && set->kprobe_misses &&
	    link_missed(set->links[role], &set->links_missed))
		set->kprobe_misses = false;
	bpf_link__destroy(set->links[role]);
	set->links[role] = NULL;
}

static int program_missed(const struct bpf_program *prog, uint64_t *runs)
{
	const size_t end = offsetof(struct bpf_prog_info, recursion_misses) + sizeof(uint64_t);
	struct bpf_prog_info info = {};
	uint32_t len = sizeof(info);

	if (bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &len))
		return -errno;
	*runs += info.recursion_misses;
	return len < end ? -ENOTSUP : 0;
}

static int all_missed(const struct probe_set *set, uint64_t *ret_runs)
{
	struct bpf_program *prog;

	*ret_runs = set->links_missed;
	bpf_object__for_each_program(prog, set->skel->obj)
	{
		int r = bpf_program__fd(prog) < 0 ? 0 : program_missed(prog, ret_runs);

		if (r)
			return r;
	}
	for (int role = 0; role < ROLE_NR; role++) {
		int r = 0;

		if (!on_kprobe(set, role))
			continue;
		if (!set->kprobe_misses)
			return -ENOTSUP;
		if (set->links[role])
			r = link_missed(set->links[role], ret_runs);
		if (r)
			return r;
	}
	return 0;
}

void probe_set_misses_begin(struct probe_set *set)
{
	if (all_missed(set, &set->missed_before))
		set->missed_before = 0;
}

int probe_set_recursion_misses(const struct probe_set *set, uint64_t *ret_runs)
{
	int r = all_missed(set, ret_runs);

	*ret_runs -= r ? *ret_runs : set->missed_before;
	return r;
}
