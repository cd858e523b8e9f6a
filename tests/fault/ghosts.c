/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ghosts DIR: entries of the page state are forgotten while a process of the job reads. What it
 * reads again between the two passes of the sweep is not forgotten, and a sweep that comes again
 * and again loses no page and no fate of a job that reads and drops all the time.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/grace.h"
#include "sampled.h"

enum { FILES = 40, PAGES = 8, TOUCHED = 10, BUSY_ROUNDS = 400 };

int __real_grace_wait(const struct grace *g);
int __wrap_grace_wait(const struct grace *g);

static void (*between)(void); /* is done in the first grace period that comes */
static int orders[2], answers[2];

static void read_files(int nr)
{
	char name[32], byte;

	for (int i = 0; i < nr; i++) {
		int fd;

		snprintf(name, sizeof(name), "ghost%d", i);
		fd = open(name, O_RDONLY | O_CLOEXEC);
		for (int n = 0; n < PAGES; n++)
			if (pread(fd, &byte, 1, n * 4096L) != 1)
				_exit(1);
		close(fd);
	}
}

static void drop_files(void)
{
	char name[32];

	for (int i = 0; i < FILES; i++) {
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
	drop_files();
}

static void job(void)
{
	char order;

	while (read(orders[0], &order, 1) == 1) {
		if (order == 'r')
			read_files(FILES);
		else if (order == 'd')
			drop_files();
		else if (order == 't')
			read_files(TOUCHED);
		for (int i = 0; order == 'b' && i < BUSY_ROUNDS; i++) {
			read_files(FILES);
			drop_files();
		}
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
		close(orders[1]);
		job();
	}
	close(orders[0]);
	if (probe_set_seed(set, &pid, 1, &err))
		fail(err.text);
	return pid;
}

/* Until the job has answered. */
static int sweep_meanwhile(struct probe_set *set)
{
	int nr = 0;

	fcntl(answers[0], F_SETFL, O_NONBLOCK);
	for (char answer; read(answers[0], &answer, 1) != 1; nr++)
		if (probe_set_make_room(set))
			fail("cannot make room");
	fcntl(answers[0], F_SETFL, 0);
	return nr;
}

static void check_losses(struct probe_set *set, int64_t dropped)
{
	const struct loss_counts *l = &probe_set_skeleton(set)->bss->losses;

	if (dropped >= 0)
		expect("ghosts dropped", (int64_t)l->ghosts_dropped, dropped);
	expect("pages that found no entry", (int64_t)l->chunk_full, 0);
}

int main(int argc, char **argv)
{
	struct sampler *sampler = NULL;
	struct probe_set *set = NULL;
	struct sums sums = {};
	int64_t error, added;
	int sweeps, status;
	pid_t pid;

	if (argc != 2 || chdir(argv[1])) {
		fprintf(stderr, "usage: ghosts DIR\n");
		return 2;
	}
	make_files();
	open_probes(&set, &sampler);
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
	check_losses(set, (FILES - TOUCHED) * PAGES);
	ask('r');
	wait_done();
	take_all(sampler, false, &sums, &error);
	expect("refaults", sums.c[C_refaults], TOUCHED * PAGES);
	ask('b');
	sweeps = sweep_meanwhile(set);
	close(orders[1]);
	if (waitpid(pid, &status, 0) != pid || status)
		fail("the job failed");
	probe_set_detach(set);
	take_all(sampler, true, &sums, &error);
	check_losses(set, -1);
	expect("pages of open fate, page state less counters", error, 0);
	expect("open fates", sums.c[C_resident_unused], 0);
	added = sums.c[C_demand_pages] + sums.c[C_prefetched_sync] + sums.c[C_prefetched_async];
	expect("pages added and not dropped", added - sums.c[C_evicted_dontneed], 0);
	printf("%lld pages came and went in %d sweeps\n", (long long)added, sweeps);
	sampler_free(sampler);
	probe_set_free(set);
	return 0;
}
