/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * discover DIR...: a node's jobs, found by the kernel's records while they are made below DIR, the
 * uid_* of a slurmd in each hierarchy. Bursts of jobs that live for 5 ms, 2,000 births a second, a
 * ring that overflows, and a restart. The truth is what this program made, and the inodes of its
 * directories.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cachemon/base/clock.h"
#include "cachemon/capture/birth_ring.h"
#include "cachemon/daemon/discover.h"
#include "sampled.h"

enum { BURSTS = 10, BURST = 20, LIFE_NS = 5000000 };
enum { STORM = 6000, RATE = 2000, BATCH = 10, KEPT_EACH = 100 };
enum { LOST = 2500, JOBS = BURSTS * BURST + STORM + LOST + 1, DIRS_MAX = 4 };

/* A job by its number: made by a child process, found by the events. */
struct job {
	uint64_t made[DIRS_MAX]; /* inodes */
	uint64_t found[DIRS_MAX];
	int appeared, gone;
	bool lives;
};

static struct job *jobs; /* shared with the child */
static char *const *dirs;
static int nr_dirs;
static enum cgroup_kind kinds[DIRS_MAX];
static uint32_t base; /* the Slurm id of job 0 */

static struct probe_set *set;
static struct sampler *sampler;
static struct birth_ring *ring;
static struct discover *discover;
static struct node_config config;
static const struct discover_places places = {"/proc/self/mountinfo", "/proc/self/cgroup", ""};

static const char *path_of(int dir, int job, const char *below)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/job_%u%s", dirs[dir], base + (uint32_t)job, below);
	return path;
}

static void make(int job)
{
	struct stat st;

	for (int d = 0; d < nr_dirs; d++) {
		if (mkdir(path_of(d, job, ""), 0755) || stat(path_of(d, job, ""), &st))
			fail(path_of(d, job, ""));
		jobs[job].made[d] = st.st_ino;
	}
	jobs[job].lives = true;
}

static void unmake(int job)
{
	for (int d = 0; d < nr_dirs; d++)
		if (rmdir(path_of(d, job, "")))
			fail(path_of(d, job, ""));
	jobs[job].lives = false;
}

static void move(const char *procs, pid_t pid)
{
	int fd = open(procs, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || dprintf(fd, "%d", pid) < 0)
		fail(procs);
	close(fd);
}

/* Events. */

static struct job *job_of(const struct discover_job *j)
{
	unsigned long id = strtoul(j->id, NULL, 10);

	return j->kind == FIND_SLURM && id >= base && id < base + JOBS ? &jobs[id - base] : NULL;
}

static void take_cgroups(const struct discover_job *j, struct job *to)
{
	for (size_t c = 0; to && c < j->nr_cgroups; c++)
		for (int d = 0; d < nr_dirs; d++)
			if (kinds[d] == j->cgroups[c].kind)
				to->found[d] = j->cgroups[c].id;
}

static void appeared(void *arg, struct discover_job *j)
{
	struct job *to = job_of(j);

	(void)arg;
	if (to)
		to->appeared++;
	take_cgroups(j, to);
}

static void changed(void *arg, struct discover_job *j)
{
	(void)arg;
	take_cgroups(j, job_of(j));
}

static void gone(void *arg, struct discover_job *j)
{
	struct job *to = job_of(j);

	(void)arg;
	if (to)
		to->gone++;
}

static const struct discover_events events = {appeared, changed, gone};

/* The loop of a daemon, reduced to this. */

static void settle(uint64_t now_ns)
{
	uint64_t due_ns;

	if (birth_ring_consume(ring) ||
	    discover_settle(discover, birth_ring_dropped(ring), now_ns, &due_ns))
		fail("discovery failed");
}

static void start(void)
{
	unsigned int hierarchies = 0;
	static const char settings[] = "jobs:\n  kinds: [slurm]\n";
	struct errtext err;

	for (int d = 0; d < nr_dirs; d++)
		hierarchies |= 1u << kinds[d];
	if (node_config_parse("", settings, strlen(settings), &config, &err))
		fail(err.text);
	open_jobs(1, hierarchies, &set, &sampler);
	if (discover_new(&places, &config, &events, NULL, &discover) ||
	    birth_ring_new(set, discover_birth, discover, &ring))
		fail("no ring");
	settle(clock_now_ns());
}

static void stop(void)
{
	birth_ring_free(ring);
	discover_free(discover);
	node_config_free(&config);
	sampler_free(sampler);
	probe_set_free(set);
}

/* Runs act in a child process, and the loop until it ends. */
static void while_made(void (*act)(void))
{
	pid_t pid = fork();
	int status = 0;

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		act();
		_exit(0);
	}
	while (!waitpid(pid, &status, WNOHANG)) {
		struct pollfd fd = {.fd = birth_ring_fd(ring), .events = POLLIN};

		poll(&fd, 1, 10);
		settle(clock_now_ns());
	}
	if (status)
		fail("the child failed");
	settle(clock_now_ns());
}

static void bursts(void)
{
	const struct timespec life = {.tv_nsec = LIFE_NS};

	for (int burst = 0; burst < BURSTS; burst++) {
		int first = 1 + burst * BURST;

		for (int j = first; j < first + BURST; j++) {
			make(j);
			for (int d = 0; d < nr_dirs; d++) {
				if (mkdir(path_of(d, j, "/step_0"), 0755))
					fail("no step");
				move(path_of(d, j, "/step_0/cgroup.procs"), getpid());
			}
		}
		nanosleep(&life, NULL);
		for (int j = first; j < first + BURST; j++)
			for (int d = 0; d < nr_dirs; d++) {
				char procs[PATH_MAX];

				snprintf(procs, sizeof(procs), "%s/cgroup.procs", dirs[d]);
				move(procs, getpid());
				if (rmdir(path_of(d, j, "/step_0")))
					fail("a step stays");
			}
		for (int j = first; j < first + BURST; j++)
			unmake(j);
	}
}

static int storm_first(void)
{
	return 1 + BURSTS * BURST;
}

/* Births at this rate in all hierarchies together; a few live on. */
static void storm(void)
{
	uint64_t began_ns = clock_now_ns(), births = 0;
	int first = storm_first();

	for (int j = first; j < first + STORM / nr_dirs; j++) {
		make(j);
		if (j % KEPT_EACH)
			unmake(j);
		births += nr_dirs;
		if (births % BATCH == 0) {
			uint64_t at = began_ns + births * UINT64_C(1000000000) / RATE;
			struct timespec t = {.tv_sec = (time_t)(at / 1000000000),
					     .tv_nsec = (long)(at % 1000000000)};

			clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
		}
	}
}

static int lost_first(void)
{
	return storm_first() + STORM;
}

static void lost_births(void)
{
	int first = lost_first();

	for (int j = first; j < first + LOST; j++) {
		make(j);
		if (j % KEPT_EACH)
			unmake(j);
	}
	/* Jobs that live since the storm end too. */
	for (int j = storm_first(); j < first; j++)
		if (jobs[j].lives && j % (2 * KEPT_EACH))
			unmake(j);
}

/* Checks. */

static void expect_ids(const struct job *j)
{
	for (int d = 0; d < nr_dirs; d++)
		expect("id of a cgroup", (int64_t)j->found[d], (int64_t)j->made[d]);
}

static void expect_each(int first, int nr)
{
	for (int j = first; j < first + nr; j++) {
		expect("appeared", jobs[j].appeared, 1);
		expect("gone", jobs[j].gone, !jobs[j].lives);
		expect_ids(&jobs[j]);
	}
}

/* The jobs that are there, whatever was lost. */
static int expect_living(void)
{
	int living = 0;

	for (int j = 0; j < JOBS; j++) {
		expect("living", jobs[j].appeared - jobs[j].gone, jobs[j].lives);
		if (!jobs[j].lives)
			continue;
		living++;
		expect_ids(&jobs[j]);
	}
	return living;
}

static void check_storm(void)
{
	uint64_t began_ns = clock_now_ns();
	double took_s;

	while_made(storm);
	took_s = (double)(clock_now_ns() - began_ns) / 1e9;
	if (!birth_ring_dropped(ring))
		expect_each(storm_first(), STORM / nr_dirs);
	settle(UINT64_MAX / 2);
	expect_living();
	printf(", %d births in %.1f s with %ld records dropped", STORM, took_s,
	       (long)birth_ring_dropped(ring));
}

static void check_loss(void)
{
	uint64_t before = birth_ring_dropped(ring), walks = discover_walks(discover);

	lost_births();
	if (birth_ring_dropped(ring) == before)
		fail("a full ring lost nothing");
	settle(UINT64_MAX - 1);
	expect("walks", (int64_t)(discover_walks(discover) - walks), 1);
	printf(", %ld dropped without a reader: %d jobs live, as found by a walk",
	       (long)(birth_ring_dropped(ring) - before), expect_living());
}

static void find_kinds(void)
{
	struct mountinfo mi;
	struct cgroup_ref ref;
	struct errtext err;

	if (mountinfo_read("/proc/self/mountinfo", &mi))
		fail("no mounts");
	for (int d = 0; d < nr_dirs; d++) {
		if (cgroup_open(&mi, dirs[d], &ref, &err))
			fail(err.text);
		kinds[d] = ref.kind;
		cgroup_close(&ref);
	}
	mountinfo_free(&mi);
}

int main(int argc, char **argv)
{
	dirs = argv + 1;
	nr_dirs = argc - 1;
	if (nr_dirs < 1 || nr_dirs > DIRS_MAX)
		fail("usage: discover DIR...");
	base = 1000000000 + (uint32_t)getpid() % 100000 * 10000;
	jobs = mmap(NULL, JOBS * sizeof(*jobs), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		    -1, 0);
	if (jobs == MAP_FAILED)
		fail("no memory");
	find_kinds();
	make(0);
	start();
	expect("at the start", jobs[0].appeared, 1);
	expect_ids(&jobs[0]);
	while_made(bursts);
	expect("dropped", (int64_t)birth_ring_dropped(ring), 0);
	expect_each(1, BURSTS * BURST);
	expect("walks", (int64_t)discover_walks(discover), 1);
	printf("%d jobs of 5 ms", BURSTS * BURST);
	check_storm();
	check_loss();
	stop();
	for (int j = 0; j < JOBS; j++)
		jobs[j].appeared = jobs[j].gone = 0;
	start();
	printf(", %d after a restart\n", expect_living());
	for (int j = 0; j < JOBS; j++)
		if (jobs[j].lives)
			unmake(j);
	settle(clock_now_ns());
	for (int j = 0; j < JOBS; j++)
		expect("gone at the end", jobs[j].gone, jobs[j].appeared);
	stop();
	return 0;
}
