/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An attacker: stops a process of the same user repeatedly, and at each stop tries every way into
 * it. Usage: tracer PID NAME NANOSECONDS TRIES FILE. It begins once the process is the program NAME
 * (or at once, for "-"), and ends with it, or after that many tries (0: no limit). It tries without
 * stopping the process until FILE grows after a pause of 0.1 s ("-": stops at once, "+": never),
 * because the kernel loads no BPF program while a signal is pending. Prints how often each way was
 * open, as JSON.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SEIZE, ATTACH, GETFD, MEM, FD, WAYS, FDS = 48 };

static const char *const names[WAYS] = {"seize", "attach", "getfd", "mem", "fd"};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static bool read_of(pid_t pid, const char *name, char *ret, size_t size)
{
	char path[64];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY);
	if (fd >= 0) {
		n = read(fd, ret, size - 1);
		close(fd);
	}
	ret[n > 0 ? n : 0] = 0;
	return n > 0;
}

/* R, S, D, T, t, Z ...; 0: it is gone. */
static char state(pid_t pid)
{
	char text[512], *end;

	if (!read_of(pid, "stat", text, sizeof(text)))
		return 0;
	end = strrchr(text, ')');
	return end && end[1] ? end[2] : 0;
}

static bool over(pid_t pid)
{
	char c = state(pid);

	return !c || c == 'Z' || c == 'X';
}

/* Waits until NAME is executed with its privileges: before that it is an ordinary process. */
static bool begun(pid_t pid, const char *name)
{
	char comm[64], status[4096];
	const char *caps;

	if (!strcmp(name, "-"))
		return true;
	if (!read_of(pid, "comm", comm, sizeof(comm)))
		return false;
	comm[strcspn(comm, "\n")] = 0;
	if (strcmp(comm, name) || !read_of(pid, "status", status, sizeof(status)))
		return false;
	caps = strstr(status, "CapPrm:");
	return caps && strtoull(caps + 7, NULL, 16);
}

static bool by_ptrace(pid_t pid, int request)
{
	if (ptrace(request, pid, 0, 0))
		return false;
	waitpid(pid, NULL, __WALL);
	ptrace(PTRACE_DETACH, pid, 0, 0);
	return true;
}

static bool by_opening(pid_t pid, const char *name, int flags)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, flags);
	if (fd < 0)
		return false;
	close(fd);
	return true;
}

static void try_all(pid_t pid, int pidfd, long won[WAYS])
{
	char name[16];

	won[MEM] += by_opening(pid, "mem", O_RDWR);
	for (int fd = 0; fd < FDS; fd++) {
		int got = (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);

		won[GETFD] += got >= 0;
		if (got >= 0)
			close(got);
		snprintf(name, sizeof(name), "fd/%d", fd);
		won[FD] += by_opening(pid, name, O_RDONLY | O_NONBLOCK);
	}
	won[SEIZE] += by_ptrace(pid, PTRACE_SEIZE);
	won[ATTACH] += by_ptrace(pid, PTRACE_ATTACH);
}

struct gate {
	const char *path;
	off_t size;
	double since;
};

static bool stopping(struct gate *g)
{
	double t = now();
	struct stat sb;
	bool grown;

	if (*g->path == '-')
		return true;
	if (*g->path == '+' || stat(g->path, &sb) || sb.st_size == g->size)
		return false;
	grown = g->size > 0 && t - g->since > 0.1;
	g->size = sb.st_size;
	g->since = t;
	if (grown)
		g->path = "-";
	return grown;
}

static void spin(long ns)
{
	double end = now() + (double)ns / 1e9;

	while (now() < end)
		;
}

int main(int argc, char **argv)
{
	pid_t pid = argc == 6 ? atoi(argv[1]) : 0;
	long ns = pid ? atol(argv[3]) : 0, most = pid ? atol(argv[4]) : 0;
	struct gate gate = {.path = pid ? argv[5] : "-"};
	long won[WAYS] = {0}, stops = 0, tries = 0;
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (pid <= 0 || pidfd < 0)
		return 2;
	while (!over(pid) && !begun(pid, argv[2]))
		;
	while (!over(pid) && (!most || tries < most)) {
		bool stopped = stopping(&gate) && !kill(pid, SIGSTOP);

		/* A process of another user just continues. */
		while (stopped && state(pid) != 'T' && !over(pid))
			;
		stops += stopped;
		tries++;
		try_all(pid, pidfd, won);
		if (stopped) {
			kill(pid, SIGCONT);
			spin(ns + tries * 131 % 1024);
		}
	}
	printf("{\"tries\": %ld, \"stops\": %ld", tries, stops);
	for (int i = 0; i < WAYS; i++)
		printf(", \"%s\": %ld", names[i], won[i]);
	printf("}\n");
	return 0;
}
