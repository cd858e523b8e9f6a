/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A training input job under level full, compared with the same job alone: epochs of loader_job.py,
 * a torch DataLoader or, labelled as such, a replacement of the same shape without torch. CPU time
 * is that of all processes of the job; wall time is printed next to it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "phase.h"
#include "tool.h"

#define FILE_BYTES (100 << 10)

enum { OFF, FULL, NR_PHASES };

struct job {
	pid_t pid;
	FILE *to, *from;
};

/* One epoch; n counts its samples. */
static int epoch(void *ctx, int op, long n, uint64_t *cpu_ns)
{
	struct job *job = ctx;
	unsigned long long ns;

	fputs("go\n", job->to);
	fflush(job->to);
	if (fscanf(job->from, "%llu", &ns) != 1)
		return -EPIPE;
	*cpu_ns = ns;
	return 0;
}

/* False: the job reports that torch is not installed. */
static bool job_start(const char *kind, const char *dir, const struct bench_options *o,
		      struct job *ret)
{
	char files[16], bytes[16], word[16];
	int to[2], from[2], status;

	snprintf(files, sizeof(files), "%ld", o->ops);
	snprintf(bytes, sizeof(bytes), "%d", FILE_BYTES);
	if (pipe(to) || pipe(from))
		bench_fail("no pipe: %s", strerror(errno));
	ret->pid = fork();
	if (ret->pid < 0)
		bench_fail("cannot fork: %s", strerror(errno));
	if (!ret->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(to[0], STDIN_FILENO);
		dup2(from[1], STDOUT_FILENO);
		close(to[1]);
		close(from[0]);
		execl(BENCH_PYTHON, BENCH_PYTHON, BENCH_DIR "/loader_job.py", kind, dir, files,
		      bytes, "2", NULL);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	ret->to = fdopen(to[1], "w");
	ret->from = fdopen(from[0], "r");
	if (fscanf(ret->from, "%15s", word) == 1 && !strcmp(word, "ready"))
		return true;
	waitpid(ret->pid, &status, 0);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != EXIT_SKIPPED)
		bench_fail("loader_job.py %s does not start (status 0x%x)", kind, status);
	return false;
}

static void job_stop(struct job *job)
{
	fclose(job->to);
	fclose(job->from);
	waitpid(job->pid, NULL, 0);
}

static void compare(const char *label, const struct bench_options *o, struct job *job)
{
	struct phase phases[NR_PHASES] = {
		[OFF] = {.name = "off", .kind = PHASE_OFF},
		[FULL] = {.name = "level full",
			  .kind = PHASE_WATCH,
			  .cachemon = o->cachemon,
			  .args = {"--level", "full"}},
	};
	double *cpu, wall[o->rounds];
	struct phase_env env;
	struct worker worker;
	char goal[96];

	worker_start(epoch, job, false, &worker);
	phase_env_init(&env, o, &worker, NULL);
	env.watched = job->pid;
	phase_run_all(&env, phases, NR_PHASES);
	printf("%s: epochs of %ld files of %d KiB, 2 workers, all cached\n", label, o->ops,
	       FILE_BYTES >> 10);
	for (int i = 0; i < o->rounds; i++)
		wall[i] = phases[OFF].wall[0][i] / phases[FULL].wall[0][i];
	cpu = phase_ratio(&env, &phases[OFF], &phases[FULL], 0);
	bench_print("CPU ratio off/level full", cpu, o->rounds, "");
	bench_print("throughput ratio full/off (wall)", wall, o->rounds, "");
	bench_print("off", phases[OFF].ns[0], o->rounds, "ns of CPU a sample");
	snprintf(goal, sizeof(goal), "CPU ratio of the %s", label);
	bench_goal(goal, bench_quantile(cpu, o->rounds, 0.5), 0.99, true);
	free(cpu);
	phase_free(phases, NR_PHASES);
	worker_stop(&worker);
	phase_env_free(&env);
}

static void one(const char *kind, const char *label, const struct bench_options *o)
{
	const char *remove[] = {"rm", "-rf", NULL, NULL};
	char dir[300];
	struct job job;

	snprintf(dir, sizeof(dir), "%.250s/cachemon-bench.XXXXXX", o->dir);
	if (!mkdtemp(dir))
		bench_fail("cannot make a directory in %s: %s", o->dir, strerror(errno));
	remove[2] = dir;
	if (job_start(kind, dir, o, &job)) {
		compare(label, o, &job);
		job_stop(&job);
	} else {
		printf("skipped: %s (" BENCH_PYTHON " has no torch; Debian: python3-torch)\n",
		       label);
	}
	tool_run(remove, NULL);
}

int main(int argc, char **argv)
{
	struct bench_options o = {.dir = "/var/tmp",
				  .rounds = 10,
				  .blocks = 3,
				  .ops = 2000,
				  .file_bytes = 1,
				  .patience_s = 600};

	bench_options(argc, argv, &o);
	one("torch", "torch DataLoader", &o);
	one("plain", "stand-in loader (multiprocessing, no torch)", &o);
	return 0;
}
