/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * births CGROUP: the records of cgroups that live for 5 ms, with a process that moves
 * into each, and of more than the ring has room for. The truth is what this program did, and the
 * inodes of the directories that it made.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cachemon/access/mountinfo.h"
#include "cachemon/base/clock.h"
#include "cachemon/capture/birth_ring.h"
#include "sampled.h"

enum { CGROUPS = 200, BURST = 20, LIFE_NS = 5000000 };
enum { STORM = 2 * BIRTH_RING_BYTES / sizeof(struct birth) };

static struct made {
	uint64_t id;
	int events[3]; /* how often each came */
	bool in_order;
} made[CGROUPS];

static const char *top;
static struct cgroup_ref parent;
static uint32_t hierarchy;
static long received, strange;

static const char *dir_of(int i)
{
	static char dir[PATH_MAX];

	snprintf(dir, sizeof(dir), "%s/job_%d", top, i);
	return dir;
}

static void receive(void *arg, const struct birth *b)
{
	size_t len = strlen(parent.path);
	int i = -1;

	(void)arg;
	if (b->hierarchy != hierarchy || strncmp(b->path, parent.path, len) != 0 ||
	    sscanf(b->path + len, "/job_%d", &i) != 1)
		return;
	received++;
	if (i >= CGROUPS)
		return;
	if (b->id != made[i].id || b->level != parent.level + 1 || b->event > BIRTH_ENTERED) {
		strange++;
		return;
	}
	made[i].events[b->event]++;
	if (b->event == BIRTH_REMOVED)
		made[i].in_order = made[i].events[BIRTH_MADE] && made[i].events[BIRTH_ENTERED];
}

/* The kernel's number of the hierarchy, by the line of this process for one of its controllers. */
static uint32_t hierarchy_of(enum cgroup_kind kind)
{
	static const char *const names[] = {NULL, "memory", "freezer", "cpuset", "cpuacct", "pids"};
	FILE *f = fopen("/proc/self/cgroup", "re");
	char line[PATH_MAX], controllers[256];
	int number = 0;
	bool found = kind == CGROUP_V2;

	while (f && !found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%d:%255[^:]:", &number, controllers) == 2 &&
			mountinfo_has_option(controllers, names[kind]);
	if (!found)
		fail("the hierarchy is not in /proc/self/cgroup");
	if (f)
		fclose(f);
	return (uint32_t)number;
}

static void move(const char *dir, pid_t pid)
{
	char path[PATH_MAX + 16];
	int fd;

	snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || dprintf(fd, "%d", pid) < 0)
		fail(path);
	close(fd);
}

static void live_and_die(pid_t pid)
{
	const struct timespec life = {.tv_nsec = LIFE_NS};
	struct stat st;

	for (int first = 0; first < CGROUPS; first += BURST) {
		for (int i = first; i < first + BURST; i++) {
			if (mkdir(dir_of(i), 0755) || stat(dir_of(i), &st))
				fail(dir_of(i));
			made[i].id = st.st_ino;
			move(dir_of(i), pid);
		}
		move(top, pid);
		nanosleep(&life, NULL);
		for (int i = first; i < first + BURST; i++)
			if (rmdir(dir_of(i)))
				fail(dir_of(i));
	}
}

/* Nobody reads the ring meanwhile. */
static void storm(const struct birth_ring *ring)
{
	uint64_t began_ns = clock_now_ns(), before = birth_ring_dropped(ring);

	for (int i = CGROUPS; i < CGROUPS + STORM; i++)
		if (mkdir(dir_of(i), 0755) || rmdir(dir_of(i)))
			fail(dir_of(i));
	printf(", %d births in %.2f s without a reader: %ld records dropped", STORM,
	       (double)(clock_now_ns() - began_ns) / 1e9,
	       (long)(birth_ring_dropped(ring) - before));
}

int main(int argc, char **argv)
{
	struct mountinfo mi;
	struct probe_set *set;
	struct sampler *sampler;
	struct birth_ring *ring;
	struct errtext err;
	uint64_t dropped;
	pid_t pid;

	if (argc != 2)
		fail("usage: births CGROUP");
	top = argv[1];
	if (mountinfo_read("/proc/self/mountinfo", &mi) || cgroup_open(&mi, top, &parent, &err))
		fail("no cgroup");
	hierarchy = hierarchy_of(parent.kind);
	open_jobs(1, 1u << parent.kind, &set, &sampler);
	if (birth_ring_new(set, receive, NULL, &ring))
		fail("no ring");
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	live_and_die(pid);
	expect("consumed", birth_ring_consume(ring), 0);
	for (int i = 0; i < CGROUPS; i++) {
		expect("births", made[i].events[BIRTH_MADE], 1);
		expect("entries", made[i].events[BIRTH_ENTERED], 1);
		expect("removals", made[i].events[BIRTH_REMOVED], 1);
		expect("in order", made[i].in_order, true);
	}
	expect("records with a wrong id or level", strange, 0);
	expect("dropped", (int64_t)birth_ring_dropped(ring), 0);
	printf("%d cgroups", CGROUPS);
	received = 0;
	storm(ring);
	dropped = birth_ring_dropped(ring);
	expect("consumed", birth_ring_consume(ring), 0);
	if (!dropped)
		fail("a full ring lost nothing");
	/* Others may make cgroups too. */
	if (received + (long)dropped < 2 * STORM)
		fail("records were lost without being counted");
	kill(pid, SIGKILL);
	birth_ring_free(ring);
	sampler_free(sampler);
	probe_set_free(set);
	cgroup_close(&parent);
	mountinfo_free(&mi);
	puts("");
	return 0;
}
