/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/probe_set.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/cachemon.h"
#include "cachemon.skel.h"
#include "capture/kallsyms.h"
#include "capture/map_sizes.h"

struct probe_set {
	struct cachemon_bpf *skel;
	struct bpf_link *links[ROLE_NR];
	const struct probe_plan *plan;
	unsigned int nr_cpus;
	bool started;
};

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	/* Every failure comes back as a code and is told once, by whoever asked. */
	return 0;
}

struct cachemon_bpf *probe_set_skeleton(struct probe_set *set)
{
	return set->skel;
}

unsigned int probe_set_cpus(const struct probe_set *set)
{
	return set->nr_cpus;
}

static const struct probe_choice *live_choice(const struct probe_set *set, enum probe_role role)
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
	if (!err && config->chunk_entries)
		err = bpf_map__set_max_entries(skel->maps.chunks, config->chunk_entries);
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

	skel->rodata->page_shift = __builtin_ctzl(sysconf(_SC_PAGESIZE));
	skel->rodata->own_tgid = getpid();
	skel->rodata->advice_by_calls = config->advice_calls;
	if (cg) {
		skel->rodata->job_by_cgroup = cg->kind == CGROUP_V2 ? 1 : 2;
		skel->rodata->job_cgroup_id = cg->id;
		skel->rodata->job_cgroup_level = cg->level;
	}
}

/* The rest row of each job must be there before its generation is written. */
static int rest_rows(int fd)
{
	static const struct file_row zero;

	for (uint32_t job = 0; job < JOB_NR; job++) {
		struct file_row_key key = {.job = job};

		if (bpf_map_update_elem(fd, &key, &zero, BPF_ANY))
			return -errno;
	}
	return 0;
}

static int load(struct probe_set *set, struct probe_plan *plan, struct errtext *err)
{
	static const char *const always[] = {"sweep_ghosts", "sweep_fates", "sweep_count",
					     "sweep_names"};
	struct bpf_program *prog;
	int ret;

	for (int role = 0; role < ROLE_NR; role++) {
		const struct probe_choice *c = live_choice(set, role);

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

static int attach_role(struct probe_set *set, enum probe_role role)
{
	const struct probe_choice *c = live_choice(set, role);
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
		ret = attach_role(set, first[i]);
		if (ret)
			probe_plan_mark_failed(plan, plan->choices[first[i]].program, ret);
	}
	for (int role = 0; role < ROLE_NR; role++) {
		if (role == ROLE_READ)
			continue;
		ret = attach_role(set, role);
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
	set_constants(set->skel, config);
	plan->symbols = set_symbols(set->skel);
	r = load(set, plan, err);
	if (r)
		goto out;
	r = rest_rows(bpf_map__fd(set->skel->maps.rows_a));
	if (!r)
		r = rest_rows(bpf_map__fd(set->skel->maps.rows_b));
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

/* Waits until every program that runs now has ended: they run with preemption or RCU held. */
static int grace_period(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		return -errno;
	return 0;
}

void probe_set_detach(struct probe_set *set)
{
	if (!set)
		return;
	/* All stop at once: links go one by one, and a call must not be half counted. */
	if (set->started) {
		set->skel->bss->epoch = 0;
		grace_period();
	}
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
	free(set);
}

void probe_set_start(struct probe_set *set)
{
	/* Even: generation a. 0 means not started. */
	set->skel->bss->epoch = 2;
	set->started = true;
}

static int run_program(struct bpf_program *prog, void *ctx, uint32_t size)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = ctx, .ctx_size_in = size, .ctx_out = ctx,
		    .ctx_size_out = size);

	return bpf_prog_test_run_opts(bpf_program__fd(prog), &opts) ? -errno : 0;
}

int probe_set_reads(struct probe_set *set, bool on)
{
	struct cachemon_bpf *skel = set->skel;
	int r;

	if (!live_choice(set, ROLE_READ))
		return on ? -ENOTSUP : 0;
	if (on == probe_set_reads_on(set))
		return 0;
	if (on) {
		r = attach_role(set, ROLE_READ);
		if (!r)
			skel->bss->read_on = 1;
		return r;
	}
	skel->bss->read_on = 0;
	bpf_link__destroy(set->links[ROLE_READ]);
	set->links[ROLE_READ] = NULL;
	r = grace_period();
	if (!r)
		r = run_program(skel->progs.sweep_fates, NULL, 0);
	/* Deletes that cleared a bit before the sweep have counted it down by then. */
	if (!r)
		r = grace_period();
	memset(skel->bss->outstanding, 0, sizeof(skel->bss->outstanding));
	return r;
}

int probe_set_advice_calls(struct probe_set *set, bool on)
{
	if (!live_choice(set, ROLE_ADVICE_CALLS))
		return -ENOTSUP;
	if (on)
		return attach_role(set, ROLE_ADVICE_CALLS);
	bpf_link__destroy(set->links[ROLE_ADVICE_CALLS]);
	set->links[ROLE_ADVICE_CALLS] = NULL;
	return 0;
}

bool probe_set_reads_on(const struct probe_set *set)
{
	return set->links[ROLE_READ];
}

static int iterate(struct probe_set *set)
{
	char buf[64];
	ssize_t n;
	int fd;

	if (!set->links[ROLE_SEED])
		return -ENOTSUP;
	fd = bpf_iter_create(bpf_link__fd(set->links[ROLE_SEED]));
	if (fd < 0)
		return -errno;
	do
		n = read(fd, buf, sizeof(buf));
	while (n > 0 || (n < 0 && errno == EINTR));
	n = n < 0 ? -errno : 0;
	close(fd);
	return n;
}

int probe_set_seed(struct probe_set *set, const pid_t *tgids, size_t nr, struct errtext *err)
{
	int fd = bpf_map__fd(set->skel->maps.seeds), r;

	for (size_t i = 0; i < nr; i++) {
		uint32_t tgid = tgids[i], one = 1;

		if (bpf_map_update_elem(fd, &tgid, &one, BPF_ANY))
			return errtext_set(err, -errno, "too many processes to take into the job");
	}
	r = iterate(set);
	if (r)
		return errtext_set(err, r, "cannot look at the running tasks: %s", strerror(-r));
	/* CPUs learn it of the task they run; the same generation of rows. */
	if (set->started)
		__atomic_fetch_add(&set->skel->bss->epoch, 2, __ATOMIC_SEQ_CST);
	return 0;
}

int probe_set_flip(struct probe_set *set, int *ret_fd)
{
	struct cachemon_bpf *skel = set->skel;
	uint32_t old;
	int r;

	/* First the CPUs' cells: running tasks flush them at their next event, into the generation
	 * that is about to be drained. */
	__atomic_fetch_add(&skel->bss->epoch, 2, __ATOMIC_SEQ_CST);
	r = grace_period();
	if (r)
		return r;
	old = __atomic_fetch_add(&skel->bss->epoch, 1, __ATOMIC_SEQ_CST);
	skel->bss->rows_used = 0;
	r = grace_period();
	if (r)
		return r;
	*ret_fd = bpf_map__fd(old & 1 ? skel->maps.rows_b : skel->maps.rows_a);
	return 0;
}

int probe_set_count_outstanding(struct probe_set *set, uint64_t *ret_pages)
{
	uint64_t sum = 0;
	int r = run_program(set->skel->progs.sweep_count, &sum, sizeof(sum));

	if (!r)
		*ret_pages = sum;
	return r;
}

int probe_set_make_room(struct probe_set *set)
{
	return run_program(set->skel->progs.sweep_ghosts, NULL, 0);
}

/* "memlock: N" of the map's fdinfo: what the kernel charges for it. */
uint64_t probe_set_map_bytes(const struct probe_set *set)
{
	struct bpf_map *map;
	uint64_t sum = 0;

	bpf_object__for_each_map(map, set->skel->obj)
	{
		char path[64], line[128];
		unsigned long long bytes;
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", bpf_map__fd(map));
		f = fopen(path, "re");
		if (!f)
			continue;
		while (fgets(line, sizeof(line), f))
			if (sscanf(line, "memlock: %llu", &bytes) == 1)
				sum += bytes;
		fclose(f);
	}
	return sum;
}

int probe_set_run_stats(struct probe_set *set, enum probe_role role, uint64_t *ret_ns,
			uint64_t *ret_runs)
{
	const struct probe_choice *c = live_choice(set, role);
	struct bpf_prog_info info = {};
	uint32_t len = sizeof(info);
	struct bpf_program *prog;

	prog = c ? bpf_object__find_program_by_name(set->skel->obj, c->program) : NULL;
	if (!prog || bpf_program__fd(prog) < 0)
		return -ENOENT;
	if (bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &len))
		return -errno;
	*ret_ns = info.run_time_ns;
	*ret_runs = info.run_cnt;
	return 0;
}
