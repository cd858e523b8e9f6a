/* SPDX-License-Identifier: BSD-2-Clause */
#include "phase.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void phase_leave(const struct phase *p, struct phase_entered *e)
{
	if (p->kind == PHASE_EMPTY)
		empties_detach(&e->empties);
	if (p->kind == PHASE_WATCH)
		watcher_stop(&e->watcher);
}

void phase_enter(struct phase_env *env, const struct phase *p, struct phase_entered *ret)
{
	struct watcher_config config = {
		.cachemon = p->cachemon, .db = env->db, .pid = env->watched};
	struct scan all;

	if (p->kind == PHASE_EMPTY) {
		empties_attach(&env->hooks, &ret->empties);
	} else if (p->kind == PHASE_WATCH) {
		memcpy(config.args, p->args, sizeof(config.args));
		watcher_start(&config, &ret->watcher);
	}
	scan_progs(&all);
	scan_of_process(&all, p->kind == PHASE_WATCH ? ret->watcher.pid : getpid(), &ret->own);
	if (!ret->own.nr != (p->kind == PHASE_OFF))
		bench_fail("phase %s holds %d programs", p->name, ret->own.nr);
}

static double typical(const struct phase_env *env, double *v, int nr)
{
	double sum = 0;

	if (!env->mean)
		return bench_quantile(v, nr, 0.25);
	for (int i = 0; i < nr; i++)
		sum += v[i];
	return sum / nr;
}

void phase_measure(struct phase_env *env, struct phase *p, struct phase_entered *e, int op,
		   int round)
{
	double ns[env->o->blocks], wall[env->o->blocks], ops = (double)env->ops[op];
	struct scan before, after;
	struct worker_result r;
	int nr = 0;

	worker_do(env->worker, op, env->ops[op] / 4 + 1, &r); /* warms up */
	while (nr < env->o->blocks) {
		scan_wait(&e->own, env->o->patience_s, &before);
		worker_do(env->worker, op, env->ops[op], &r);
		scan_progs(&after);
		if (p->kind == PHASE_WATCH)
			watcher_drain(&e->watcher);
		if (!scan_same(&before, &after) || !scan_silent(&before, &after) || r.blocks_in) {
			env->discarded++;
			continue;
		}
		ns[nr] = (double)r.cpu_ns / ops;
		wall[nr++] = (double)r.wall_ns / ops;
	}
	p->ns[op][round] = typical(env, ns, nr);
	p->wall[op][round] = typical(env, wall, nr);
}

static void run_one(struct phase_env *env, struct phase *p, int round)
{
	struct phase_entered e;

	phase_enter(env, p, &e);
	for (int op = 0; op < env->nr_ops; op++)
		phase_measure(env, p, &e, op, round);
	phase_leave(p, &e);
}

void phase_env_init(struct phase_env *env, const struct bench_options *o, struct worker *worker,
		    const char *const *args)
{
	struct phase full = {.name = "full",
			     .kind = PHASE_WATCH,
			     .cachemon = o->cachemon,
			     .args = {"--level", "full"}};
	struct phase_entered e;

	env->o = o;
	env->worker = worker;
	env->watched = worker->pid;
	env->nr_ops = 1;
	env->ops[0] = o->ops;
	env->discarded = 0;
	env->mean = false;
	snprintf(env->db, sizeof(env->db), "%s/cachemon-bench-%d.db", o->dir, getpid());
	for (int i = 0; args && args[i]; i++)
		full.args[2 + i] = args[i];
	phase_enter(env, &full, &e);
	env->hooks = e.own;
	phase_leave(&full, &e);
	if (!scan_find(&env->hooks, "read_tp"))
		bench_fail("cachemon at level full has no program read_tp");
}

void phase_env_free(struct phase_env *env)
{
	static const char *const endings[] = {"", "-wal", "-shm"};
	char path[sizeof(env->db) + 8];

	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s%s", env->db, endings[i]);
		unlink(path);
	}
	printf("%u blocks were disturbed and measured again\n", env->discarded);
}

void phase_alloc(const struct phase_env *env, struct phase *phases, int nr)
{
	for (int i = 0; i < nr; i++)
		for (int op = 0; op < env->nr_ops; op++) {
			phases[i].ns[op] = calloc((size_t)env->o->rounds, sizeof(double));
			phases[i].wall[op] = calloc((size_t)env->o->rounds, sizeof(double));
		}
}

void phase_run_all(struct phase_env *env, struct phase *phases, int nr)
{
	phase_alloc(env, phases, nr);
	for (int round = 0; round < env->o->rounds; round++)
		for (int i = 0; i < nr; i++) {
			int at = (i + round) % nr;

			/* Every phase follows every other equally often. */
			run_one(env, &phases[round / nr % 2 ? nr - 1 - at : at], round);
		}
}

void phase_free(struct phase *phases, int nr)
{
	for (int i = 0; i < nr; i++)
		for (int op = 0; op < PHASE_OPS; op++) {
			free(phases[i].ns[op]);
			free(phases[i].wall[op]);
		}
}

double *phase_ratio(const struct phase_env *env, const struct phase *a, const struct phase *b,
		    int op)
{
	double *v = calloc((size_t)env->o->rounds, sizeof(*v));

	for (int i = 0; i < env->o->rounds; i++)
		v[i] = a->ns[op][i] / b->ns[op][i];
	return v;
}

double *phase_added(const struct phase_env *env, const struct phase *a, const struct phase *b,
		    int op)
{
	double *v = calloc((size_t)env->o->rounds, sizeof(*v));

	for (int i = 0; i < env->o->rounds; i++)
		v[i] = a->ns[op][i] - b->ns[op][i];
	return v;
}
