/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/collector/calibrate.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cachemon_maps.skel.h"
#include "cachemon/collector/exercise.h"
#include "cachemon/base/clock.h"

#define TURNS	    2 /* each with the hook on and off */
#define CALL_PAIRS  9
#define CALLS_NR    20000
#define READ_ROUNDS 3
#define ROUNDS_MIN  3
#define ROUNDS_MAX  5
/* A slow disk must not keep the user waiting: then the minimum of rounds suffices. */
#define ROUNDS_NS 25000000

/* Fewer runs in a measurement do not give a mean. */
#define LOOK_RUNS 20

/* The programs whose mean run time is the cost of one event of that kind. */
static const struct {
	enum event ev;
	enum probe_role role;
} programs[] = {
	{EV_READ, ROLE_READ},
	{EV_ADD, ROLE_PAGE_ADD},
	{EV_DELETE, ROLE_PAGE_DELETE},
	{EV_WINDOW, ROLE_WINDOW_SYNC},
	{EV_WINDOW, ROLE_WINDOW_ASYNC},
	{EV_WINDOW, ROLE_WINDOW_ORDER},
	{EV_WINDOW, ROLE_WINDOW_UNBOUNDED},
	{EV_FAULT, ROLE_FAULT},
	{EV_MAP, ROLE_MAP_PAGES},
	{EV_SWITCH, ROLE_SWITCH},
	{EV_FORK_EXIT, ROLE_FORK},
	{EV_FORK_EXIT, ROLE_EXIT},
	{EV_DIRECT, ROLE_DIRECT_READ},
	{EV_DIRECT, ROLE_DIRECT_DONE},
	{EV_URING, ROLE_URING},
	{EV_ADVICE_CALL, ROLE_ADVICE_CALLS},
	{EV_SCOPE, ROLE_FADVISE_BEGIN},
	{EV_SCOPE, ROLE_FADVISE_END},
	{EV_SCOPE, ROLE_INVALIDATE_BEGIN},
	{EV_SCOPE, ROLE_INVALIDATE_END},
	{EV_SCOPE, ROLE_DROP_CACHES_BEGIN},
	{EV_SCOPE, ROLE_DROP_CACHES_END},
	{EV_SCOPE, ROLE_TRUNCATE_BEGIN},
	{EV_SCOPE, ROLE_TRUNCATE_END},
	{EV_SOCKET, ROLE_SOCKET_SEND},
	{EV_SOCKET, ROLE_SOCKET_RECEIVE},
	{EV_VFS, ROLE_VFS_CALLS},
	{EV_VFS, ROLE_VFS_READ},
	{EV_VFS, ROLE_VFS_READV},
	{EV_VFS, ROLE_VFS_WRITE},
	{EV_VFS, ROLE_VFS_WRITEV},
	{EV_VFS, ROLE_VFS_OPEN},
	{EV_VFS, ROLE_VFS_MKDIR},
	{EV_VFS, ROLE_VFS_RMDIR},
	{EV_VFS, ROLE_VFS_UNLINK},
};

static void stats_read(struct probe_set *set, struct calibration_stats *ret)
{
	uint64_t ns, runs;

	*ret = (struct calibration_stats){};
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		if (probe_set_run_stats(set, programs[i].role, &ns, &runs))
			continue;
		ret->ns[programs[i].ev] += ns;
		ret->runs[programs[i].ev] += runs;
	}
}

/* The additional cost of an operation with a hook, measured alternately on and off. < 0: below
 * the noise, because the machine is too noisy or something failed. */
static double added_ns(struct probe_set *set, struct exerciser *e, enum exercise what,
		       enum probe_role role)
{
	double on = 0, off = 0, on_least = 0, off_most = 0;

	for (int i = 0; i < TURNS; i++) {
		double with, without;

		if (probe_set_hook(set, role, false) || exerciser_do(e, what, &without) ||
		    probe_set_hook(set, role, true) || exerciser_do(e, what, &with))
			return -1;
		on += with;
		off += without;
		if (!i || with < on_least)
			on_least = with;
		if (!i || without > off_most)
			off_most = without;
	}
	return on_least > off_most ? (on - off) / TURNS : -1;
}

/* For each kind of event, the mean run time of a program in each round in which it ran. */
struct means {
	double ns[EV_NR][ROUNDS_MAX];
	int nr[EV_NR];
};

static int stats_round(struct probe_set *set, struct exerciser *e, enum exercise what,
		       struct means *m)
{
	struct calibration_stats before, after;
	double ns;

	stats_read(set, &before);
	if (exerciser_do(e, what, &ns))
		return -1;
	stats_read(set, &after);
	for (int ev = 0; ev < EV_NR; ev++) {
		uint64_t runs = after.runs[ev] - before.runs[ev];

		if (runs)
			m->ns[ev][m->nr[ev]++] =
				(double)(after.ns[ev] - before.ns[ev]) / (double)runs;
	}
	return 0;
}

/* A program's mean run time in the quiet quarter of the rounds; < 0: it never ran. */
static double quiet_mean(struct means *m, enum event ev)
{
	return m->nr[ev] ? quiet_quarter(m->ns[ev], m->nr[ev]) : -1;
}

/* Two estimates of one figure; if they differ more than this, the comparison was disturbed. */
static bool agree(double outside, double inside)
{
	return outside > inside / 1.5 && outside < inside * 1.5;
}

static double whole_ns(const struct calibration *cal, double ns)
{
	return ns + cal->around > 0 ? ns + cal->around : 0;
}

/* The kernel's statistics include a program's body and their own clock, but not the call around it,
 * which only a measurement from outside includes. Clock and call cost the same for all programs, so
 * the per-read hook, which is measured both ways, gives the difference. A busy machine hardly
 * disturbs the statistics, because programs run with preemption off. If the comparison from outside
 * is missing (level cold) or implausible, the statistics are used unchanged: the clock costs about
 * as much as the call. */
static void from_stats(struct probe_set *set, struct exerciser *e, struct calibration *ret)
{
	struct means reads = {}, rest = {};
	uint64_t start;
	double ns;

	for (int i = 0; i < READ_ROUNDS; i++)
		if (stats_round(set, e, EXERCISE_READS, &reads))
			return;
	start = clock_now_ns();
	for (int i = 0; i < ROUNDS_MAX; i++) {
		if (i >= ROUNDS_MIN && clock_now_ns() - start > ROUNDS_NS)
			break;
		if (stats_round(set, e, EXERCISE_PAGES, &rest))
			return;
	}
	ns = quiet_mean(&reads, EV_READ);
	if (ns >= 0 && agree(ret->ns[EV_READ], ns))
		ret->around = ret->ns[EV_READ] - ns;
	else
		ret->ns[EV_READ] = ns;
	for (int ev = 0; ev < EV_NR; ev++) {
		ns = quiet_mean(&rest, (enum event)ev);
		if (ret->ns[ev] < 0 && ns >= 0)
			ret->ns[ev] = whole_ns(ret, ns);
	}
}

/* Reads of any process that the per-read hook has seen so far. */
static uint64_t reads_seen(struct probe_set *set)
{
	uint64_t runs[JOB_NR][EV_NR], sum = 0;

	if (probe_set_events(set, runs))
		return 0;
	for (int job = 0; job < JOB_NR; job++)
		sum += runs[job][EV_READ];
	return sum;
}

/*
 * Times programs until the descriptor is closed. Without CAP_SYS_ADMIN this works only if the
 * system times them all the time; then there is nothing to close, and the setting stays.
 */
static int stats_on(void)
{
	int fd = bpf_enable_stats(BPF_STATS_RUN_TIME), e = errno;
	char on = '0';

	if (fd >= 0)
		return fd;
	fd = open("/proc/sys/kernel/bpf_stats_enabled", O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && read(fd, &on, 1) == 1 && on == '1')
		return fd;
	if (fd >= 0)
		close(fd);
	return -e;
}

/* If reads of the directory do not pass the page cache's hooks (tmpfs), nothing is measured. */
static bool try_dir(struct probe_set *set, const char *dir, const struct invoker *as,
		    struct calibration *ret)
{
	struct errtext err;
	struct exerciser e;
	bool seen = true;
	uint64_t before;
	int stats;

	if (exerciser_start(&e, dir, as))
		return false;
	probe_set_seed(set, &e.pid, 1, &err);
	before = reads_seen(set);
	ret->ns[EV_READ] = added_ns(set, &e, EXERCISE_READS, ROLE_READ);
	if (probe_set_reads_on(set))
		seen = reads_seen(set) - before >= TURNS * EXERCISE_READS_NR;
	if (seen)
		ret->ns[EV_ADVICE_CALL] = added_ns(set, &e, EXERCISE_SYSCALLS, ROLE_ADVICE_CALLS);
	else
		ret->ns[EV_READ] = -1;
	stats = seen ? stats_on() : -1;
	if (stats >= 0) {
		from_stats(set, &e, ret);
		close(stats);
	}
	exerciser_stop(&e);
	return seen;
}

/* The map does not change meanwhile. Works for keys of any size. */
static int map_clear(const struct bpf_map *map)
{
	size_t size = bpf_map__key_size(map);
	char *keys = malloc(2 * size), *key = keys, *next, *was;
	int fd = bpf_map__fd(map), r;

	if (!keys)
		return -ENOMEM;
	next = keys + size;
	r = bpf_map_get_next_key(fd, NULL, key) ? -errno : 0;
	while (!r) {
		r = bpf_map_get_next_key(fd, key, next) ? -errno : 0;
		if (bpf_map_delete_elem(fd, key) && errno != ENOENT)
			r = -errno;
		was = key;
		key = next;
		next = was;
	}
	free(keys);
	return r == -ENOENT ? 0 : r;
}

static void cells_clear(const struct bpf_map *map, unsigned int cpus)
{
	size_t size = (bpf_map__value_size(map) + 7) / 8 * 8;
	void *zero = calloc(cpus, size);

	for (uint32_t i = 0; zero && i < bpf_map__max_entries(map); i++)
		bpf_map_update_elem(bpf_map__fd(map), &i, zero, BPF_ANY);
	free(zero);
}

static int hashes_clear(struct probe_set *set)
{
	const struct cachemon_maps_bpf *skel = probe_set_skeleton(set);
	const struct bpf_map *const maps[] = {
		skel->maps.rows_a,     skel->maps.rows_b,     skel->maps.seeds,
		skel->maps.blocks,     skel->maps.advice,     skel->maps.named,
		skel->maps.evictors_a, skel->maps.evictors_b, skel->maps.adders,
		skel->maps.waits_a,    skel->maps.waits_b,    skel->maps.processes_a,
		skel->maps.processes_b};
	int r = 0;

	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]) && !r; i++)
		r = map_clear(maps[i]);
	/* Each generation begins with its rest rows. */
	if (!r)
		r = probe_set_rest_rows(set, bpf_map__fd(skel->maps.rows_a));
	if (!r)
		r = probe_set_rest_rows(set, bpf_map__fd(skel->maps.rows_b));
	return r;
}

/* Stops counting and discards all counts, and the record of which names were sent; the reader of
 * the ring must forget them too. The run begins as if nothing had happened. */
static int forget_counts(struct probe_set *set)
{
	struct cachemon_maps_bpf *skel = probe_set_skeleton(set);
	unsigned int cpus = probe_set_cpus(set);
	int r;

	/* The exerciser has left its CPU for good. */
	probe_set_stop(set);
	r = hashes_clear(set);
	cells_clear(skel->maps.jobs, cpus);
	cells_clear(skel->maps.lives, cpus);
	cells_clear(skel->maps.cells, cpus);
	cells_clear(skel->maps.evictor_runs, cpus);
	memset(skel->bss->tallies, 0, sizeof(skel->bss->tallies));
	memset(skel->bss->shared.outstanding, 0, sizeof(skel->bss->shared.outstanding));
	skel->bss->shared.losses = (struct loss_counts){};
	skel->bss->shared.rings_unseen = 0;
	skel->bss->shared.rows_used = 0;
	skel->bss->shared.blocks_used = 0;
	skel->bss->shared.evicted_pages = 0;
	skel->bss->shared.truncated_pages = 0;
	skel->bss->shared.evictors_used = 0;
	memset(skel->bss->shared.evictors_full, 0, sizeof(skel->bss->shared.evictors_full));
	skel->bss->shared.adders_full = 0;
	return r;
}

int calibrate(struct probe_set *set, const char *dir, const struct invoker *as,
	      struct calibration *ret)
{
	struct cachemon_maps_bpf *skel = probe_set_skeleton(set);
	int r;

	for (int ev = 0; ev < EV_NR; ev++)
		ret->ns[ev] = -1;
	ret->around = 0;
	skel->bss->shared.calibrating = 1;
	probe_set_start(set);
	if (!try_dir(set, dir, as, ret))
		try_dir(set, "/var/tmp", as, ret);
	r = forget_counts(set);
	skel->bss->shared.calibrating = 0;
	return r;
}

static double cheapest_call_ns(void)
{
	uint64_t start = clock_own_cpu_ns();

	for (int i = 0; i < CALLS_NR; i++)
		syscall(SYS_getppid);
	return (double)(clock_own_cpu_ns() - start) / CALLS_NR;
}

double calibrate_call(struct probe_set *set, enum probe_role role)
{
	double with[CALL_PAIRS], without[CALL_PAIRS];

	for (int i = 0; i < CALL_PAIRS; i++) {
		if (probe_set_hook(set, role, true))
			return -1;
		with[i] = cheapest_call_ns();
		if (probe_set_hook(set, role, false))
			return -1;
		without[i] = cheapest_call_ns();
	}
	return quiet_quarter(with, CALL_PAIRS) - quiet_quarter(without, CALL_PAIRS);
}

/* For a program that does not count its runs, because it must cost little for files that are not
 * traced. */
static uint64_t address_run_ns(struct probe_set *set)
{
	uint64_t ns, runs;

	return probe_set_run_stats(set, ROLE_FAULT_ADDRESS, &ns, &runs) ? 0 : ns;
}

int calibrate_look(struct probe_set *set, struct calibration_look *look)
{
	look->stats_fd = stats_on();
	if (look->stats_fd < 0)
		return look->stats_fd;
	stats_read(set, &look->before);
	look->since_ns = clock_now_ns();
	look->address_ns = address_run_ns(set);
	return 0;
}

/* The run times and runs since the measurement began. */
static void look_close(struct probe_set *set, struct calibration_look *look,
		       struct calibration_stats *ret)
{
	stats_read(set, ret);
	look->address_share = (double)(address_run_ns(set) - look->address_ns) /
			      (double)(clock_now_ns() - look->since_ns);
	close(look->stats_fd);
	for (int ev = 0; ev < EV_NR; ev++) {
		ret->ns[ev] -= look->before.ns[ev];
		ret->runs[ev] -= look->before.runs[ev];
	}
}

void calibrate_looked(struct probe_set *set, struct calibration_look *look,
		      const uint64_t job_runs[EV_NR], struct cost_charge *charge)
{
	struct calibration_stats since;

	look_close(set, look, &since);
	for (int ev = 0; ev < EV_NR; ev++) {
		uint64_t runs = since.runs[ev];

		if (charge->price.ns[ev] < 0 || job_runs[ev] < LOOK_RUNS || job_runs[ev] * 2 < runs)
			continue;
		cost_charge_look(charge, (enum event)ev,
				 whole_ns(&charge->price, (double)since.ns[ev] / (double)runs));
	}
}

void calibrate_looked_all(struct probe_set *set, struct calibration_look *look,
			  const uint64_t counted[EV_NR], struct cost_charge *charge)
{
	struct calibration_stats since;

	look_close(set, look, &since);
	for (int ev = 0; ev < EV_NR; ev++)
		if (counted[ev] >= LOOK_RUNS)
			cost_charge_look(charge, (enum event)ev,
					 (double)since.ns[ev] / (double)counted[ev]);
}
