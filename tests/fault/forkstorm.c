/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * forkstorm fork|vfork|double|exec|thread LOOPS COUNT FILE OUT: LOOPS parallel processes create
 * COUNT children each as fast as possible. Each child reads the first page of FILE and ends. OUT
 * gets the number of processes (thread groups, including the first one), of read calls, and the
 * time taken. double: the child creates a grandchild that reads after its parent has ended exec:
 * the child executes this program again, which reads thread: a thread reads in place of a child
 * process
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096 };

static const char *file;

static void __attribute__((noreturn)) fail(const char *what)
{
	perror(what);
	_exit(99);
}

static void read_page(void)
{
	char buf[PAGE];
	int fd = open(file, O_RDONLY);

	if (fd < 0 || pread(fd, buf, PAGE, 0) != PAGE)
		fail(file);
	close(fd);
}

static void *read_in_thread(void *unused)
{
	read_page();
	return unused;
}

static void __attribute__((noreturn)) grandchild(pid_t parent)
{
	while (getppid() == parent)
		sched_yield();
	read_page();
	_exit(0);
}

static void __attribute__((noreturn)) child(const char *kind)
{
	pid_t pid, self = getpid();
	pthread_t thread;

	if (!strcmp(kind, "exec")) {
		execl("/proc/self/exe", "forkstorm", "read", file, NULL);
		fail("exec");
	} else if (!strcmp(kind, "double")) {
		pid = fork();
		if (pid < 0)
			fail("fork");
		if (pid == 0)
			grandchild(self);
	} else if (!strcmp(kind, "thread")) {
		if (pthread_create(&thread, NULL, read_in_thread, NULL) ||
		    pthread_join(thread, NULL))
			fail("thread");
	} else {
		read_page();
	}
	_exit(0);
}

static __attribute__((noinline)) pid_t vfork_reader(void)
{
	/* NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.vfork): it is what is tested */
	pid_t pid = vfork();

	if (pid == 0) {
		execl("/proc/self/exe", "forkstorm", "read", file, NULL);
		_exit(99);
	}
	return pid;
}

static void wait_all(void)
{
	int status;

	while (wait(&status) > 0)
		if (status)
			_exit(99);
	if (errno != ECHILD)
		fail("wait");
}

static void storm(const char *kind, long count)
{
	int status;
	pid_t pid;

	for (long i = 0; i < count; i++) {
		pid = strcmp(kind, "vfork") ? fork() : vfork_reader();
		if (pid == 0)
			child(kind);
		if (pid < 0)
			fail("fork");
		if (waitpid(pid, &status, 0) != pid || status)
			fail("a child");
	}
	wait_all();
}

int main(int argc, char **argv)
{
	struct timespec begin, end;
	long loops, count, made;
	FILE *out;

	if (argc == 3 && !strcmp(argv[1], "read")) {
		file = argv[2];
		read_page();
		return 0;
	}
	if (argc != 6) {
		fprintf(stderr, "usage: forkstorm KIND LOOPS COUNT FILE OUT\n");
		return 99;
	}
	loops = atol(argv[2]);
	count = atol(argv[3]);
	file = argv[4];
	/* Orphans come here and are waited for too. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (long i = 0; i < loops; i++) {
		pid_t pid = fork();

		if (pid < 0)
			fail("fork");
		if (pid == 0) {
			storm(argv[1], count);
			_exit(0);
		}
	}
	wait_all();
	clock_gettime(CLOCK_MONOTONIC, &end);
	made = 1 + loops + loops * count * (strcmp(argv[1], "double") ? 1 : 2);
	out = fopen(argv[5], "w");
	if (!out)
		fail(argv[5]);
	fprintf(out, "{\"processes\": %ld, \"reads\": %ld, \"seconds\": %.3f}\n", made,
		loops * count, end.tv_sec - begin.tv_sec + (end.tv_nsec - begin.tv_nsec) / 1e9);
	return fclose(out) ? 99 : 0;
}
