/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cost of a read that hits: 4 KiB preads at random pages of a cached file, with nothing
 * attached, with empty programs on cachemon's hooks, at level cold and at level full. As a second
 * measure, which a busy machine disturbs less, the run times in the kernel's statistics: of the
 * per-read program minus an empty one, and at level cold, where it is not attached, of all programs
 * together.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hotfile.h"
#include "phase.h"

enum { OFF, EMPTY, COLD, FULL, ALSO, NR_PHASES };

static int read_some(void *ctx, int op, long n, uint64_t *cpu_ns)
{
	return hotfile_read(ctx, n);
}

/* One figure of a block, from the statistics before and after it; < 0: none. */
typedef double block_figure(const struct scan *before, const struct scan *after, long reads);

/* Run time of the program on the read hook. */
static double read_program_ns(const struct scan *before, const struct scan *after, long reads)
{
	const struct scan_prog *a = scan_find(before, "read_tp"), *b = scan_find(after, "read_tp");

	if (!a || !b || b->run_cnt == a->run_cnt)
		return -1;
	return (double)(b->run_ns - a->run_ns) / (double)(b->run_cnt - a->run_cnt);
}

/* Run time of all programs, for whatever task they ran, per read. */
static double all_programs_ns(const struct scan *before, const struct scan *after, long reads)
{
	uint64_t ns = 0;

	for (int i = 0; i < before->nr; i++)
		if (before->progs[i].tp_btf)
			ns += after->progs[i].run_ns - before->progs[i].run_ns;
	return (double)ns / (double)reads;
}

/* The lower quartile of the blocks. */
static double program_ns(struct phase_env *env, const struct phase *p, block_figure *figure)
{
	double *ns = calloc((size_t)env->o->blocks, sizeof(*ns)), quiet;
	struct scan before, after;
	struct phase_entered e;
	struct worker_result r;
	int nr = 0, stats;

	phase_enter(env, p, &e);
	while (nr < env->o->blocks) {
		scan_wait(&e.own, env->o->patience_s, &before);
		stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
		if (stats < 0)
			bench_fail("no run-time statistics: %s", strerror(errno));
		worker_do(env->worker, 0, env->ops[0], &r);
		close(stats);
		scan_progs(&after);
		if (p->kind == PHASE_WATCH)
			watcher_drain(&e.watcher);
		if (!scan_same(&before, &after))
			continue;
		ns[nr] = figure(&before, &after, env->ops[0]);
		nr += ns[nr] >= 0;
	}
	phase_leave(p, &e);
	quiet = bench_quantile(ns, nr, 0.25);
	free(ns);
	return quiet;
}

static void print_program(struct phase_env *env, const struct phase *p, int nr)
{
	int rounds = env->o->rounds < 6 ? env->o->rounds : 6;
	double net[2][rounds], cold[rounds];

	for (int i = 0; i < rounds; i++) {
		double empty = program_ns(env, &p[EMPTY], read_program_ns);

		net[0][i] = program_ns(env, &p[FULL], read_program_ns) - empty;
		if (nr > ALSO)
			net[1][i] = program_ns(env, &p[ALSO], read_program_ns) - empty;
		cold[i] = program_ns(env, &p[COLD], all_programs_ns);
	}
	bench_print("by statistics: full minus empty", net[0], rounds, "ns a read");
	if (nr > ALSO)
		bench_print("by statistics: other build", net[1], rounds, "ns a read");
	bench_print("by statistics: all programs at level cold", cold, rounds, "ns a read");
}

static double ratio(struct phase_env *env, struct phase *p, int of)
{
	double *v = phase_ratio(env, &p[OFF], &p[of], 0), median;
	char name[64];

	snprintf(name, sizeof(name), "CPU ratio off/%s", p[of].name);
	bench_print(name, v, env->o->rounds, "");
	median = bench_quantile(v, env->o->rounds, 0.5);
	free(v);
	return median;
}

static double added(struct phase_env *env, struct phase *p, int of, int over)
{
	double *v = phase_added(env, &p[of], &p[over], 0), median;
	char name[64];

	snprintf(name, sizeof(name), "%s minus %s", p[of].name, p[over].name);
	bench_print(name, v, env->o->rounds, "ns a read");
	median = bench_quantile(v, env->o->rounds, 0.5);
	free(v);
	return median;
}

static void print(struct phase_env *env, struct phase *p, int nr)
{
	double cold, net;

	cold = ratio(env, p, COLD);
	for (int i = EMPTY; i < nr; i++)
		if (i != COLD)
			ratio(env, p, i);
	added(env, p, EMPTY, OFF);
	added(env, p, COLD, OFF);
	added(env, p, FULL, OFF);
	net = added(env, p, FULL, EMPTY);
	if (nr > ALSO) {
		added(env, p, ALSO, EMPTY);
		added(env, p, ALSO, FULL);
	}
	for (int i = OFF; i < nr; i++)
		bench_print(p[i].name, p[i].ns[0], env->o->rounds, "ns a read");
	bench_goal("CPU ratio at level cold", cold, 0.99, true);
	bench_goal("ns of level full over empty programs", net, 20, false);
}

int main(int argc, char **argv)
{
	struct bench_options o = {.dir = "/var/tmp",
				  .rounds = 16,
				  .blocks = 12,
				  .ops = 20000,
				  .file_bytes = 1ull << 30,
				  .patience_s = 600};
	struct phase_env env;
	struct hotfile file;
	struct worker worker;
	int nr;

	bench_options(argc, argv, &o);
	struct phase phases[NR_PHASES] = {
		[OFF] = {.name = "off", .kind = PHASE_OFF},
		[EMPTY] = {.name = "empty programs", .kind = PHASE_EMPTY},
		[COLD] = {.name = "level cold",
			  .kind = PHASE_WATCH,
			  .cachemon = o.cachemon,
			  .args = {"--level", "cold"}},
		[FULL] = {.name = "level full",
			  .kind = PHASE_WATCH,
			  .cachemon = o.cachemon,
			  .args = {"--level", "full"}},
		[ALSO] = {.name = "level full (other build)",
			  .kind = PHASE_WATCH,
			  .cachemon = o.also,
			  .args = {"--level", "full"}},
	};
	nr = o.also ? NR_PHASES : ALSO;
	hotfile_make(o.dir, o.file_bytes, &file);
	worker_start(read_some, &file, true, &worker);
	phase_env_init(&env, &o, &worker, NULL);
	phase_run_all(&env, phases, nr);
	if (hotfile_missing(&file))
		bench_fail("pages left the cache during the run: the figures are worth nothing");
	print(&env, phases, nr);
	print_program(&env, phases, nr);
	phase_free(phases, nr);
	worker_stop(&worker);
	phase_env_free(&env);
	hotfile_free(&file);
	return 0;
}
