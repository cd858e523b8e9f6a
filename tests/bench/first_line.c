/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long a user waits: from the start of 'cachemon watch' to its first live line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "phase.h"

static int idle(void *ctx, int op, long n, uint64_t *cpu_ns)
{
	return 0;
}

int main(int argc, char **argv)
{
	struct bench_options o = {.dir = "/var/tmp",
				  .rounds = 10,
				  .blocks = 1,
				  .ops = 1,
				  .file_bytes = 1,
				  .patience_s = 600};
	static const char *const levels[] = {"cold", "full", "auto"};
	struct phase_entered e;
	struct phase_env env;
	struct worker worker;
	double *s, median;

	bench_options(argc, argv, &o);
	s = calloc((size_t)o.rounds, sizeof(*s));
	worker_start(idle, NULL, false, &worker);
	phase_env_init(&env, &o, &worker, NULL);
	for (int level = 0; level < 3; level++) {
		struct phase p = {.name = levels[level],
				  .kind = PHASE_WATCH,
				  .cachemon = o.cachemon,
				  .args = {"--level", levels[level]}};
		char name[64];

		for (int i = 0; i < o.rounds; i++) {
			phase_enter(&env, &p, &e);
			s[i] = (double)e.watcher.ready_ns / 1e9;
			phase_leave(&p, &e);
		}
		median = bench_quantile(s, o.rounds, 0.5);
		printf("level %-4s first live line after %.3f s (least %.3f, most %.3f, %d "
		       "starts)\n",
		       levels[level], median, s[0], s[o.rounds - 1], o.rounds);
		snprintf(name, sizeof(name), "s to the first live line, level %s", levels[level]);
		bench_goal(name, median, 1, false);
	}
	free(s);
	worker_stop(&worker);
	phase_env_free(&env);
	return 0;
}
