/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether the budget is kept, and whether the reported cost is true. The loop of cached 4 KiB
 * preads runs with nothing attached, at level auto with --max-overhead 1, and at level full. The
 * reported share of the job's CPU time is printed next to the additional CPU time that the loop
 * really needed. cachemon's share includes its own collector, so only the probes' part is
 * compared. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hotfile.h"
#include "phase.h"
#include "tool.h"

enum { OFF, AUTO, FULL, NR_PHASES };

struct stated {
	double *share, *probes; /* of the job's CPU time, one value per round */
};

static int read_some(void *ctx, int op, long n, uint64_t *cpu_ns)
{
	return hotfile_read(ctx, n);
}

/* The report of the run that has just ended. */
static void ask(const struct phase_env *env, int round, struct stated *s)
{
	const char *const argv[] = {env->o->cachemon, "report",	  "--db", env->db, "--run",
				    "last",	      "--format", "json", NULL};
	const char *const share[] = {"run", "cost", "share_of_job_cpu", NULL};
	const char *const all[] = {"run", "cost", "cpu_ns", NULL};
	const char *const probes[] = {"run", "cost", "probe_cpu_ns", NULL};
	struct cJSON *json = tool_json(argv);

	s->share[round] = tool_number(json, share);
	s->probes[round] = s->share[round] * tool_number(json, probes) / tool_number(json, all);
	cJSON_Delete(json);
}

static void print(struct phase_env *env, struct phase *p, struct stated *s)
{
	static const char *const names[] = {"", "auto", "full"};
	int n = env->o->rounds;

	for (int i = AUTO; i < NR_PHASES; i++) {
		double *ratio = phase_ratio(env, &p[OFF], &p[i], 0), *share = calloc((size_t)n, 8);
		double measured, stated;
		char name[64];

		for (int r = 0; r < n; r++)
			share[r] = 100 * (1 - ratio[r]);
		snprintf(name, sizeof(name), "CPU ratio off/level %s", names[i]);
		bench_print(name, ratio, n, "");
		snprintf(name, sizeof(name), "%s: measured share", names[i]);
		bench_print(name, share, n, "% of the job's CPU");
		measured = bench_quantile(share, n, 0.5);
		for (int r = 0; r < n; r++) {
			s[i].share[r] *= 100;
			s[i].probes[r] *= 100;
		}
		snprintf(name, sizeof(name), "%s: stated, probes alone", names[i]);
		bench_print(name, s[i].probes, n, "% of the job's CPU");
		stated = bench_quantile(s[i].probes, n, 0.5);
		snprintf(name, sizeof(name), "%s: stated, with the collector", names[i]);
		bench_print(name, s[i].share, n, "% of the job's CPU");
		printf("%s: stated for the probes less measured: %+.2f points\n", names[i],
		       stated - measured);
		free(ratio);
		free(share);
	}
	bench_goal("stated share at level auto, budget 1 %", bench_quantile(s[AUTO].share, n, 0.5),
		   1, false);
}

int main(int argc, char **argv)
{
	struct bench_options o = {.dir = "/var/tmp",
				  .rounds = 8,
				  .blocks = 60,
				  .ops = 100000,
				  .file_bytes = 256ull << 20,
				  .patience_s = 600};
	struct phase_entered e;
	struct phase_env env;
	struct hotfile file;
	struct worker worker;
	struct stated stated[NR_PHASES];

	bench_options(argc, argv, &o);
	struct phase phases[NR_PHASES] = {
		[OFF] = {.name = "off", .kind = PHASE_OFF},
		[AUTO] = {.name = "level auto",
			  .kind = PHASE_WATCH,
			  .cachemon = o.cachemon,
			  .args = {"--level", "auto", "--max-overhead", "1"}},
		[FULL] = {.name = "level full",
			  .kind = PHASE_WATCH,
			  .cachemon = o.cachemon,
			  .args = {"--level", "full"}},
	};
	hotfile_make(o.dir, o.file_bytes, &file);
	worker_start(read_some, &file, false, &worker);
	phase_env_init(&env, &o, &worker, NULL);
	env.mean = true;
	phase_alloc(&env, phases, NR_PHASES);
	for (int i = 0; i < NR_PHASES; i++)
		stated[i] = (struct stated){calloc((size_t)o.rounds, sizeof(double)),
					    calloc((size_t)o.rounds, sizeof(double))};
	for (int round = 0; round < o.rounds; round++)
		for (int i = 0; i < NR_PHASES; i++) {
			int at = (i + round) % NR_PHASES;

			phase_enter(&env, &phases[at], &e);
			phase_measure(&env, &phases[at], &e, 0, round);
			phase_leave(&phases[at], &e);
			if (at != OFF)
				ask(&env, round, &stated[at]);
		}
	print(&env, phases, stated);
	for (int i = 0; i < NR_PHASES; i++) {
		free(stated[i].share);
		free(stated[i].probes);
	}
	phase_free(phases, NR_PHASES);
	worker_stop(&worker);
	phase_env_free(&env);
	hotfile_free(&file);
	return 0;
}
