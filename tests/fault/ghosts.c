/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ghosts DIR: entries of the page state are forgotten while a process of the job reads. Entries
 * that it uses between the two passes of the sweep are not forgotten. A sweep that repeats while
 * the job reads and drops all the time forgets unused entries and loses no fate; it loses only
 * pages that were added while their entry was removed, and counts these.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cachemon/capture/grace.h"
#include "sampled.h"

enum { FILES = 40, PAGES = 8, TOUCHED = 10 };

/* A busy job uses the parts of the files in turns, and moves to the next part when a sweep has
 * ended. Of the sweeps that end within three turns, at least the second also began in them, so it
 * forgets the files that these turns did not use. */
enum { PARTS = 4, PART = FILES / PARTS, TURNS = 60, ALONE = PARTS - 1 };

int __real_grace_wait(const struct grace *g);
int __wrap_grace_wait(const struct grace *g);

static void (*between)(void); /* runs in the next grace period */
static int orders[2], answers[2];
static atomic_int *sweeps; /* sweeps that have ended; shared with the job */

static void read_files(int first, int nr)
{
	char name[32], byte;

	for (int i = first; i < first + nr; i++) {
		int fd;

		snprintf(name, sizeof(name), "ghost%d", i);
		fd = open(name, O_RDONLY | O_CLOEXEC);
		for (int n = 0; n < PAGES; n++)
			if (pread(fd, &byte, 1, n * 4096L) != 1)
				_exit(1);
		close(fd);
	}
}

static void drop_files(int first, int nr)
{
	char name[32];

	for (int i = first; i < first + nr; i++) {
		int fd;

		snprintf(name, sizeof(name), "ghost%d", i);
		fd = open(name, O_RDONLY | O_CLOEXEC);
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		close(fd);
	}
}

static void make_files(void)
{
	static char data[PAGES * 4096];
	char name[32];

	for (int i = 0; i < FILES; i++) {
		int fd;

		snprintf(name, sizeof(name), "ghost%d", i);
		fd = open(name, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
		if (write(fd, data, sizeof(data)) != (ssize_t)sizeof(data) || fsync(fd))
			fail("cannot write");
		close(fd);
	}
	drop_files(0, FILES);
}

static void be_busy(void)
{
	for (int turn = 0; turn < TURNS; turn++) {
		int before = atomic_load(sweeps), first = turn % PARTS * PART;

		do {
			read_files(first, PART);
			drop_files(first, PART);
		} while (atomic_load(sweeps) == before);
	}
}

static void job(void)
{
	char order;

	while (read(orders[0], &order, 1) == 1) {
		if (order == 'r')
			read_files(0, FILES);
		else if (order == 'd')
			drop_files(0, FILES);
		else if (order == 't')
			read_files(0, TOUCHED);
		else if (order == 'b')
			be_busy();
		if (write(answers[1], &order, 1) != 1)
			_exit(1);
	}
	_exit(0);
}

static void ask(char what)
{
	if (write(orders[1], &what, 1) != 1)
		fail("no job");
}

static void wait_done(void)
{
	char answer;

	if (read(answers[0], &answer, 1) != 1)
		fail("the job has failed");
}

static void touch_again(void)
{
	ask('t');
	wait_done();
}

int __wrap_grace_wait(const struct grace *g)
{
	void (*what)(void) = between;

	between = NULL;
	if (what)
		what();
	return __real_grace_wait(g);
}

static pid_t start_job(struct probe_set *set)
{
	struct errtext err;
	pid_t pid;

	if (pipe2(orders, O_CLOEXEC) || pipe2(answers, O_CLOEXEC))
		fail("no pipe");
	pid = fork();
	if (!pid) {
		/* The job works on until its parent has swept. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(orders[1]);
		job();
	}
	close(orders[0]);
	if (probe_set_seed(set, &pid, 1, &err))
		fail(err.text);
	return pid;
}

/* Until the job has replied. */
static void sweep_meanwhile(struct probe_set *set)
{
	fcntl(answers[0], F_SETFL, O_NONBLOCK);
	for (char answer; read(answers[0], &answer, 1) != 1; atomic_fetch_add(sweeps, 1))
		if (probe_set_make_room(set))
			fail("cannot make room");
	fcntl(answers[0], F_SETFL, 0);
}

static void expect_between(const char *what, int64_t got, int64_t least, int64_t most)
{
	if (got >= least && got <= most)
		return;
	fprintf(stderr, "%s: %lld, not %lld to %lld\n", what, (long long)got, (long long)least,
		(long long)most);
	exit(1);
}

/* A page that is added while its file's entry is marked but not yet deleted has no state: its fate
 * and its owner are unknown, and it leaves no ghost. */
static void check_busy(const struct loss_counts *l, int64_t dropped_before, const struct sums *sums)
{
	const int64_t *c = sums->c;
	int64_t added = c[C_demand_pages] + c[C_prefetched_sync] + c[C_prefetched_async];
	int64_t dropped = (int64_t)l->ghosts_dropped - dropped_before;
	int64_t stateless = (int64_t)l->chunk_full * PAGES; /* at most */

	expect_between("ghosts dropped of a busy job", dropped,
		       (TURNS - ALONE) * PART * PAGES - stateless, INT64_MAX);
	/* An entry is in that state for a moment only. */
	expect_between("times that no entry was found", (int64_t)l->chunk_full, 0, dropped / PAGES);
	expect("open fates", c[C_resident_unused], 0);
	expect_between("untracked pages", c[C_untracked_map_full], 0, stateless);
	expect("untracked pages for another reason", c[C_untracked] - c[C_untracked_map_full], 0);
	expect_between("pages added and not dropped", added - c[C_evicted_dontneed], 0, stateless);
	printf("%lld pages came and went in %d sweeps that forgot %lld of them; %lld times no "
	       "entry was found\n",
	       (long long)added, atomic_load(sweeps), (long long)dropped, (long long)l->chunk_full);
}

int main(int argc, char **argv)
{
	struct sampler *sampler = NULL;
	struct probe_set *set = NULL;
	const struct loss_counts *losses;
	struct sums sums = {};
	int64_t error, dropped;
	int status;
	pid_t pid;

	if (argc != 2 || chdir(argv[1])) {
		fprintf(stderr, "usage: ghosts DIR\n");
		return 2;
	}
	sweeps = mmap(NULL, sizeof(*sweeps), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (sweeps == MAP_FAILED)
		fail("no memory to share");
	make_files();
	open_probes(&set, &sampler);
	losses = &probe_set_skeleton(set)->bss->shared.losses;
	pid = start_job(set);
	ask('r');
	wait_done();
	ask('d');
	wait_done();
	between = touch_again;
	if (probe_set_make_room(set))
		fail("cannot make room");
	if (between)
		fail("the sweep waited for nobody");
	dropped = (int64_t)losses->ghosts_dropped;
	expect("ghosts dropped", dropped, (FILES - TOUCHED) * PAGES);
	ask('r');
	wait_done();
	take_all(sampler, false, &sums, &error);
	expect("refaults", sums.c[C_refaults], TOUCHED * PAGES);
	expect("times that no entry was found", (int64_t)losses->chunk_full, 0);
	ask('b');
	sweep_meanwhile(set);
	close(orders[1]);
	if (waitpid(pid, &status, 0) != pid || status)
		fail("the job failed");
	probe_set_detach(set);
	take_all(sampler, true, &sums, &error);
	expect("pages of open fate, page state less counters", error, 0);
	check_busy(losses, dropped, &sums);
	sampler_free(sampler);
	probe_set_free(set);
	return 0;
}
