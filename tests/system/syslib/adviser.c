/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two threads, each on its own CPU, that give the same advice on the same file at the same moment,
 * file after file. adviser DIR N creates N empty files in DIR.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct race {
	const char *dir;
	int nr;
	atomic_int arrived; /* 2 for each file */
};

struct runner {
	struct race *race;
	int nr;
	size_t cpu;
};

static void __attribute__((noreturn)) die(const char *what, int error)
{
	fprintf(stderr, "adviser: %s: %s\n", what, strerror(error));
	exit(1);
}

static void *run(void *ctx)
{
	struct runner *r = ctx;
	cpu_set_t set;
	char path[4096];
	int error;

	CPU_ZERO(&set);
	CPU_SET(r->cpu, &set);
	error = pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	if (error)
		die("a CPU", error);
	for (int i = 0; i < r->race->nr; i++) {
		int fd;

		snprintf(path, sizeof(path), "%s/raced%d", r->race->dir, i);
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		if (fd < 0)
			die(path, errno);
		atomic_fetch_add(&r->race->arrived, 1);
		while (atomic_load(&r->race->arrived) < 2 * (i + 1))
			;
		error = posix_fadvise(fd, (r->nr + 1) * 4096, 4096, POSIX_FADV_SEQUENTIAL);
		if (error)
			die(path, error);
		close(fd);
	}
	return NULL;
}

/* The first allowed CPU at or after this one. */
static size_t cpu_from(const cpu_set_t *set, size_t cpu)
{
	while (cpu < CPU_SETSIZE && !CPU_ISSET(cpu, set))
		cpu++;
	if (cpu >= CPU_SETSIZE)
		die("two CPUs", ENODEV);
	return cpu;
}

int main(int argc, char **argv)
{
	struct race race;
	struct runner a, b;
	pthread_t thread;
	cpu_set_t set;

	if (argc != 3)
		die("usage: adviser DIR N", EINVAL);
	race = (struct race){.dir = argv[1], .nr = atoi(argv[2])};
	if (sched_getaffinity(0, sizeof(set), &set))
		die("the CPUs", errno);
	a = (struct runner){&race, 0, cpu_from(&set, 0)};
	b = (struct runner){&race, 1, cpu_from(&set, a.cpu + 1)};
	if (pthread_create(&thread, NULL, run, &b))
		die("a thread", EAGAIN);
	run(&a);
	return pthread_join(thread, NULL);
}
