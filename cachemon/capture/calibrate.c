/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/calibrate.h"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cachemon.skel.h"
#include "util/cleanup.h"

#define FILE_BYTES (1 << 20)
#define PAIRS	   3
#define READS	   2500
#define READ_BYTES 4096
#define SYSCALLS   20000

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int scratch_file(const char *dir)
{
	static char block[FILE_BYTES];
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0)
		return -1;
	if (write(fd, block, sizeof(block)) != (ssize_t)sizeof(block) || fdatasync(fd)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Cached reads of single pages: the hit path and nothing else. */
static double read_block(int fd)
{
	char buf[READ_BYTES];
	uint64_t start = cpu_ns();
	unsigned int at = 1;

	for (int i = 0; i < READS; i++) {
		at = at * 1103515245 + 12345;
		if (pread(fd, buf, sizeof(buf),
			  (at >> 8) % (FILE_BYTES / READ_BYTES) * READ_BYTES) < 0)
			return -1;
	}
	return (double)(cpu_ns() - start) / READS;
}

static double smallest(const double *v, int nr)
{
	double min = v[0];

	for (int i = 1; i < nr; i++)
		if (v[i] < min)
			min = v[i];
	return min;
}

/* The quietest block with the hook against the quietest without, taken in turns. */
static double calibrate_read(struct probe_set *set, int fd)
{
	struct cachemon_bpf *skel = probe_set_skeleton(set);
	double on[PAIRS], off[PAIRS];
	uint32_t used = skel->bss->read_on;

	read_block(fd);
	for (int i = 0; i < PAIRS; i++) {
		if (probe_set_reads(set, true))
			return -1;
		on[i] = read_block(fd);
		if (probe_set_reads(set, false))
			return -1;
		off[i] = read_block(fd);
		if (on[i] < 0 || off[i] < 0)
			return -1;
	}
	if (used)
		probe_set_reads(set, true);
	return smallest(on, PAIRS) - smallest(off, PAIRS);
}

/* The cheapest system call there is: what the hook adds to it, it adds to each. */
static double syscall_block(void)
{
	uint64_t start = cpu_ns();

	for (int i = 0; i < SYSCALLS; i++)
		syscall(SYS_getppid);
	return (double)(cpu_ns() - start) / SYSCALLS;
}

static double calibrate_advice_calls(struct probe_set *set)
{
	double on[PAIRS], off[PAIRS];

	for (int i = 0; i < PAIRS; i++) {
		if (probe_set_advice_calls(set, false))
			return -1;
		off[i] = syscall_block();
		if (probe_set_advice_calls(set, true))
			return -1;
		on[i] = syscall_block();
	}
	return smallest(on, PAIRS) - smallest(off, PAIRS);
}

/* A bit of everything, so that every program runs. */
static void exercise(int fd)
{
	char buf[READ_BYTES];
	char *map;

	for (int round = 0; round < 2; round++) {
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		for (off_t at = 0; at < FILE_BYTES; at += READ_BYTES)
			if (pread(fd, buf, sizeof(buf), at) < 0)
				return;
	}
	map = mmap(NULL, FILE_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	if (map != MAP_FAILED) {
		for (off_t at = 0; at < FILE_BYTES; at += READ_BYTES)
			(void)*(volatile char *)(map + at);
		munmap(map, FILE_BYTES);
	}
	for (int i = 0; i < 4; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(0);
		if (pid > 0)
			waitpid(pid, NULL, 0);
	}
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

static double run_ns(struct probe_set *set, enum probe_role role)
{
	uint64_t ns, runs;

	if (probe_set_run_stats(set, role, &ns, &runs) || !runs)
		return -1;
	return (double)ns / (double)runs;
}

/* Reads seen by the per-read hook so far, of anybody. */
static uint64_t reads_seen(struct probe_set *set)
{
	int fd = bpf_map__fd(probe_set_skeleton(set)->maps.lives);
	unsigned int cpus = probe_set_cpus(set);
	struct live *lives = calloc(cpus, sizeof(*lives));
	uint32_t zero = 0;
	uint64_t sum = 0;

	if (lives && !bpf_map_lookup_elem(fd, &zero, lives))
		for (unsigned int cpu = 0; cpu < cpus; cpu++)
			for (int job = 0; job < JOB_NR; job++)
				sum += lives[cpu].runs[job][EV_READ];
	free(lives);
	return sum;
}

/* A scratch file in dir whose reads go through the page cache's hooks; tmpfs has none. */
static int watched_file(struct probe_set *set, const char *dir)
{
	bool on = probe_set_reads_on(set);
	int fd = scratch_file(dir);
	uint64_t before;

	/* Level cold has no per-read hook to ask. */
	if (fd < 0 || probe_set_reads(set, true))
		return fd;
	before = reads_seen(set);
	read_block(fd);
	if (reads_seen(set) - before < READS) {
		close(fd);
		fd = -1;
	}
	probe_set_reads(set, on);
	return fd;
}

void calibrate(struct probe_set *set, const char *dir, struct calibration *ret)
{
	static const struct {
		enum event ev;
		enum probe_role role;
	} events[] = {
		{EV_ADD, ROLE_PAGE_ADD},       {EV_DELETE, ROLE_PAGE_DELETE},
		{EV_WINDOW, ROLE_WINDOW_SYNC}, {EV_FAULT, ROLE_FAULT},
		{EV_MAP, ROLE_MAP_PAGES},      {EV_SWITCH, ROLE_SWITCH},
		{EV_FORK_EXIT, ROLE_FORK},
	};
	bool on = probe_set_reads_on(set);
	double around = 0, ns;
	int fd, stats;

	for (int ev = 0; ev < EV_NR; ev++)
		ret->ns[ev] = -1;
	ret->ns[EV_ADVICE_CALL] = calibrate_advice_calls(set);
	fd = watched_file(set, dir);
	if (fd < 0)
		fd = watched_file(set, "/var/tmp");
	if (fd < 0)
		return;
	ret->ns[EV_READ] = calibrate_read(set, fd);
	probe_set_reads(set, true);
	stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (stats >= 0) {
		exercise(fd);
		close(stats);
		/* The statistics time the body and their own clock; the call around it shows only
		 * from outside. Both are the same for every program, so the per-read hook, which
		 * is measured both ways, gives the difference. Without it (level cold) the
		 * others keep the clock's share: a little too dear. */
		ns = run_ns(set, ROLE_READ);
		if (ret->ns[EV_READ] >= 0 && ns >= 0)
			around = ret->ns[EV_READ] - ns;
		for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
			ns = run_ns(set, events[i].role);
			if (ns >= 0)
				ret->ns[events[i].ev] = ns + around > 0 ? ns + around : 0;
		}
	}
	probe_set_reads(set, on);
	close(fd);
}
