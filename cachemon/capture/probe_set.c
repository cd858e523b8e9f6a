/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/capture/probe_set_impl.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/cachemon.h"
#include "cachemon/plan/kallsyms.h"
#include "cachemon/capture/map_memory.h"

#include "cachemon_basic.skel.h"
#include "cachemon_probe.skel.h"

/* The verifier's log of a program. Only its presence matters. */
#define LOG_MAX 4096

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	/* Every failure is returned as a code, which the caller reports. */
	return 0;
}

const struct probe_choice *probe_set_choice(const struct probe_set *set, enum probe_role role)
{
	const struct probe_choice *c = &set->plan->choices[role];

	return c->state == PROBE_LIVE && c->program ? c : NULL;
}

static int size_maps(struct probe_set *set, const struct probe_set_config *config)
{
	struct cachemon_bpf *skel = set->skel;
	struct map_size sizes[MAP_SIZES_MAX];
	size_t nr = map_sizes(config->ram_bytes, config->caps->page_size, config->nr_cpus, sizes,
			      MAP_SIZES_MAX);
	int err = 0;

	for (size_t i = 0; i < nr && !err; i++) {
		struct bpf_map *map = bpf_object__find_map_by_name(skel->obj, sizes[i].name);

		if (map)
			err = bpf_map__set_max_entries(map, sizes[i].entries);
	}
	/* Maps that only many jobs, or no other build, use. */
	if (!err)
		err = config->jobs ? bpf_map__set_max_entries(skel->maps.jobs, set->nr_slots)
				   : bpf_map__set_autocreate(skel->maps.job_cgroups, false);
	if (!err && !config->jobs)
		err = bpf_map__set_autocreate(skel->maps.births, false);
	if (!err && set->plan->build != BUILD_BASIC)
		err = bpf_map__set_autocreate(skel->maps.locks, false);
	if (!err && !probe_build_references(set->plan->build))
		err = bpf_map__set_autocreate(skel->maps.references, false);
	if (!err && !probe_build_references(set->plan->build))
		err = bpf_map__set_autocreate(skel->maps.reference_pages, false);
	if (!err && !probe_build_traces(set->plan->build))
		err = bpf_map__set_autocreate(skel->maps.traces, false);
	if (!err && !probe_build_traces(set->plan->build))
		err = bpf_map__set_autocreate(skel->maps.traced, false);
	if (!err && config->block_entries)
		err = bpf_map__set_max_entries(skel->maps.blocks, config->block_entries);
	if (!err && config->row_entries)
		err = bpf_map__set_max_entries(skel->maps.rows_a, config->row_entries);
	if (!err && config->row_entries)
		err = bpf_map__set_max_entries(skel->maps.rows_b, config->row_entries);
	return err;
}

/* Addresses of functions that programs search for: causes that only a stack shows, and functions
 * that end a bio. The last function of each group is looked up only if needed, because a failed
 * lookup reads all symbols. */
static void set_symbols(struct cachemon_bpf *skel, const struct kernel_caps *caps,
			struct probe_plan *plan)
{
	struct config *to = (struct config *)&skel->rodata_config->config;
	const struct probe_choice *block = &plan->choices[ROLE_DIRECT_BLOCK];
	bool bios = block->state == PROBE_LIVE && block->kind == HOOK_TP_BTF, found_bios = bios;
	const struct {
		const char *name;
		__u64 *range, *start; /* one of the two */
		bool asked;
	} wanted[] = {
		{"generic_fadvise", to->sym_fadvise, NULL, true},
		{"invalidate_inode_pages2_range", to->sym_invalidate2, NULL, true},
		{"drop_pagecache_sb", to->sym_drop_caches, NULL, true},
		{"vfs_fallocate", to->sym_fallocate, NULL, true},
		{"folio_unmap_invalidate", to->sym_unmap, NULL, plan->drops_behind},
		{"submit_bio_wait_endio", NULL, &to->bio_ends[BIO_END_WAIT], bios},
		{"blkdev_bio_end_io", NULL, &to->bio_ends[BIO_END_DEVICE], bios},
		{"blkdev_bio_end_io_async", NULL, &to->bio_ends[BIO_END_DEVICE_ASYNC], bios},
	};
	enum { NR = sizeof(wanted) / sizeof(wanted[0]) };
	struct kallsym syms[NR];
	size_t nr = 0;

	for (size_t i = 0; i < NR; i++)
		if (wanted[i].asked)
			syms[nr++].name = wanted[i].name;
	kallsyms_find("/proc/kallsyms", syms, nr);
	plan->symbols = true;
	nr = 0;
	for (size_t i = 0; i < NR; i++) {
		const struct kallsym *found = &syms[nr];

		if (!wanted[i].asked)
			continue;
		nr++;
		if (wanted[i].range) {
			memcpy(wanted[i].range, &found->start, 2 * sizeof(*wanted[i].range));
			plan->symbols &= found->end > 0;
		} else {
			*wanted[i].start = found->start;
			found_bios &= found->end > 0;
		}
	}
	if (bios && !found_bios)
		probe_plan_fall_back(caps, probe_table_own(), plan, block->program, ENOENT);
}

static void set_constants(struct cachemon_bpf *skel, const struct probe_set_config *config)
{
	const struct cgroup_ref *cg = config->cgroup;

	skel->rodata_config->config.page_shift = __builtin_ctzl(sysconf(_SC_PAGESIZE));
	skel->rodata_config->config.nr_cpus = config->nr_cpus;
	/* In that case no process has names to read. */
	if (proctree_levels_up("/proc", &skel->bss->shared.proc_levels_up))
		skel->bss->shared.proc_levels_up = UINT32_MAX;
	skel->rodata_config->config.advice_by_calls = config->advice_calls;
	skel->rodata_config->config.job_hierarchies = config->job_hierarchies << JOB_BY_V2;
	skel->bss->shared.job_table = 1;
	/* The calibration has this slot until a job gets it. */
	skel->bss->shared.slots[JOB_WATCHED].job = JOB_WATCHED;
	if (cg) {
		skel->rodata_config->config.job_by_cgroup = JOB_BY_V2 + cg->kind;
		skel->rodata_config->config.job_cgroup_id = cg->id;
		skel->rodata_config->config.job_cgroup_level = cg->level;
	}
}

/* Loaded on every kernel, whatever was chosen; a basic build does not use all of it. */
static void load_always(struct probe_set *set)
{
	static const char *const always[] = {"sweep_ghosts", "sweep_fates", "sweep_count",
					     "sweep_names",  "sweep_cells", "sweep_charges",
					     "sweep_ended"};
	bool basic = set->plan->build == BUILD_BASIC, many = set->nr_slots > JOB_NR;
	size_t nr = sizeof(always) / sizeof(always[0]) - (basic ? 3 : many ? 0 : 1);

	for (size_t i = 0; i < nr; i++)
		bpf_program__set_autoload(
			bpf_object__find_program_by_name(set->skel->obj, always[i]), true);
	bpf_program__set_autoload(set->skel->progs.regs_tp, basic);
}

/*
 * Loads the chosen programs. If the kernel rejects one, its role gets the next candidate and
 * -EAGAIN starts over. A rejected program is recognised by its verifier log.
 */
static int load_programs(struct probe_set *set, const struct kernel_caps *caps,
			 struct probe_plan *plan, struct errtext *err)
{
	char *logs = calloc(ROLE_NR, LOG_MAX);
	const char *refused = NULL;
	int ret;

	if (!logs)
		return errtext_set(err, -ENOMEM, "out of memory");
	for (int role = 0; role < ROLE_NR; role++) {
		const struct probe_choice *c = probe_set_choice(set, role);
		struct bpf_program *prog =
			c ? bpf_object__find_program_by_name(set->skel->obj, c->program) : NULL;

		if (prog) {
			bpf_program__set_autoload(prog, true);
			bpf_program__set_log_buf(prog, logs + role * LOG_MAX, LOG_MAX);
		} else if (c) {
			probe_plan_mark_failed(plan, c->program, ENOENT);
		}
	}
	load_always(set);
	ret = cachemon_bpf__load(set->skel);
	for (int role = 0; ret && role < ROLE_NR && !refused; role++) {
		if (logs[role * LOG_MAX] && probe_set_choice(set, role))
			refused = probe_set_choice(set, role)->program;
	}
	free(logs);
	if (!ret)
		return 0;
	if (refused) {
		/* The log did not fit; that is not the cause of the failure. */
		probe_plan_fall_back(caps, probe_table_own(), plan, refused,
				     ret == -ENOSPC ? EINVAL : ret);
		return -EAGAIN;
	}
	return errtext_set(err, ret,
			   "the kernel refused the probes: %s. "
			   "'cachemon doctor' shows what this machine allows",
			   strerror(-ret));
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

/* -EAGAIN: it was rejected, and the role now has another candidate, which is not loaded yet. */
static int attach_or_fall_back(struct probe_set *set, const struct kernel_caps *caps,
			       struct probe_plan *plan, enum probe_role role)
{
	int ret = probe_set_attach_role(set, role);

	if (ret && probe_plan_fall_back(caps, probe_table_own(), plan, plan->choices[role].program,
					ret) > 0)
		return -EAGAIN;
	return 0;
}

/* Attaches switches first, because the other programs rely on their state. probe_set_reads()
 * attaches the per-read hook later, probe_set_hook() that of fault addresses. */
static int attach_programs(struct probe_set *set, const struct kernel_caps *caps,
			   struct probe_plan *plan, struct errtext *err)
{
	static const enum probe_role first[] = {ROLE_TASK_FREE, ROLE_SWITCH, ROLE_FORK, ROLE_EXIT};
	int ret = 0;

	for (size_t i = 0; i < sizeof(first) / sizeof(first[0]) && !ret; i++)
		ret = attach_or_fall_back(set, caps, plan, first[i]);
	for (int role = 0; role < ROLE_NR && !ret; role++) {
		if (role != ROLE_READ && role != ROLE_FAULT_ADDRESS)
			ret = attach_or_fall_back(set, caps, plan, role);
	}
	if (!ret && !plan->viable)
		return errtext_set(err, -ENOTSUP, "%s", plan->refusal);
	/* The per-read hook depended on it. */
	if (!ret && set->skel->rodata_config->config.truncation_moves &&
	    !set->links[ROLE_TRUNCATE_BEGIN])
		return -EAGAIN;
	return ret;
}

/* If no helper returns a task's registers, this process's own system call shows where they are. */
static int find_regs(struct probe_set *set)
{
	struct bpf_link *link;

	if (set->plan->build != BUILD_BASIC)
		return 0;
	link = bpf_program__attach(set->skel->progs.regs_tp);
	if (!link)
		return -errno;
	syscall(SYS_getppid);
	bpf_link__destroy(link);
	return set->skel->bss->shared.regs_offset ? 0 : -ENODATA;
}

const void *probe_set_object(enum probe_build build, size_t *ret_size)
{
	switch (build) {
	case BUILD_PROBE:
		return cachemon_probe_bpf__elf_bytes(ret_size);
	case BUILD_BASIC:
		return cachemon_basic_bpf__elf_bytes(ret_size);
	default:
		return cachemon_bpf__elf_bytes(ret_size);
	}
}

/*
 * What the kernel's own BTF does not have, libbpf searches in modules: the types of btrfs and fuse,
 * functions of later kernels. Without CAP_SYS_ADMIN the kernel does not list modules. libbpf before
 * 1.4 then fails, but only at its first search. So this is a search for nothing; later ones find
 * nothing, as if no module were loaded.
 */
static void forget_modules(struct bpf_object *obj)
{
	bpf_program__set_attach_target(bpf_object__next_program(obj, NULL), 0, "none");
}

static int open_build(struct probe_set *set, const struct kernel_caps *caps)
{
	int r;

	set->skel = calloc(1, sizeof(*set->skel));
	if (!set->skel || cachemon_bpf__create_skeleton(set->skel))
		return -ENOMEM;
	set->skel->skeleton->data =
		probe_set_object(set->plan->build, &set->skel->skeleton->data_sz);
	r = bpf_object__open_skeleton(set->skel->skeleton, NULL);
	if (!r && !kernel_caps_holds(caps, CAP_SYS_ADMIN))
		forget_modules(set->skel->obj);
	return r;
}

/* Tries to load and attach the present plan. */
static int try_plan(const struct probe_set_config *config, struct probe_plan *plan,
		    struct probe_set *set, struct errtext *err)
{
	int r = open_build(set, config->caps);

	if (r)
		return errtext_set(err, r, "cannot open the probes: %s", strerror(-r));
	r = size_maps(set, config);
	if (r)
		return errtext_set(err, r, "cannot set the sizes of the BPF maps: %s",
				   strerror(-r));
	set_constants(set->skel, config);
	set->skel->rodata_config->config.reads_by_call = probe_plan_by_function(plan, ROLE_READ);
	set->skel->rodata_config->config.preemptible = plan->preemptible;
	set->skel->rodata_config->config.truncation_moves =
		probe_set_choice(set, ROLE_TRUNCATE_BEGIN) != NULL;
	set_symbols(set->skel, config->caps, plan);
	r = load_programs(set, config->caps, plan, err);
	if (r)
		return r;
	r = probe_set_rest_rows(set, bpf_map__fd(set->skel->maps.rows_a));
	if (!r)
		r = probe_set_rest_rows(set, bpf_map__fd(set->skel->maps.rows_b));
	if (r)
		return errtext_set(err, r, "cannot write to the BPF maps: %s", strerror(-r));
	r = find_regs(set);
	if (r)
		return errtext_set(err, r, "cannot find the saved registers of tasks: %s",
				   strerror(-r));
	return attach_programs(set, config->caps, plan, err);
}

static void close_build(struct probe_set *set)
{
	for (int role = 0; role < ROLE_NR; role++) {
		bpf_link__destroy(set->links[role]);
		set->links[role] = NULL;
	}
	cachemon_bpf__destroy(set->skel);
	set->skel = NULL;
}

static int check_jobs(const struct probe_set_config *config, const struct probe_plan *plan,
		      struct errtext *err)
{
	if (!config->jobs != !config->job_hierarchies || config->jobs >= NR_SLOTS)
		return errtext_set(err, -EINVAL, "at most %d jobs can be watched at once",
				   NR_SLOTS - 1);
	if (config->jobs && !probe_build_jobs(plan->build))
		return errtext_set(err, -ENOTSUP,
				   "this kernel can count only one job at a time: many jobs need "
				   "Linux 6.2 or later, with BTF");
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
	set->kprobe_misses = config->caps->kprobe_misses == CAPS_YES;
	set->nr_slots = config->jobs ? config->jobs + 1 : JOB_NR;
	r = check_jobs(config, plan, err);
	if (r) {
		probe_set_free(set);
		return r;
	}
	r = grace_open(&set->grace);
	if (r)
		errtext_set(err, r, "cannot create the BPF maps for grace periods: %s",
			    strerror(-r));
	while (!r) {
		r = try_plan(config, plan, set, err);
		if (r != -EAGAIN)
			break;
		close_build(set);
		r = 0;
	}
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
	/* Stops all programs at once: links are closed one by one, and a call must not be
	 * counted by halves. */
	if (set->started)
		probe_set_stop(set);
	for (int role = 0; role < ROLE_NR; role++)
		probe_set_close_link(set, role);
	set->reads_on = false;
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
