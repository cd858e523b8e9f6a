/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/capture/probe_set_impl.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cachemon_maps_bpf *probe_set_skeleton(struct probe_set *set)
{
	return set->skel;
}

unsigned int probe_set_cpus(const struct probe_set *set)
{
	return set->nr_cpus;
}

/* "memlock: N" of a map's fdinfo: the kernel's charge for it. 0: unknown. */
static unsigned long long map_bytes(const struct bpf_map *map)
{
	unsigned long long bytes = 0;
	char path[64], line[128];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", bpf_map__fd(map));
	f = fopen(path, "re");
	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "memlock: %llu", &bytes) == 1)
			break;
	fclose(f);
	return bytes;
}

uint64_t probe_set_map_bytes(const struct probe_set *set)
{
	const struct bpf_map *map;
	uint64_t sum = 0;

	bpf_object__for_each_map(map, set->skel->obj)
	{
		unsigned long long bytes;

		/* A map of another build, which was not created. */
		if (bpf_map__fd(map) < 0)
			continue;
		bytes = map_bytes(map);
		/* The sum of the others would be too low, but look like a real figure. */
		if (!bytes)
			return 0;
		sum += bytes;
	}
	return sum;
}

int probe_set_events(struct probe_set *set, uint64_t ret_runs[JOB_NR][EV_NR])
{
	struct live *lives = calloc(set->nr_cpus, sizeof(*lives));
	const struct tally *tallies = set->skel->bss->tallies;
	uint32_t zero = 0;
	int r = -ENOMEM;

	if (lives)
		r = bpf_map_lookup_elem(bpf_map__fd(set->skel->maps.lives), &zero, lives);
	if (!r) {
		memset(ret_runs, 0, JOB_NR * sizeof(*ret_runs));
		for (unsigned int cpu = 0; cpu < set->nr_cpus; cpu++) {
			const struct live *l = &lives[cpu];

			for (int i = 0; i < JOB_NR * EV_NR; i++)
				ret_runs[i / EV_NR][i % EV_NR] += l->runs[i / EV_NR][i % EV_NR];
		}
		for (unsigned int cpu = 0; cpu < NR_TALLY_CPUS && cpu < set->nr_cpus; cpu++) {
			ret_runs[JOB_WATCHED][EV_READ] +=
				tallies[cpu].runs + tallies[cpu].read_calls;
			ret_runs[JOB_OTHERS][EV_SWITCH] += tallies[cpu].switches;
		}
	}
	free(lives);
	return r;
}

int probe_set_run_stats(struct probe_set *set, enum probe_role role, uint64_t *ret_ns,
			uint64_t *ret_runs)
{
	const struct probe_choice *c = probe_set_choice(set, role);
	struct bpf_prog_info info = {};
	uint32_t len = sizeof(info);
	struct bpf_program *prog;

	prog = c ? probe_set_program(set, c->program) : NULL;
	if (!prog || bpf_program__fd(prog) < 0)
		return -ENOENT;
	if (bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &len))
		return -errno;
	*ret_ns = info.run_time_ns;
	*ret_runs = info.run_cnt;
	return 0;
}

/*
 * Two counts that add up: a program's own (bpf_prog_info.recursion_misses: raw tracepoints and
 * trampolines from 5.12, kprobes from 6.7), and hits of a kprobe that reached no program because
 * the CPU was in another one (bpf_link_info, 6.7).
 */

/* The beginning of bpf_link_info of a kprobe, include/uapi/linux/bpf.h; headers before 6.7 have
 * a shorter one. */
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

static int add_link_missed(const struct bpf_link *link, uint64_t *hits)
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
	/* After one failure the count stays unknown. */
	if (set->links[role] && on_kprobe(set, role) && set->kprobe_misses &&
	    add_link_missed(set->links[role], &set->links_missed))
		set->kprobe_misses = false;
	bpf_link__destroy(set->links[role]);
	set->links[role] = NULL;
}

static int add_program_missed(const struct bpf_program *prog, uint64_t *runs)
{
	const size_t end = offsetof(struct bpf_prog_info, recursion_misses) + sizeof(uint64_t);
	struct bpf_prog_info info = {};
	uint32_t len = sizeof(info);

	if (bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &len))
		return -errno;
	*runs += info.recursion_misses;
	return len < end ? -ENOTSUP : 0;
}

static int add_part_missed(const struct probe_part *part, uint64_t *runs)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, part->obj)
	{
		int r = bpf_program__fd(prog) < 0 ? 0 : add_program_missed(prog, runs);

		if (r)
			return r;
	}
	return 0;
}

static int all_missed(const struct probe_set *set, uint64_t *ret_runs)
{
	*ret_runs = set->links_missed;
	for (size_t i = 0; i < set->nr_parts; i++) {
		int r = add_part_missed(&set->parts[i], ret_runs);

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
			r = add_link_missed(set->links[role], ret_runs);
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
