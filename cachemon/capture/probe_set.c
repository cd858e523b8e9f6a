/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/probe_set_impl.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/cachemon.h"
#include "capture/kallsyms.h"
#include "capture/map_sizes.h"

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	/* Every failure comes back as a code and is told once, by whoever asked. */
	return 0;
}

const struct probe_choice *probe_set_choice(const struct probe_set *set, enum probe_role role)
{
	const struct probe_choice *c = &set->plan->choices[role];

	return c->state == PROBE_LIVE && c->program ? c : NULL;
}

static int size_maps(struct cachemon_bpf *skel, const struct probe_set_config *config)
{
	struct map_size sizes[16];
	size_t nr = map_sizes(config->ram_bytes, config->nr_cpus, sizes, 16);
	int err = 0;

	for (size_t i = 0; i < nr && !err; i++) {
		struct bpf_map *map = bpf_object__find_map_by_name(skel->obj, sizes[i].name);

		if (map)
			err = bpf_map__set_max_entries(map, sizes[i].entries);
	}
	if (!err && config->block_entries)
		err = bpf_map__set_max_entries(skel->maps.blocks, config->block_entries);
	if (!err && config->row_entries)
		err = bpf_map__set_max_entries(skel->maps.rows_a, config->row_entries);
	if (!err && config->row_entries)
		err = bpf_map__set_max_entries(skel->maps.rows_b, config->row_entries);
	return err;
}

/* Causes that only a stack can tell need the functions' addresses. */
static bool set_symbols(struct cachemon_bpf *skel)
{
	struct kallsym syms[] = {
		{.name = "generic_fadvise"},
		{.name = "invalidate_inode_pages2_range"},
		{.name = "drop_pagecache_sb"},
	};
	size_t found = kallsyms_find("/proc/kallsyms", syms, 3);

	memcpy((void *)skel->rodata->sym_fadvise, &syms[0].start, 2 * sizeof(uint64_t));
	memcpy((void *)skel->rodata->sym_invalidate2, &syms[1].start, 2 * sizeof(uint64_t));
	memcpy((void *)skel->rodata->sym_drop_caches, &syms[2].start, 2 * sizeof(uint64_t));
	return found == 3;
}

static void set_constants(struct cachemon_bpf *skel, const struct probe_set_config *config)
{
	const struct cgroup_ref *cg = config->cgroup;

	skel->rodata->kernel_page_shift = __builtin_ctzl(sysconf(_SC_PAGESIZE));
	skel->rodata->own_tgid = getpid();
	skel->rodata->advice_by_calls = config->advice_calls;
	if (cg) {
		skel->rodata->job_by_cgroup = cg->kind == CGROUP_V2 ? 1 : 2;
		skel->rodata->job_cgroup_id = cg->id;
		skel->rodata->job_cgroup_level = cg->level;
	}
}

static int load(struct probe_set *set, struct probe_plan *plan, struct errtext *err)
{
	static const char *const always[] = {"sweep_ghosts",  "sweep_fates", "sweep_count",
					     "sweep_charges", "sweep_cells", "sweep_names"};
	struct bpf_program *prog;
	int ret;

	for (int role = 0; role < ROLE_NR; role++) {
		const struct probe_choice *c = probe_set_choice(set, role);

		prog = c ? bpf_object__find_program_by_name(set->skel->obj, c->program) : NULL;
		if (prog)
			bpf_program__set_autoload(prog, true);
		else if (c)
			probe_plan_mark_failed(plan, c->program, ENOENT);
	}
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		bpf_program__set_autoload(
			bpf_object__find_program_by_name(set->skel->obj, always[i]), true);
	ret = cachemon_bpf__load(set->skel);
	if (ret)
		return errtext_set(err, ret,
				   "the kernel refused the probes: %s. "
				   "'cachemon doctor' shows what this machine allows",
				   strerror(-ret));
	return 0;
}

int probe_set_attach_role(struct probe_set *set, enum probe_role role)
{
	const struct probe_choice *c = probe_set_choice(set, role);
	struct bpf_program *prog;
	struct bpf_link *link;

	if (!c || set->links[role])
		return 0;
	prog = bpf_object__find_program_by_name(set->skel->obj, c->program);
	link = prog ? bpf_program__attach(prog) : NULL;
	if (!link)
		return prog ? -errno : -ENOENT;
	set->links[role] = link;
	return 0;
}

/* Switches first: the other programs believe what they keep. The per-read hook comes with
 * probe_set_reads(). */
static int attach(struct probe_set *set, struct probe_plan *plan, struct errtext *err)
{
	static const enum probe_role first[] = {ROLE_SWITCH, ROLE_FORK, ROLE_EXIT};
	int ret;

	for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++) {
		ret = probe_set_attach_role(set, first[i]);
		if (ret)
			probe_plan_mark_failed(plan, plan->choices[first[i]].program, ret);
	}
	for (int role = 0; role < ROLE_NR; role++) {
		if (role == ROLE_READ)
			continue;
		ret = probe_set_attach_role(set, role);
		if (ret)
			probe_plan_mark_failed(plan, plan->choices[role].program, ret);
	}
	if (!plan->viable)
		return errtext_set(err, -ENOTSUP, "%s", plan->refusal);
	return 0;
}

int probe_set_new(const struct probe_set_config *config, struct probe_plan *plan,
		  struct probe_set **ret, struct errtext *err)
{
	struct probe_set *set = calloc(1, sizeof(*set));
	int r;

	if (!set)
		return errtext_set(err, -ENOMEM, "out of memory");
	libbpf_set_print(quiet);
	set->plan = plan;
	set->grace = GRACE_NONE;
	set->nr_cpus = libbpf_num_possible_cpus();
	set->skel = cachemon_bpf__open();
	if (!set->skel) {
		r = errtext_set(err, -errno, "cannot open the probes: %s", strerror(errno));
		goto out;
	}
	r = size_maps(set->skel, config);
	if (r) {
		errtext_set(err, r, "cannot size the maps: %s", strerror(-r));
		goto out;
	}
	r = grace_open(&set->grace);
	if (r) {
		errtext_set(err, r, "cannot make the maps to wait by: %s", strerror(-r));
		goto out;
	}
	set_constants(set->skel, config);
	plan->symbols = set_symbols(set->skel);
	r = load(set, plan, err);
	if (r)
		goto out;
	r = probe_set_rest_rows(bpf_map__fd(set->skel->maps.rows_a));
	if (!r)
		r = probe_set_rest_rows(bpf_map__fd(set->skel->maps.rows_b));
	if (r) {
		errtext_set(err, r, "cannot write the maps: %s", strerror(-r));
		goto out;
	}
	r = attach(set, plan, err);
out:
	if (r)
		probe_set_free(set);
	else
		*ret = set;
	return r;
}

void probe_set_detach(struct probe_set *set)
{
	if (!set)
		return;
	/* All stop at once: links go one by one, and a call must not be half counted. */
	if (set->started)
		probe_set_stop(set);
	for (int role = 0; role < ROLE_NR; role++) {
		bpf_link__destroy(set->links[role]);
		set->links[role] = NULL;
	}
}

void probe_set_free(struct probe_set *set)
{
	if (!set)
		return;
	probe_set_detach(set);
	cachemon_bpf__destroy(set->skel);
	grace_close(&set->grace);
	free(set);
}
