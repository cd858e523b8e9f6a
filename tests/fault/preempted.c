/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * preempted FILE CALLS: one process reads the file's first page repeatedly; another one with
 * priority on the same CPU wakes up in the middle of a read and does the same, CALLS times. The
 * first continues until the other has ended. Prints the number of calls of both. Independent of
 * cachemon.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WAKE_NS 150000

struct shared {
	volatile unsigned long calls;
	volatile int ended;
};

static void __attribute__((noreturn)) fail(const char *what)
{
	perror(what);
	exit(99);
}

static void read_page(int fd)
{
	char buf[4096];

	if (pread(fd, buf, sizeof(buf), 0) != sizeof(buf))
		fail("pread");
}

static void go_before(int fd, unsigned long calls, struct shared *shared)
{
	struct sched_param first = {.sched_priority = 50};

	if (sched_setscheduler(0, SCHED_FIFO, &first))
		fail("SCHED_FIFO");
	for (unsigned long i = 0; i < calls; i++) {
		struct timespec t = {.tv_nsec = WAKE_NS + (long)(i * 7919 % 4096)};

		clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
		read_page(fd);
	}
	shared->ended = 1;
	_exit(0);
}

int main(int argc, char **argv)
{
	int fd = argc == 3 ? open(argv[1], O_RDONLY) : -1, status;
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned long calls, own = 0;
	cpu_set_t one;
	pid_t pid;

	if (fd < 0 || shared == MAP_FAILED)
		fail("usage: preempted FILE CALLS");
	calls = strtoul(argv[2], NULL, 10);
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		fail("sched_setaffinity");
	pid = fork();
	if (pid < 0)
		fail("fork");
	if (!pid)
		go_before(fd, calls, shared);
	while (!shared->ended) {
		read_page(fd);
		own++;
	}
	if (waitpid(pid, &status, 0) != pid || status)
		fail("the other");
	printf("%lu %lu\n", own, calls);
	return 0;
}
