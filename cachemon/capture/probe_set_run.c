/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/capture/probe_set_impl.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <unistd.h>

int probe_set_grace_period(const struct probe_set *set)
{
	return grace_wait(&set->grace);
}

int probe_set_rest_row(int fd, uint32_t slot)
{
	static const struct file_row zero;
	struct file_row_key key = {.job = slot};

	return bpf_map_update_elem(fd, &key, &zero, BPF_ANY) ? -errno : 0;
}

int probe_set_rest_rows(struct probe_set *set, int fd)
{
	int r = 0;

	for (uint32_t slot = 0; slot < set->nr_slots && !r; slot++)
		if (!slot || set->skel->bss->shared.slots[slot].job)
			r = probe_set_rest_row(fd, slot);
	return r;
}

/* Waits after moving the epoch: a program that opens a tally re-reads the epoch afterwards, so
 * at least one of the two notices the other. A running task may have joined the job: the next
 * switch checks both tasks. */
static void close_tallies(struct probe_set *set)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (unsigned int cpu = 0; cpu < set->nr_cpus && cpu < NR_TALLY_CPUS; cpu++) {
		__atomic_store_n(&set->skel->bss->tallies[cpu].mapping, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&set->skel->bss->tallies[cpu].loaded, 1, __ATOMIC_RELAXED);
	}
}

uint32_t probe_set_move_epoch(struct probe_set *set, uint32_t by)
{
	uint32_t old = __atomic_fetch_add(&set->skel->bss->shared.epoch, by, __ATOMIC_SEQ_CST);

	close_tallies(set);
	return old;
}

/* The set of attached programs is final by then. */
static uint32_t direct_ends(const struct probe_plan *plan)
{
	static const enum probe_role roles[] = {
		[DIRECT_DONE] = ROLE_DIRECT_DONE,	[DIRECT_QUEUED] = ROLE_DIRECT_QUEUED,
		[DIRECT_BLOCK] = ROLE_DIRECT_BLOCK_END, [DIRECT_NFS] = ROLE_DIRECT_NFS_END,
		[DIRECT_FUSE] = ROLE_DIRECT_FUSE_END,
	};
	uint32_t ends = 0;

	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
		ends |= (uint32_t)probe_plan_has(plan, roles[i]) << i;
	return ends;
}

void probe_set_start(struct probe_set *set)
{
	set->skel->bss->shared.direct_ends = direct_ends(set->plan);
	probe_set_misses_begin(set);
	/* Earlier records of io_uring reads are void. */
	if (probe_set_reads_on(set))
		set->skel->bss->shared.read_on = ++set->reads_on_nr;
	/* Even: generation a. 0 means not started. */
	set->skel->bss->shared.epoch = 2;
	close_tallies(set);
	set->started = true;
}

void probe_set_stop(struct probe_set *set)
{
	set->skel->bss->shared.epoch = 0;
	close_tallies(set);
	probe_set_grace_period(set);
}

/* The kernel returns the context in the buffer that it came in. */
static int run_program(struct bpf_program *prog, void *ctx, uint32_t size)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = ctx, .ctx_size_in = size);

	return bpf_prog_test_run_opts(bpf_program__fd(prog), &opts) ? -errno : 0;
}

int probe_set_iterate(const struct bpf_link *link)
{
	int fd = bpf_iter_create(bpf_link__fd(link)), r = 0;
	char buf[64];
	ssize_t n;

	if (fd < 0)
		return -errno;
	while (!r && (n = read(fd, buf, sizeof(buf))))
		/* read(2) stops after a million elements without output, and has to be repeated. */
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			r = -errno;
	close(fd);
	return r;
}

/* Runs as an iterator over all elements of a map, for kernels that cannot run programs on
 * request. */
static int iterate_map(struct bpf_program *prog, struct bpf_map *map)
{
	union bpf_iter_link_info info = {.map.map_fd = (uint32_t)bpf_map__fd(map)};
	LIBBPF_OPTS(bpf_iter_attach_opts, opts, .link_info = &info, .link_info_len = sizeof(info));
	struct bpf_link *link = bpf_program__attach_iter(prog, &opts);
	int r = link ? probe_set_iterate(link) : -errno;

	bpf_link__destroy(link);
	return r;
}

static bool sweeps_iterate(const struct probe_set *set)
{
	return set->plan->build == BUILD_BASIC;
}

static int sweep_blocks(struct probe_set *set, struct bpf_program *prog, void *args, uint32_t size)
{
	return sweeps_iterate(set) ? iterate_map(prog, set->skel->maps.blocks)
				   : run_program(prog, args, size);
}

/* Before Linux 5.13 fentry programs can be attached only once: there the program stays, and
 * checks read_on. */
static bool reads_stay(const struct probe_set *set)
{
	const struct probe_choice *c = probe_set_choice(set, ROLE_READ);

	return set->plan->build == BUILD_BASIC && c && c->kind == HOOK_FENTRY;
}

/* A counter next to the page state shows whether any page has an open fate. */
static bool any_outstanding(const struct probe_set *set)
{
	const __u64 *slots = set->skel->bss->shared.outstanding;

	for (size_t i = 0; i < NR_OUTSTANDING; i++)
		if ((uint32_t)__atomic_load_n(&slots[i], __ATOMIC_RELAXED))
			return true;
	return false;
}

int probe_set_reads(struct probe_set *set, bool on)
{
	struct cachemon_maps_bpf *skel = set->skel;
	int r;

	if (!probe_set_choice(set, ROLE_READ))
		return on ? -ENOTSUP : 0;
	if (on == probe_set_reads_on(set))
		return 0;
	if (on) {
		r = probe_set_attach_role(set, ROLE_READ);
		if (!r)
			skel->bss->shared.read_on = ++set->reads_on_nr;
		set->reads_on = !r;
		return r;
	}
	skel->bss->shared.read_on = 0;
	/* Even after the link is closed, a tally would count once it is attached again. */
	if (set->started)
		probe_set_move_epoch(set, 2);
	set->reads_on = false;
	if (!reads_stay(set))
		probe_set_close_link(set, ROLE_READ);
	r = probe_set_grace_period(set);
	if (!r && !any_outstanding(set))
		return 0;
	if (!r)
		r = sweep_blocks(set, probe_set_program(set, "sweep_fates"), NULL, 0);
	/* Deletes that cleared a bit before the sweep have decremented it by then. */
	if (!r)
		r = probe_set_grace_period(set);
	if (r)
		return r;
	/* The high half continues to count, because a call in progress compares it with an
	 * earlier value. */
	for (size_t i = 0; i < sizeof(skel->bss->shared.outstanding) / sizeof(uint64_t); i++)
		__atomic_fetch_and(&skel->bss->shared.outstanding[i], ~(uint64_t)UINT32_MAX,
				   __ATOMIC_RELAXED);
	return r;
}

int probe_set_hook(struct probe_set *set, enum probe_role role, bool on)
{
	if (role == ROLE_READ)
		return probe_set_reads(set, on);
	if (!probe_set_choice(set, role))
		return -ENOTSUP;
	if (on)
		return probe_set_attach_role(set, role);
	probe_set_close_link(set, role);
	return 0;
}

void probe_set_evictors(struct probe_set *set, bool on)
{
	set->skel->bss->shared.evictors_shed = !on;
}

bool probe_set_rings_unseen(const struct probe_set *set)
{
	return set->skel->bss->shared.rings_unseen;
}

bool probe_set_reads_on(const struct probe_set *set)
{
	return set->reads_on;
}

int probe_set_uncharged(struct probe_set *set, uint32_t slot, struct sweep_charges_args *ret)
{
	int r = 0;

	*ret = (struct sweep_charges_args){.nr_cpus = set->nr_cpus, .slot = slot};
	if (!sweeps_iterate(set))
		r = run_program(probe_set_program(set, "sweep_charges"), ret, sizeof(*ret));
	if (r)
		*ret = (struct sweep_charges_args){0};
	return r;
}

int probe_set_sweep_cells(struct probe_set *set, uint32_t generation)
{
	struct sweep_cells_args args = {.nr_cpus = set->nr_cpus, .generation = generation};

	if (sweeps_iterate(set))
		return 0;
	return run_program(probe_set_program(set, "sweep_cells"), &args, sizeof(args));
}

int probe_set_sweep_names(struct probe_set *set, uint32_t which)
{
	struct sweep_names_args args = {.which = which};
	struct cachemon_maps_bpf *skel = set->skel;

	if (!sweeps_iterate(set))
		return run_program(probe_set_program(set, "sweep_names"), &args, sizeof(args));
	skel->bss->shared.sweep_arg = which;
	return iterate_map(probe_set_program(set, "sweep_names"),
			   which == NAMES_OF_ALL      ? skel->maps.named
			   : which == NAMES_OF_ROWS_A ? skel->maps.rows_a
						      : skel->maps.rows_b);
}

int probe_set_flip(struct probe_set *set, uint32_t *ret_generation)
{
	struct cachemon_maps_bpf *skel = set->skel;
	uint32_t old = probe_set_move_epoch(set, 1);

	skel->bss->shared.rows_used = 0;
	skel->bss->shared.evictors_used = 0;
	*ret_generation = old & 1;
	return probe_set_grace_period(set);
}

int probe_set_count_outstanding(struct probe_set *set, uint64_t *ret_pages)
{
	uint64_t sum = 0;
	int r;

	set->skel->bss->shared.sweep_sum = 0;
	r = sweep_blocks(set, probe_set_program(set, "sweep_count"), &sum, sizeof(sum));
	if (!r)
		*ret_pages = sum + set->skel->bss->shared.sweep_sum;
	return r;
}

int probe_set_sweep_ended(struct probe_set *set)
{
	return run_program(probe_set_program(set, "sweep_ended"), NULL, 0);
}

static int sweep_ghosts(struct probe_set *set, bool drop)
{
	struct sweep_ghosts_args args = {.drop = drop};
	int r;

	set->skel->bss->shared.sweep_arg = drop;
	r = sweep_blocks(set, probe_set_program(set, "sweep_ghosts"), &args, sizeof(args));

	return r ? r : probe_set_grace_period(set);
}

int probe_set_make_room(struct probe_set *set)
{
	int marked, r;

	set->skel->bss->shared.sweeping = 1;
	marked = sweep_ghosts(set, false);
	r = marked ? marked : sweep_ghosts(set, true);
	/* Unless a program may still use what was dropped. */
	if (marked || !r)
		set->skel->bss->shared.sweeping = 0;
	return r;
}
