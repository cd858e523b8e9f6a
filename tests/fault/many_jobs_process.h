/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The process of a job of many_jobs.c: the orders that it obeys, what it says it did, and what the
 * kernel says of it. Knows nothing of the programs that count.
 */
#ifndef MANY_JOBS_PROCESS_H
#define MANY_JOBS_PROCESS_H

#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sampled.h"

enum { FILES = 2, PAGES = 1024, PAGE = 4096 };

/* Steps of a job, with a range of a file. */
enum act {
	READ,
	READ_RANDOM,
	READ_EACH,
	READ_IN_CHILD,
	READ_MIXED,
	PREFETCH,
	DROP,
	SPIN,
	SEND,
	STOP
};

struct order {
	enum act act;
	int file, first, pages;
	unsigned int seed;
};

/* Calls, counted by their process; and the fates of pages, by the model. */
struct figures {
	long read_calls, read_bytes, lookups;
	long misses, ahead, used, left, unused, not_added, refaults;
	long rchar, processes, alive;
};

static const char *file_name(int file)
{
	static char name[16];

	snprintf(name, sizeof(name), "shared%d", file);
	return name;
}

static void call(int fd, int first, int pages, struct figures *did)
{
	static char buf[PAGES * PAGE];
	ssize_t n = pread(fd, buf, (size_t)pages * PAGE, (off_t)first * PAGE);

	if (n != (ssize_t)pages * PAGE)
		_exit(3);
	did->read_calls++;
	did->read_bytes += n;
	did->lookups += pages;
}

static void mixed(const int *fds, const int *random_fds, const struct order *o, struct figures *did)
{
	unsigned int seed = o->seed;

	for (int i = 0; i < o->pages; i++) {
		int f = rand_r(&seed) % FILES, first = rand_r(&seed) % (PAGES - 8);
		int pages = 1 + rand_r(&seed) % 8;

		if (rand_r(&seed) % 16 == 0)
			posix_fadvise(fds[f], (off_t)first * PAGE, 64 * PAGE, POSIX_FADV_DONTNEED);
		else if (rand_r(&seed) % 16 == 0)
			posix_fadvise(fds[f], (off_t)first * PAGE, 64 * PAGE, POSIX_FADV_WILLNEED);
		else
			call(rand_r(&seed) % 2 ? fds[f] : random_fds[f], first, pages, did);
	}
}

static void read_each(int fd, const struct order *o, struct figures *did)
{
	for (int i = 0; i < o->pages; i++)
		call(fd, o->first + i, 1, did);
}

static void read_in_child(int fd, const struct order *o, struct figures *did)
{
	int result[2], status;
	pid_t pid;

	if (pipe(result))
		_exit(4);
	pid = fork();
	if (!pid) {
		read_each(fd, o, did);
		_exit(write(result[1], did, sizeof(*did)) != sizeof(*did));
	}
	if (read(result[0], did, sizeof(*did)) != sizeof(*did) || waitpid(pid, &status, 0) != pid ||
	    status)
		_exit(5);
	close(result[0]);
	close(result[1]);
}

/* Computes, without an event that a program sees. */
static void spin(int ms)
{
	struct timespec t;

	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < ms);
}

/* The address of a socket that listens, or receives, on the loopback device. */
static socklen_t bound(int fd, int family, struct sockaddr_storage *ret)
{
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)ret;
	struct sockaddr_in *four = (struct sockaddr_in *)ret;
	socklen_t len = family == AF_INET ? sizeof(*four) : sizeof(*six);

	memset(ret, 0, sizeof(*ret));
	ret->ss_family = (sa_family_t)family;
	if (family == AF_INET)
		four->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else
		six->sin6_addr = in6addr_loopback;
	if (fd < 0 || bind(fd, (struct sockaddr *)ret, len) ||
	    getsockname(fd, (struct sockaddr *)ret, &len))
		_exit(6);
	return len;
}

/* Each byte is peeked at, which does not count, and received in parts. */
static void receive_all(int fd, int bytes)
{
	static char buf[1 << 16];

	if (recv(fd, buf, (size_t)bytes, MSG_PEEK) < 1)
		_exit(7);
	while (bytes > 0) {
		ssize_t n = recv(fd, buf, sizeof(buf), 0);

		if (n < 1)
			_exit(7);
		bytes -= (int)n;
	}
}

/* One kind of socket, from the process to itself. A part is sent from a file in memory. */
static void send_one(int family, int type, int bytes)
{
	static char data[1 << 16];
	int in = socket(family, type, 0), out = socket(family, type, 0), at = in;
	struct sockaddr_storage address;
	socklen_t len = bound(in, family, &address);
	int file = memfd_create("sent", MFD_CLOEXEC);
	off_t first = 0;

	if (file < 0 || ftruncate(file, PAGE))
		_exit(13);
	if (type == SOCK_STREAM && listen(in, 1))
		_exit(8);
	if (connect(out, (struct sockaddr *)&address, len))
		_exit(9);
	if (type == SOCK_STREAM)
		at = accept(in, NULL, NULL);
	if (send(out, data, (size_t)bytes, 0) != bytes)
		_exit(10);
	receive_all(at, bytes);
	if (type == SOCK_STREAM && sendfile(out, file, &first, PAGE) != PAGE)
		_exit(11);
	if (type == SOCK_STREAM)
		receive_all(at, PAGE);
	if (at != in)
		close(at);
	close(in);
	close(out);
	close(file);
}

/* bytes + kind over each kind of socket, and messages that are no network's. */
static void send_all(int bytes)
{
	char buf[100] = {0};
	int pair[2];

	for (int kind = 0; kind < NET_NR; kind++)
		send_one(kind == NET_TCP4 || kind == NET_UDP4 ? AF_INET : AF_INET6,
			 kind == NET_TCP4 || kind == NET_TCP6 ? SOCK_STREAM : SOCK_DGRAM,
			 bytes + kind);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) ||
	    send(pair[0], buf, sizeof(buf), 0) != sizeof(buf) ||
	    recv(pair[1], buf, sizeof(buf), 0) != sizeof(buf))
		_exit(12);
	close(pair[0]);
	close(pair[1]);
}

static void obey(const int *fds, const int *random_fds, const struct order *o, struct figures *did)
{
	off_t at = (off_t)o->first * PAGE, size = (off_t)o->pages * PAGE;

	if (o->act == READ || o->act == READ_RANDOM)
		call((o->act == READ ? fds : random_fds)[o->file], o->first, o->pages, did);
	else if (o->act == READ_EACH)
		read_each(random_fds[o->file], o, did);
	else if (o->act == READ_IN_CHILD)
		read_in_child(random_fds[o->file], o, did);
	else if (o->act == READ_MIXED)
		mixed(fds, random_fds, o, did);
	else if (o->act == SPIN)
		spin(o->pages);
	else if (o->act == SEND)
		send_all(o->pages);
	else if (o->act != STOP)
		posix_fadvise(fds[o->file], at, size,
			      o->act == DROP ? POSIX_FADV_DONTNEED : POSIX_FADV_WILLNEED);
}

static void __attribute__((noreturn)) work(int from, int to)
{
	int fds[FILES], random_fds[FILES];
	struct order o = {};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int f = 0; f < FILES; f++) {
		fds[f] = open(file_name(f), O_RDONLY | O_CLOEXEC);
		random_fds[f] = open(file_name(f), O_RDONLY | O_CLOEXEC);
		posix_fadvise(random_fds[f], 0, 0, POSIX_FADV_RANDOM);
	}
	while (o.act != STOP) {
		struct figures did = {};

		if (read(from, &o, sizeof(o)) != sizeof(o))
			_exit(1);
		obey(fds, random_fds, &o, &did);
		if (write(to, &did, sizeof(did)) != sizeof(did))
			_exit(2);
	}
	_exit(0);
}

/* Bytes that the process has read so far, its orders too. */
static long rchar_of(pid_t pid)
{
	char path[64];
	long rchar;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/io", pid);
	f = fopen(path, "r");
	if (!f || fscanf(f, "rchar: %ld", &rchar) != 1)
		fail(path);
	fclose(f);
	return rchar;
}

static char state_of(pid_t pid)
{
	char path[64], state = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%*d %*s %c", &state) != 1)
		fail(path);
	fclose(f);
	return state;
}

/* Until it waits for its next order, or has ended. */
static void wait_idle(pid_t pid)
{
	while (!strchr("SZ", state_of(pid)))
		sched_yield();
}

/* The kernel's own figure of a process that does not run. */
static long cpu_ns_of(pid_t pid)
{
	char path[64];
	long ns;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%ld", &ns) != 1)
		fail(path);
	fclose(f);
	return ns;
}

static long field_of(const char *path, const char *name)
{
	FILE *f = fopen(path, "r");
	char line[256];
	long ret = -1;

	while (f && ret < 0 && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, strlen(name)))
			ret = atol(line + strlen(name));
	if (!f || ret < 0)
		fail(path);
	fclose(f);
	return ret;
}

/* The kernel's own figures of a process that does not run. */
static struct activity activity_of(pid_t pid)
{
	char io[64], status[64], sched[64];
	long waited;
	FILE *f;

	snprintf(io, sizeof(io), "/proc/%d/io", pid);
	snprintf(status, sizeof(status), "/proc/%d/status", pid);
	snprintf(sched, sizeof(sched), "/proc/%d/schedstat", pid);
	f = fopen(sched, "r");
	if (!f || fscanf(f, "%*d %ld", &waited) != 1)
		fail(sched);
	fclose(f);
	return (struct activity){
		.wchar_bytes = (__u64)field_of(io, "wchar:"),
		.runqueue_ns = (__u64)waited,
		.switches_voluntary = (__u64)field_of(status, "voluntary_ctxt_switches:"),
		.switches_forced = (__u64)field_of(status, "nonvoluntary_ctxt_switches:"),
	};
}

#endif
