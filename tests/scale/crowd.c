/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * crowd sleep COUNT: COUNT processes that sleep until the first one is killed.
 * crowd storm COUNT RATE FILE: COUNT children, RATE a second, each of which reads the first page of
 * FILE; prints the seconds that it took.
 * Both first wait for the end of standard input, so that the caller can choose the cgroup.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096 };

static void __attribute__((noreturn)) fail(const char *what)
{
	perror(what);
	exit(1);
}

static void sleep_all(int count)
{
	for (int i = 1; i < count; i++) {
		pid_t pid = fork();

		if (pid < 0)
			fail("fork");
		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			pause();
		}
	}
	puts("there");
	fflush(stdout);
	pause();
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void read_page(const char *file)
{
	char buf[PAGE];
	int fd = open(file, O_RDONLY);

	_exit(fd < 0 || pread(fd, buf, PAGE, 0) != PAGE);
}

static void storm(int count, double rate, const char *file)
{
	double start = now_s();
	int status, left = 0;

	for (int i = 0; i < count; i++) {
		pid_t pid;

		while (now_s() < start + i / rate)
			usleep(100);
		pid = fork();
		if (pid < 0)
			fail("fork");
		if (!pid)
			read_page(file);
		for (left++; waitpid(-1, &status, WNOHANG) > 0; left--)
			if (status)
				fail(file);
	}
	for (; left; left--)
		if (wait(&status) < 0 || status)
			fail(file);
	printf("%.3f\n", now_s() - start);
}

int main(int argc, char **argv)
{
	char c;

	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	if (argc == 3 && !strcmp(argv[1], "sleep"))
		sleep_all(atoi(argv[2]));
	else if (argc == 5 && !strcmp(argv[1], "storm"))
		storm(atoi(argv[2]), atof(argv[3]), argv[4]);
	else
		return 2;
	return 0;
}
