/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loads the programs of a plan. The verifier takes most of the time of a start, and it can verify
 * several programs at once, but libbpf loads an object in one thread. So the programs are divided
 * among several objects, opened from the same ELF file. All use the maps of the skeleton, which has
 * no programs.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/capture/probe_set_impl.h"

/* The verifier's log of a program. Only its presence matters. */
#define LOG_MAX 4096

static struct bpf_program *program_of(const struct probe_part *part, const char *name)
{
	return bpf_object__find_program_by_name(part->obj, name);
}

/* The part that loads the program, or NULL. */
static struct probe_part *part_of(struct probe_set *set, const char *name)
{
	for (size_t i = 0; i < set->nr_parts; i++) {
		const struct bpf_program *prog = program_of(&set->parts[i], name);

		if (prog && bpf_program__autoload(prog))
			return &set->parts[i];
	}
	return NULL;
}

struct bpf_program *probe_set_program(struct probe_set *set, const char *name)
{
	const struct probe_part *part = part_of(set, name);

	return part ? program_of(part, name) : NULL;
}

/* More parts cost more CPU time, because each reads the kernel's types. */
static size_t how_many(void)
{
	cpu_set_t cpus;
	int nr = sched_getaffinity(0, sizeof(cpus), &cpus) ? 1 : CPU_COUNT(&cpus);

	return nr < PARTS_MAX ? (size_t)nr : PARTS_MAX;
}

/* The compiler's own tables are no maps of the skeleton: each part has a copy. */
static int share_maps(const struct bpf_object *from, struct bpf_object *to)
{
	const struct bpf_map *theirs;
	struct bpf_map *ours;
	int r = 0;

	bpf_object__for_each_map(ours, to)
	{
		theirs = bpf_object__find_map_by_name(from, bpf_map__name(ours));
		if (theirs && !r)
			r = bpf_map__fd(theirs) < 0 ? bpf_map__set_autocreate(ours, false)
						    : bpf_map__reuse_fd(ours, bpf_map__fd(theirs));
	}
	return r;
}

/*
 * libbpf searches modules for all that the kernel's own BTF does not have: the types of btrfs and
 * fuse, functions of later kernels. Without CAP_SYS_ADMIN the kernel does not list modules. libbpf
 * before 1.4 then fails, but only at its first search. So this is a search for nothing; later ones
 * find nothing, as if no module were loaded.
 */
static void forget_modules(struct bpf_object *obj)
{
	bpf_program__set_attach_target(bpf_object__next_program(obj, NULL), 0, "none");
}

static int open_parts(struct probe_set *set, const struct kernel_caps *caps)
{
	/* The names of maps for variables begin with it. */
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = bpf_object__name(set->skel->obj));
	size_t size, nr = how_many();
	const void *elf = probe_set_object(set->plan->build, &size);
	int r = 0;

	for (; set->nr_parts < nr && !r; set->nr_parts++) {
		struct bpf_object *obj = bpf_object__open_mem(elf, size, &opts);

		if (!obj)
			return -errno;
		set->parts[set->nr_parts] = (struct probe_part){.obj = obj};
		if (!kernel_caps_holds(caps, CAP_SYS_ADMIN))
			forget_modules(obj);
		r = share_maps(set->skel->obj, obj);
	}
	return r;
}

/* Deals programs to the parts there and back (0, 1, 1, 0): the table of roles begins with those
 * that take the verifier longest. NULL: there is no such program. */
static struct bpf_program *deal(struct probe_set *set, const char *name, size_t *dealt)
{
	size_t turn = *dealt % (2 * set->nr_parts);
	size_t to = turn < set->nr_parts ? turn : 2 * set->nr_parts - 1 - turn;
	struct probe_part *has = part_of(set, name);
	struct bpf_program *prog = program_of(has ?: &set->parts[to], name);

	if (has || !prog)
		return prog;
	bpf_program__set_autoload(prog, true);
	(*dealt)++;
	return prog;
}

/* Loaded on every kernel, whatever was chosen; a basic build does not use all of it. */
static void deal_always(struct probe_set *set, size_t *dealt)
{
	static const char *const always[] = {"sweep_ghosts", "sweep_fates", "sweep_count",
					     "sweep_names",  "sweep_cells", "sweep_charges",
					     "sweep_ended"};
	bool basic = set->plan->build == BUILD_BASIC, many = set->nr_slots > JOB_NR;
	size_t nr = sizeof(always) / sizeof(always[0]) - (basic ? 3 : many ? 0 : 1);

	for (size_t i = 0; i < nr; i++)
		deal(set, always[i], dealt);
	if (basic)
		deal(set, "regs_tp", dealt);
}

/* logs has LOG_MAX bytes for each role. */
static void deal_all(struct probe_set *set, struct probe_plan *plan, char *logs)
{
	size_t dealt = 0;

	for (int role = 0; role < ROLE_NR; role++) {
		const struct probe_choice *c = probe_set_choice(set, role);
		struct bpf_program *prog = c ? deal(set, c->program, &dealt) : NULL;

		if (prog)
			bpf_program__set_log_buf(prog, logs + role * LOG_MAX, LOG_MAX);
		else if (c)
			probe_plan_mark_failed(plan, c->program, ENOENT);
	}
	deal_always(set, &dealt);
}

static void *load_part(void *arg)
{
	struct probe_part *part = arg;

	part->err = bpf_object__load(part->obj);
	return NULL;
}

/* Without a thread of its own, a part is loaded by this one. The first error, or 0. */
static int load_parts(struct probe_set *set)
{
	pthread_t threads[PARTS_MAX];
	bool started[PARTS_MAX] = {0};
	int r = 0;

	for (size_t i = 1; i < set->nr_parts; i++)
		started[i] = !pthread_create(&threads[i], NULL, load_part, &set->parts[i]);
	for (size_t i = 0; i < set->nr_parts; i++) {
		if (started[i])
			pthread_join(threads[i], NULL);
		else
			load_part(&set->parts[i]);
		r = r ? r : set->parts[i].err;
	}
	/* Libbpf has freed the kernel's types, which malloc() would keep for the whole run. */
	malloc_trim(0);
	return r;
}

/* A role whose program the verifier refused, or -1. */
static int refused_role(struct probe_set *set, const char *logs)
{
	for (int role = 0; role < ROLE_NR; role++)
		if (logs[role * LOG_MAX] && probe_set_choice(set, role))
			return role;
	return -1;
}

static int refused(struct probe_set *set, const struct kernel_caps *caps, struct probe_plan *plan,
		   enum probe_role role)
{
	const char *name = probe_set_choice(set, role)->program;
	int r = part_of(set, name)->err;

	/* The log did not fit; that is not the cause of the failure. */
	probe_plan_fall_back(caps, probe_table_own(), plan, name, r == -ENOSPC ? EINVAL : r);
	return -EAGAIN;
}

int probe_set_load(struct probe_set *set, const struct kernel_caps *caps, struct probe_plan *plan,
		   struct errtext *err)
{
	char *logs = calloc(ROLE_NR, LOG_MAX);
	int r, role;

	if (!logs)
		return errtext_set(err, -ENOMEM, "out of memory");
	r = bpf_object__load_skeleton(set->skel->skeleton);
	if (!r)
		r = open_parts(set, caps);
	if (!r) {
		deal_all(set, plan, logs);
		r = load_parts(set);
	}
	role = r ? refused_role(set, logs) : -1;
	free(logs);
	if (role >= 0)
		return refused(set, caps, plan, (enum probe_role)role);
	if (r)
		return errtext_set(err, r,
				   "the kernel refused the probes: %s. "
				   "'cachemon doctor' shows what this machine allows",
				   strerror(-r));
	return 0;
}

void probe_set_unload(struct probe_set *set)
{
	while (set->nr_parts)
		bpf_object__close(set->parts[--set->nr_parts].obj);
	cachemon_maps_bpf__destroy(set->skel);
	set->skel = NULL;
}
