/* SPDX-License-Identifier: BSD-2-Clause */
/* The cost of each page that a cold sequential read brings in: reads of 128 KiB of an uncached
 * file. CPU time is too noisy for this, so the kernel's run-time statistics are used: run time of a
 * program x its runs / pages, minus the overhead of the statistics, which empty programs on the
 * same hooks show. Measured once with CPUs that sleep while the reader waits, as on an idle
 * machine, and once with CPUs that are kept awake. A CPU that wakes up has a low clock and cold
 * caches, or, on a virtual machine, caches full of other work. */
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "image.h"
#include "phase.h"

#define READ_BYTES (128 << 10)
#define PAGE	   4096
#define NR_SETS	   2

enum { OP_READ, OP_DROP, NR_OPS };
enum { EMPTY, FULL };

/* A program in a round: averages and counts, for each kind of pass. */
struct seen {
	char name[16];
	double *ns[NR_SETS][NR_OPS]; /* a run */
	double *runs[NR_OPS];	     /* in a pass under cachemon */
};

struct table {
	struct seen progs[SCAN_MAX];
	int nr, rounds;
};

struct reader {
	int fd;
	uint64_t bytes;
};

static int pass(void *ctx, int op, long n, uint64_t *cpu_ns)
{
	static char buf[READ_BYTES];
	struct reader *r = ctx;

	if (op == OP_DROP)
		return -posix_fadvise(r->fd, 0, 0, POSIX_FADV_DONTNEED);
	for (uint64_t at = 0; at < r->bytes; at += READ_BYTES)
		if (pread(r->fd, buf, READ_BYTES, (off_t)at) != READ_BYTES)
			return errno ? -errno : -EIO;
	return 0;
}

static void file_make(const char *dir, uint64_t bytes, struct reader *ret)
{
	static char block[1 << 20];

	memset(block, 1, sizeof(block));
	ret->bytes = bytes;
	ret->fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	for (uint64_t at = 0; at < bytes; at += sizeof(block))
		if (write(ret->fd, block, sizeof(block)) != (ssize_t)sizeof(block))
			bench_fail("cannot fill a file in %s: %s", dir, strerror(errno));
	if (fsync(ret->fd) || posix_fadvise(ret->fd, 0, 0, POSIX_FADV_DONTNEED))
		bench_fail("cannot write the file back: %s", strerror(errno));
}

static struct seen *row_of(struct table *t, const char *name)
{
	size_t size = (size_t)t->rounds;
	struct seen *s;

	for (int i = 0; i < t->nr; i++)
		if (!strcmp(t->progs[i].name, name))
			return &t->progs[i];
	s = &t->progs[t->nr++];
	memcpy(s->name, name, sizeof(s->name));
	for (int op = 0; op < NR_OPS; op++) {
		s->runs[op] = calloc(size, sizeof(double));
		for (int set = 0; set < NR_SETS; set++)
			s->ns[set][op] = calloc(size, sizeof(double));
	}
	return s;
}

static void table_free(struct table *t)
{
	for (int i = 0; i < t->nr; i++)
		for (int op = 0; op < NR_OPS; op++) {
			free(t->progs[i].runs[op]);
			for (int set = 0; set < NR_SETS; set++)
				free(t->progs[i].ns[set][op]);
		}
}

static void record(struct table *t, const struct scan *before, const struct scan *after, int set,
		   int op, int round, uint64_t switches)
{
	for (int i = 0; i < before->nr; i++) {
		const struct scan_prog *a = &before->progs[i], *b = &after->progs[i];
		uint64_t runs = b->run_cnt - a->run_cnt;
		struct seen *s;

		if (!a->tp_btf)
			continue;
		s = row_of(t, a->name);
		s->ns[set][op][round] = runs ? (double)(b->run_ns - a->run_ns) / (double)runs : -1;
		/* Only the reader's own switches: those of the whole machine are not its cost. */
		if (!strcmp(a->name, "switch_tp"))
			runs = 2 * switches;
		if (set == FULL)
			s->runs[op][round] = (double)runs;
	}
}

/* One pass with statistics on; repeated while another tracer disturbs it. */
static void measure(struct phase_env *env, struct phase_entered *e, struct table *t, int set,
		    int op, int round)
{
	struct scan before, after;
	struct worker_result r;
	int stats;

	for (;;) {
		if (op == OP_DROP)
			worker_do(env->worker, OP_READ, 1, &r);
		else
			worker_do(env->worker, OP_DROP, 1, &r);
		scan_wait(&e->own, env->o->patience_s, &before);
		stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
		if (stats < 0)
			bench_fail("no run-time statistics: %s", strerror(errno));
		worker_do(env->worker, op, 1, &r);
		close(stats);
		scan_progs(&after);
		if (scan_same(&before, &after))
			break;
		env->discarded++;
	}
	record(t, &before, &after, set, op, round, r.switches);
}

static double known_median(const double *v, int rounds)
{
	double kept[rounds];
	int nr = 0;

	for (int i = 0; i < rounds; i++)
		if (v[i] >= 0)
			kept[nr++] = v[i];
	return nr ? bench_quantile(kept, nr, 0.5) : -1;
}

/* Other processes only add runs: the minimum of all rounds is nearest to the reader's own. */
static double least(double *v, int rounds)
{
	return bench_quantile(v, rounds, 0);
}

static double print_split(struct table *t, int op, uint64_t pages)
{
	double sum = 0;

	printf("  %-16s %12s %12s %12s %10s\n", "program", "ns a run", "clock ns", "runs/100 pages",
	       "ns/page");
	for (int i = 0; i < t->nr; i++) {
		struct seen *s = &t->progs[i];
		double full = known_median(s->ns[FULL][op], t->rounds);
		double empty = known_median(s->ns[EMPTY][op], t->rounds);
		double runs = least(s->runs[op], t->rounds), page;

		if (full < 0 || empty < 0 || !runs)
			continue;
		page = (full - empty) * runs / (double)pages;
		sum += page;
		printf("  %-16s %12.1f %12.1f %12.2f %10.2f\n", s->name, full, empty,
		       100 * runs / (double)pages, page);
	}
	printf("  %-16s %12s %12s %12s %10.2f\n", "all", "", "", "", sum);
	return sum;
}

/* One process per CPU that runs when nothing else wants to; ret_pids has a place for each. */
static void keep_awake(pid_t *ret_pids, int nr)
{
	const struct sched_param none = {};

	for (int i = 0; i < nr; i++) {
		ret_pids[i] = fork();
		if (ret_pids[i] < 0)
			bench_fail("cannot fork: %s", strerror(errno));
		if (ret_pids[i])
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (sched_setscheduler(0, SCHED_IDLE, &none))
			_exit(1);
		for (;;)
			__asm__ volatile("" ::: "memory");
	}
}

static void let_sleep(const pid_t *pids, int nr)
{
	for (int i = 0; i < nr; i++) {
		int status;

		kill(pids[i], SIGKILL);
		if (waitpid(pids[i], &status, 0) != pids[i] || !WIFSIGNALED(status))
			bench_fail("a process that keeps its CPU awake has ended");
	}
}

static void one_filesystem(const struct bench_options *o, const char *fstype)
{
	const char *dir = image_mount(o->dir, fstype, o->file_bytes + o->file_bytes / 2);
	struct table table = {.rounds = o->rounds};
	struct phase sets[NR_SETS] = {
		[EMPTY] = {.name = "empty programs", .kind = PHASE_EMPTY},
		[FULL] = {.name = "level full",
			  .kind = PHASE_WATCH,
			  .cachemon = o->cachemon,
			  .args = {"--level", "full"}},
	};
	uint64_t pages = o->file_bytes / PAGE;
	struct phase_entered e;
	struct phase_env env;
	struct worker worker;
	struct reader file;
	char goal[64];

	if (!dir)
		return;
	file_make(dir, o->file_bytes, &file);
	worker_start(pass, &file, false, &worker);
	phase_env_init(&env, o, &worker, NULL);
	for (int round = 0; round < o->rounds; round++)
		for (int set = 0; set < NR_SETS; set++) {
			phase_enter(&env, &sets[set], &e);
			for (int op = 0; op < NR_OPS; op++)
				measure(&env, &e, &table, set, op, round);
			phase_leave(&sets[set], &e);
		}
	printf("%s, %lu MiB, reads of %d KiB, read_ahead_kb %d, %d rounds\n", fstype,
	       (unsigned long)(o->file_bytes >> 20), READ_BYTES >> 10, IMAGE_READ_AHEAD_KB,
	       o->rounds);
	snprintf(goal, sizeof(goal), "ns a page of a cold sequential read on %s", fstype);
	bench_goal(goal, print_split(&table, OP_READ, pages), 10, false);
	printf("and when the same pages leave the cache again (POSIX_FADV_DONTNEED):\n");
	print_split(&table, OP_DROP, pages);
	worker_stop(&worker);
	close(file.fd);
	phase_env_free(&env);
	table_free(&table);
	image_unmount();
}

int main(int argc, char **argv)
{
	struct bench_options o = {.dir = "/var/tmp",
				  .rounds = 8,
				  .blocks = 1,
				  .ops = 1,
				  .file_bytes = 512ull << 20,
				  .patience_s = 600};

	bench_options(argc, argv, &o);
	for (int awake = 0; awake < 2; awake++) {
		int nr = awake ? (int)sysconf(_SC_NPROCESSORS_ONLN) : 0;
		pid_t pids[nr + 1];

		printf("CPUs %s\n", awake ? "kept awake" : "that sleep while the reader waits");
		keep_awake(pids, nr);
		one_filesystem(&o, "ext4");
		one_filesystem(&o, "xfs");
		let_sleep(pids, nr);
	}
	return 0;
}
