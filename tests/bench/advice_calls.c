/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cost of --advice calls, which hooks every system call of the machine. Loops of getppid(), the
 * cheapest call, and of cached 4 KiB preads: with nothing attached, at level full, and at level
 * full with --advice calls.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hotfile.h"
#include "phase.h"

enum { OFF, FULL, CALLS, NR_PHASES };
enum { GETPPID, PREAD };

static int call_some(void *ctx, int op, long n, uint64_t *cpu_ns)
{
	if (op == PREAD)
		return hotfile_read(ctx, n);
	for (long i = 0; i < n; i++)
		syscall(SYS_getppid);
	return 0;
}

static void print(struct phase_env *env, struct phase *p, int op, const char *call)
{
	double *v = phase_added(env, &p[CALLS], &p[FULL], op);
	char name[64];

	snprintf(name, sizeof(name), "%s: --advice calls adds", call);
	bench_print(name, v, env->o->rounds, "ns a call");
	free(v);
	for (int i = OFF; i < NR_PHASES; i++) {
		snprintf(name, sizeof(name), "%s: %s", call, p[i].name);
		bench_print(name, p[i].ns[op], env->o->rounds, "ns a call");
	}
}

int main(int argc, char **argv)
{
	struct bench_options o = {.dir = "/var/tmp",
				  .rounds = 16,
				  .blocks = 12,
				  .ops = 20000,
				  .file_bytes = 256ull << 20,
				  .patience_s = 600};
	struct phase_env env;
	struct hotfile file;
	struct worker worker;

	bench_options(argc, argv, &o);
	struct phase phases[NR_PHASES] = {
		[OFF] = {.name = "off", .kind = PHASE_OFF},
		[FULL] = {.name = "level full",
			  .kind = PHASE_WATCH,
			  .cachemon = o.cachemon,
			  .args = {"--level", "full"}},
		[CALLS] = {.name = "with --advice calls",
			   .kind = PHASE_WATCH,
			   .cachemon = o.cachemon,
			   .args = {"--level", "full", "--advice", "calls"}},
	};
	hotfile_make(o.dir, o.file_bytes, &file);
	worker_start(call_some, &file, true, &worker);
	phase_env_init(&env, &o, &worker, NULL);
	env.nr_ops = 2;
	env.ops[GETPPID] = o.ops * 4;
	env.ops[PREAD] = o.ops;
	phase_run_all(&env, phases, NR_PHASES);
	print(&env, phases, GETPPID, "getppid");
	print(&env, phases, PREAD, "pread");
	phase_free(phases, NR_PHASES);
	worker_stop(&worker);
	phase_env_free(&env);
	hotfile_free(&file);
	return 0;
}
