/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * many_jobs DIR CGROUP...: processes in several cgroups, each a job, share files, and one set of
 * programs counts them all. Jobs take the directories CGROUP in turns. The figures of each job are
 * compared with a model that only knows what cachestat(2) showed before and after each step, and
 * with what each process did itself. (mincore(2) leaves out pages that are still being read.)
 */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

#include "cachemon/access/mountinfo.h"
#include "cachemon/capture/grace.h"
#include "cachemon/capture/sampler_slots.h"
#include "many_jobs_process.h"
#include "sampled.h"

enum { JOBS = 9, JOBS_AT_ONCE = 12 };
enum { FEW = 300, MANY = 4000 }; /* random calls */
enum { DIR_MAX = 256, CROWD = 100, SPIN_MS = 400 };
enum { DISTURBED = 75 }; /* the exit status; another attempt may succeed */

/* When the process of a job is in its cgroup: after the job begins, or before, and then the
 * iterator adds it or not: it may end before. */
enum enters { AFTER, BEFORE, UNFOUND };

struct job {
	bool lives;
	pid_t pid;
	int to, from; /* pipes of its process */
	uint32_t slot;
	struct cgroup_ref cgroup;
	int in;	     /* the job whose cgroup its process is in */
	int counted; /* the last job that it was in */
	long rchar;  /* of its process, when that entered the cgroup */
	long cpu_ns; /* as the program counted */
	struct activity activity;
	struct net_row net[NET_NR];
	struct figures want, got;
	long open, all_added; /* as the program counted */
};

/* The model. Owners are numbers of jobs, from 1. */
struct page {
	bool cached, open;
	int owner;	  /* of a cached page; 0: none */
	bool ghost[JOBS]; /* it left, and the job would bring it back */
};

static struct page model[FILES][PAGES];
static int user[FILES]; /* the job that used it last */
static struct job jobs[JOBS];
static int files[FILES];
static struct probe_set *set;
static struct sampler *sampler;
static const char *const *cgroups;
static int nr_cgroups, nr_made;
static struct loss_counts lost;
static long disturbed;	/* evictions that no step caused: the model does not see them all */
static int64_t skipped; /* runs of programs: the kernel may switch tasks inside one */

static void make_files(void)
{
	static char page[PAGE];

	for (int f = 0; f < FILES; f++) {
		files[f] = open(file_name(f), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
		for (int i = 0; i < PAGES; i++)
			if (write(files[f], page, PAGE) != PAGE)
				fail("cannot write");
		fsync(files[f]);
	}
}

static void look(int file, bool ret[PAGES])
{
	for (uint64_t i = 0; i < PAGES; i++) {
		uint64_t range[2] = {i * PAGE, PAGE}, counts[5];

		if (syscall(SYS_cachestat, files[file], range, counts, 0))
			fail("cachestat");
		ret[i] = counts[0];
	}
}

/* Jobs, numbered from 1. */

static void write_pid(const char *dir, pid_t pid)
{
	char path[512], text[16];
	int fd, n = snprintf(text, sizeof(text), "%d", pid);

	snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, (size_t)n) != n)
		fail(path);
	close(fd);
}

/* The process of one job enters the cgroup of another; 0: of no job. */
static void move(int number, int to)
{
	struct job *j = &jobs[number - 1];
	long rchar = rchar_of(j->pid);
	char dir[256], *slash;

	if (j->in) {
		jobs[j->in - 1].want.rchar += rchar - j->rchar;
		jobs[j->in - 1].want.alive--;
	}
	if (to) {
		jobs[to - 1].want.processes += j->counted != to;
		j->counted = to;
		jobs[to - 1].want.alive++;
	}
	j->in = to;
	j->rchar = rchar;
	snprintf(dir, sizeof(dir), "%s", jobs[(to ?: number) - 1].cgroup.dir);
	slash = strrchr(dir, '/');
	if (!to && slash)
		*slash = 0;
	write_pid(dir, j->pid);
}

/* above: the job whose cgroup contains that of the new one; 0: none. */
static void make_cgroup(struct job *j, int above, char dir[DIR_MAX])
{
	struct mountinfo mounts;
	struct errtext err;

	snprintf(dir, DIR_MAX, "%s/many%d.%d",
		 above ? jobs[above - 1].cgroup.dir : cgroups[nr_made % nr_cgroups], getpid(),
		 nr_made);
	nr_made++;
	if (mkdir(dir, 0755) || mountinfo_read("/proc/self/mountinfo", &mounts) ||
	    cgroup_open(&mounts, dir, &j->cgroup, &err))
		fail(dir);
	mountinfo_free(&mounts);
}

static void begin_below(int number, enum enters enters, int above)
{
	struct job *j = &jobs[number - 1];
	int to[2], from[2];
	struct errtext err;
	char dir[DIR_MAX];

	*j = (struct job){.lives = true,
			  .in = number,
			  .counted = number,
			  .want = {.processes = 1, .alive = 1}};
	make_cgroup(j, above, dir);
	if (pipe(to) || pipe(from))
		fail("no pipe");
	j->pid = fork();
	if (!j->pid)
		work(to[0], from[1]);
	close(to[0]);
	close(from[1]);
	j->to = to[1];
	j->from = from[0];
	wait_idle(j->pid);
	if (enters != AFTER) {
		write_pid(dir, j->pid);
		if (above) {
			jobs[above - 1].want.processes++;
			jobs[above - 1].want.alive += enters == UNFOUND;
		}
	}
	if (sampler_slots_begin(sampler, &j->cgroup, 1, enters == BEFORE, &j->slot, &err))
		fail(err.text);
	if (enters == AFTER)
		write_pid(dir, j->pid);
	j->rchar = rchar_of(j->pid);
}

static void begin(int number, enum enters enters)
{
	begin_below(number, enters, 0);
}

/* A call counts when its task goes on. */
static struct figures answer(int number)
{
	struct figures did;

	if (read(jobs[number - 1].from, &did, sizeof(did)) != sizeof(did))
		fail("a job's process failed");
	wait_idle(jobs[number - 1].pid);
	return did;
}

static bool has_answered(int number)
{
	struct pollfd from = {.fd = jobs[number - 1].from, .events = POLLIN};

	return poll(&from, 1, 0) != 0;
}

static void order(int number, const struct order *o)
{
	if (write(jobs[number - 1].to, o, sizeof(*o)) != sizeof(*o))
		fail("a job's process is gone");
}

static void add_did(int number, const struct figures *did)
{
	struct figures *want = &jobs[number - 1].want;

	want->read_calls += did->read_calls;
	want->read_bytes += did->read_bytes;
	want->lookups += did->lookups;
}

/* The model of one step, from what is cached now. */

static void page_came(int file, int at, int number, bool asked)
{
	struct page *p = &model[file][at];
	struct figures *want;

	p->owner = number;
	p->open = number && !asked;
	p->cached = true;
	if (!number)
		return;
	want = &jobs[number - 1].want;
	want->misses += asked;
	want->ahead += !asked;
	want->refaults += p->ghost[number - 1];
	p->ghost[number - 1] = false;
}

static void page_was_used(int file, int at)
{
	struct page *p = &model[file][at];

	if (p->open && p->owner)
		jobs[p->owner - 1].want.used++;
	p->open = false;
}

static void page_left(int file, int at, int by)
{
	struct page *p = &model[file][at];
	int whose = p->owner ?: by;

	p->cached = false;
	if (!whose)
		return;
	jobs[whose - 1].want.left++;
	jobs[whose - 1].want.not_added += !p->owner;
	jobs[whose - 1].want.unused += p->owner && p->open;
	p->ghost[whose - 1] = true;
	p->owner = 0;
	p->open = false;
}

static int last_user(int file)
{
	return user[file] && jobs[user[file] - 1].lives ? user[file] : 0;
}

static void step(int number, enum act act, int file, int first, int pages)
{
	const struct order o = {act, file, first, pages, 0};
	bool after[PAGES];
	struct figures did;

	order(number, &o);
	did = answer(number);
	number = jobs[number - 1].in;
	if (number)
		add_did(number, &did);
	look(file, after);
	if (number)
		jobs[number - 1].want.processes += act == READ_IN_CHILD;
	if (number && act < READ_MIXED)
		user[file] = number;
	for (int i = 0; i < PAGES; i++) {
		bool asked = act != PREFETCH && i >= first && i < first + pages;

		if (after[i] && !model[file][i].cached)
			page_came(file, i, number, asked);
		else if (after[i] && asked && act != DROP)
			page_was_used(file, i);
		else if (!after[i] && model[file][i].cached)
			page_left(file, i, act == DROP && number ? number : last_user(file));
	}
}

/* A process that belongs to no job. */
static void drop_outside(int file)
{
	bool after[PAGES];

	posix_fadvise(files[file], 0, 0, POSIX_FADV_DONTNEED);
	look(file, after);
	for (int i = 0; i < PAGES; i++)
		if (!after[i] && model[file][i].cached)
			page_left(file, i, last_user(file));
}

/* The program's counts. */

static void add_got(struct job *j, const int64_t *c)
{
	j->got.read_calls += c[C_read_calls];
	j->got.read_bytes += c[C_read_bytes];
	j->got.lookups += c[C_lookups];
	j->got.misses += c[C_misses];
	for (int i = C_prefetched_sync; i <= C_prefetched_mmap_around; i++)
		j->got.ahead += c[i];
	j->got.used += c[C_used] + c[C_used_late];
	j->got.unused += c[C_evicted_unused];
	j->got.not_added += c[C_evicted_not_added];
	j->got.refaults += c[C_refaults];
	j->open += c[C_resident_unused];
	j->all_added += c[C_demand_pages];
	for (int i = C_prefetched_sync; i <= C_prefetched_mmap_around; i++)
		j->all_added += c[i];
	for (int i = C_evicted_first; i <= C_evicted_last; i++) {
		j->got.left += c[i];
		disturbed += i == C_evicted_dontneed ? 0 : c[i];
	}
}

static struct job *job_in_slot(uint32_t slot)
{
	for (int i = 0; i < JOBS; i++)
		if (jobs[i].lives && jobs[i].slot == slot)
			return &jobs[i];
	fail("a sample of a slot that has no job");
}

static int64_t take_slots(bool last)
{
	const struct slot_sample *samples;
	int64_t error = 0;
	struct errtext err;
	size_t nr;

	if (sampler_slots_take(sampler, last, &samples, &nr, &err))
		fail(err.text);
	for (size_t i = 0; i < nr; i++) {
		const struct sample *s = &samples[i].sample;
		struct job *j = job_in_slot(samples[i].slot);

		add_got(j, s->rest[JOB_WATCHED]);
		j->cpu_ns = (long)s->jobs[JOB_WATCHED].cpu_ns;
		j->activity = s->jobs[JOB_WATCHED].activity;
		memcpy(j->net, s->jobs[JOB_WATCHED].net, sizeof(j->net));
		j->got.rchar = (long)s->jobs[JOB_WATCHED].rchar_bytes;
		j->got.processes = (long)s->jobs[JOB_WATCHED].processes;
		j->got.alive = (long)s->jobs[JOB_WATCHED].alive;
		for (size_t f = 0; f < s->nr_files; f++)
			add_got(j, s->files[f].c);
		error = s->unsettled_error_pages;
		lost = s->losses;
		skipped = s->recursion_misses;
	}
	return error;
}

/* If the kernel skipped runs of programs, a difference does not show an error. */
static void expect_count(const char *what, long got, long want)
{
	if (got != want && skipped) {
		fprintf(stderr, "%s: %ld, not %ld, after %lld skipped runs of programs\n", what,
			got, want, (long long)skipped);
		exit(DISTURBED);
	}
	expect(what, got, want);
}

static void expect_job(const char *what, int number)
{
	const struct figures *want = &jobs[number - 1].want, *got = &jobs[number - 1].got;
	static const char *const names[] = {"read calls",
					    "read bytes",
					    "lookups",
					    "misses",
					    "prefetched",
					    "used",
					    "left",
					    "unused",
					    "not added",
					    "refaults",
					    "bytes read from anything",
					    "processes",
					    "living processes"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char text[128];

		snprintf(text, sizeof(text), "%s, job %d: %s", what, number, names[i]);
		expect_count(text, ((const long *)got)[i], ((const long *)want)[i]);
	}
	/* The conservation law. */
	expect_count(what, jobs[number - 1].open, got->ahead - got->used - got->unused);
}

static void expect_all(const char *what)
{
	for (int i = 0; i < JOBS; i++) {
		struct job *j = &jobs[i];
		long now = j->lives && j->pid ? rchar_of(j->pid) : j->rchar;

		if (!j->lives)
			continue;
		if (j->in)
			jobs[j->in - 1].want.rchar += now - j->rchar;
		j->rchar = now;
	}
	take_slots(false);
	if (disturbed) {
		fprintf(stderr, "the kernel evicted %ld pages meanwhile\n", disturbed);
		exit(DISTURBED);
	}
	for (int i = 1; i <= JOBS; i++)
		if (jobs[i - 1].lives)
			expect_job(what, i);
}

/* The process of a job ends. */
static void stop(int number)
{
	struct job *j = &jobs[number - 1];
	const struct order o = {.act = STOP};
	int status;

	order(number, &o);
	answer(number);
	/* Its last order is the last thing that it reads. */
	if (j->in) {
		jobs[j->in - 1].want.rchar += rchar_of(j->pid) - j->rchar;
		jobs[j->in - 1].want.alive--;
	}
	if (waitpid(j->pid, &status, 0) != j->pid || status)
		fail("a job's process failed");
	j->pid = 0;
	close(j->to);
	close(j->from);
}

static void forget_model(int number)
{
	struct job *j = &jobs[number - 1];

	j->lives = false;
	if (j->in == number)
		j->in = 0;
	for (int f = 0; f < FILES; f++)
		for (int i = 0; i < PAGES; i++) {
			model[f][i].ghost[number - 1] = false;
			if (model[f][i].owner == number)
				model[f][i].owner = model[f][i].open = 0;
		}
}

/* The job ends, with its process or before it. */
static void forget(int number)
{
	sampler_slots_end(sampler, jobs[number - 1].slot);
	expect_all("the last sample");
	forget_model(number);
}

static void remove_cgroup(int number)
{
	if (rmdir(jobs[number - 1].cgroup.dir))
		fail("the cgroup stays");
	cgroup_close(&jobs[number - 1].cgroup);
}

static void end(int number)
{
	stop(number);
	forget(number);
	remove_cgroup(number);
}

/* Waits for running programs; each may take as long as the slowest CPU. */
static long waits;
int __real_grace_wait(const struct grace *g);
int __wrap_grace_wait(const struct grace *g);

int __wrap_grace_wait(const struct grace *g)
{
	waits++;
	return __real_grace_wait(g);
}

/* However many jobs end with a sample, it waits once more. */
static void end_at_once(int first, int last)
{
	long began = waits, usual;

	expect_all("before they end");
	usual = waits - began;
	for (int i = first; i <= last; i++)
		stop(i);
	for (int i = first; i <= last; i++)
		sampler_slots_end(sampler, jobs[i - 1].slot);
	began = waits;
	expect_all("jobs that end at once");
	expect("waits for jobs that end at once", waits - began - usual, 1);
	for (int i = first; i <= last; i++) {
		forget_model(i);
		remove_cgroup(i);
	}
}

static void expect_some(const char *what, long n)
{
	if (!n)
		fail(what);
}

/* The patterns: A is job 1, B is job 2, C is job 3. */

static void shared_pages(void)
{
	begin(1, BEFORE);
	begin(2, AFTER);
	step(1, READ, 0, 0, 64);
	step(2, READ, 0, 0, 32);
	step(2, READ, 0, 32, 64);
	expect_all("A brings, B reads");
	step(1, PREFETCH, 0, 300, 200);
	step(2, READ, 0, 350, 100);
	step(1, READ, 0, 320, 100);
	expect_all("A prefetches, B uses");
	expect_some("no page of A was used", jobs[0].want.used);
	step(2, READ_RANDOM, 0, PAGES - 20, 20);
	step(2, DROP, 0, 0, 400);
	step(2, DROP, 0, 400, PAGES - 400);
	expect_all("A brings, B drops");
	expect_some("no unused page of A was dropped", jobs[0].want.unused);
	expect_some("no page of B was dropped", jobs[1].want.left);
	step(1, READ, 0, 0, 100);
	step(2, READ, 0, 350, 100);
	expect_all("both bring back");
	step(1, READ_IN_CHILD, 0, 40, 100);
	step(2, READ_IN_CHILD, 0, 60, 60);
	expect_all("their children read");
	expect_some("A brought no page back", jobs[0].want.refaults);
}

static void one_block(void)
{
	for (int i = 0; i < 128; i++)
		step(1 + i % 2, READ_RANDOM, 1, i, 1);
	expect_all("both add to one block");
	step(1, PREFETCH, 1, 128, 128);
	step(2, PREFETCH, 1, 256, 32);
	step(2, READ_RANDOM, 1, 0, 200);
	step(1, READ_RANDOM, 1, 250, 20);
	step(2, DROP, 1, 64, 32);
	step(1, READ_RANDOM, 1, 64, 32);
	expect_all("both use one block");
	drop_outside(1);
	expect_all("one block is dropped by others");
	expect_some("no page of B was used", jobs[1].want.used);
	step(2, READ, 1, 0, 128);
	step(1, READ, 1, 0, 256);
	expect_all("one block comes back");
}

static void reused_slot(void)
{
	uint32_t slot = jobs[0].slot;

	begin(4, AFTER);
	step(1, PREFETCH, 1, 512, 256);
	step(4, READ_RANDOM, 1, 520, 8);
	end(1);
	begin(3, BEFORE);
	expect("the slot that is used again", jobs[2].slot, slot);
	step(3, READ_RANDOM, 1, 530, 100);
	expect_all("C reads what A left");
	step(2, READ_RANDOM, 1, 630, 20);
	step(3, READ, 1, 760, 200);
	step(3, DROP, 1, 600, 100);
	expect_all("C drops what A left");
	expect_some("A left no page", jobs[2].want.not_added);
	drop_outside(1);
	drop_outside(0);
	expect_all("others drop what A left");
	step(3, READ, 1, 512, 200);
	step(2, READ, 0, 0, 200);
	expect_all("C and B bring it back");
}

static void stay_on(size_t first_cpu, size_t nr)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	for (size_t i = 0; i < nr; i++)
		CPU_SET(first_cpu + i, &cpus);
	for (int i = 0; i < JOBS; i++)
		if (jobs[i].lives && sched_setaffinity(jobs[i].pid, sizeof(cpus), &cpus))
			fail("cannot choose the CPU");
}

/* Jobs read the same file in turns, on one CPU: what a CPU holds for a job, it does not count for
 * the next one. */
static void turns(int first, int last)
{
	stay_on(0, 1);
	for (int round = 0; round < 4; round++)
		for (int i = first; i <= last; i++) {
			step(i, READ_EACH, 0, 20 * i, 40);
			step(i, PREFETCH, 0, PAGES - 20 * i, 10);
			step(i, READ_EACH, 0, PAGES - 20 * i - 10, 20);
		}
	expect_all("jobs that take turns");
	stay_on(0, (size_t)sysconf(_SC_NPROCESSORS_ONLN));
}

/* A process changes its job, and one job is in the cgroup of another. */
static void moves(void)
{
	begin(5, BEFORE);
	begin_below(6, AFTER, 2);
	step(5, READ, 0, 700, 100);
	step(6, READ, 0, 720, 200);
	step(2, READ_RANDOM, 0, 10, 50);
	expect_all("a job below another");
	step(5, PREFETCH, 1, 0, 64);
	move(5, 4); /* in the same hierarchy */
	step(5, READ, 1, 0, 100);
	step(5, DROP, 1, 32, 64);
	step(4, READ_RANDOM, 1, 20, 64);
	expect_all("a process changes its job");
	move(5, 5);
	step(5, READ_RANDOM, 1, 600, 10);
	expect_all("it comes back");
	move(5, 0);
	step(5, READ_RANDOM, 1, 400, 50);
	step(5, READ, 1, 0, 100);
	step(4, READ_RANDOM, 1, 400, 10);
	step(5, DROP, 1, 0, 800);
	expect_all("it belongs to no job");
	move(5, 5);
	step(5, READ, 1, 380, 50);
	expect_all("it comes back once more");
	move(6, 2);
	step(6, READ_RANDOM, 0, 0, 30);
	end(6);
	expect_all("a job below another ends");
	begin(8, AFTER);
	step(8, PREFETCH, 0, 0, 100);
	step(8, READ_EACH, 0, 50, 100);
	forget(8);
	step(8, READ_EACH, 0, 100, 100);
	begin(9, AFTER);
	expect("the slot of a job without an end", jobs[8].slot, jobs[7].slot);
	step(8, READ, 0, 200, 100);
	step(9, READ_EACH, 0, 250, 100);
	stop(8);
	remove_cgroup(8);
	expect_all("a job ends before its process");
	end(9);
}

/* A process that a job has counted is in a new one, and ends before the iterator finds it. */
static void unfound(void)
{
	begin_below(6, UNFOUND, 2);
	stop(6);
	jobs[1].want.alive--;
	jobs[5].want.alive = 0;
	expect_all("a process that ends while its job begins");
	forget(6);
	remove_cgroup(6);
}

static pid_t hold_process(const char *cgroup, int hold[2])
{
	pid_t pid = fork();
	char c;

	if (pid) {
		write_pid(cgroup, pid);
		wait_idle(pid);
		return pid;
	}
	close(hold[1]);
	_exit(read(hold[0], &c, 1) < 0);
}

/* Many processes end while the iterator adds them: each counts once. */
static void crowd(void)
{
	struct job *j = &jobs[5];
	static pid_t pids[CROWD];
	struct errtext err;
	char dir[DIR_MAX];
	int hold[2];

	*j = (struct job){.lives = true, .want.processes = CROWD};
	make_cgroup(j, 0, dir);
	if (pipe(hold))
		fail("no pipe");
	for (int i = 0; i < CROWD; i++)
		pids[i] = hold_process(dir, hold);
	if (sampler_slots_begin(sampler, &j->cgroup, 1, false, &j->slot, &err))
		fail(err.text);
	close(hold[0]);
	close(hold[1]);
	if (probe_set_seed(set, NULL, 0, &err))
		fail(err.text);
	for (int i = 0; i < CROWD; i++)
		waitpid(pids[i], NULL, 0);
	expect_all("processes that end while the iterator runs");
	forget(6);
	remove_cgroup(6);
}

static void one_cpu(long cpu, cpu_set_t *ret)
{
	CPU_ZERO(ret);
	CPU_SET((size_t)cpu, ret);
}

static void expect_activity(int number, const struct activity *before)
{
	const struct job *j = &jobs[number - 1];
	const struct activity now = activity_of(j->pid);

	expect_count("bytes written", (long)j->activity.wchar_bytes,
		     (long)(now.wchar_bytes - before->wchar_bytes));
	expect_count("time in the run queue", (long)j->activity.runqueue_ns,
		     (long)(now.runqueue_ns - before->runqueue_ns));
	expect_count("voluntary switches", (long)j->activity.switches_voluntary,
		     (long)(now.switches_voluntary - before->switches_voluntary));
	expect_count("forced switches", (long)j->activity.switches_forced,
		     (long)(now.switches_forced - before->switches_forced));
}

/* sent: bytes per kind, as in send_all(); 0: no message. */
static void expect_net(int number, int sent)
{
	for (int kind = 0; kind < NET_NR; kind++) {
		long bytes = sent ? sent + kind : 0;

		if (sent && (kind == NET_TCP4 || kind == NET_TCP6))
			bytes += PAGE;
		expect_count("bytes sent", (long)jobs[number - 1].net[kind].sent_bytes, bytes);
		expect_count("bytes received", (long)jobs[number - 1].net[kind].received_bytes,
			     bytes);
	}
}

/* Messages, by what was sent; two tasks on one CPU, by the kernel's own figures of each. */
static void activity(void)
{
	struct activity first, second;
	cpu_set_t all, here;

	sched_getaffinity(0, sizeof(all), &all);
	one_cpu(0, &here);
	begin(6, BEFORE);
	first = activity_of(jobs[5].pid);
	begin(7, AFTER);
	second = activity_of(jobs[6].pid);
	sched_setaffinity(jobs[5].pid, sizeof(here), &here);
	sched_setaffinity(jobs[6].pid, sizeof(here), &here);
	order(6, &(struct order){.act = SPIN, .pages = 100});
	order(7, &(struct order){.act = SPIN, .pages = 100});
	answer(6);
	answer(7);
	order(6, &(struct order){.act = SEND, .pages = 1000});
	answer(6);
	take_slots(false);
	if (activity_of(jobs[5].pid).switches_forced == first.switches_forced)
		fail("no task was preempted");
	expect_activity(6, &first);
	expect_activity(7, &second);
	expect_net(6, 1000);
	expect_net(7, 0);
	stop(6);
	stop(7);
	forget(6);
	forget(7);
	remove_cgroup(6);
	remove_cgroup(7);
}

/* CPU time, by the kernel's own clock of each process. */
static void processor(void)
{
	const struct order o = {.act = SPIN, .pages = SPIN_MS};
	cpu_set_t all, here, there;
	long first, second, third;

	sched_getaffinity(0, sizeof(all), &all);
	one_cpu(0, &here);
	one_cpu(sysconf(_SC_NPROCESSORS_ONLN) - 1, &there);
	begin(6, BEFORE);
	first = cpu_ns_of(jobs[5].pid);
	begin(7, AFTER);
	second = cpu_ns_of(jobs[6].pid);
	for (int i = 0; i < 64; i++) {
		step(6, READ, 0, 10 * i, 20);
		step(7, READ_EACH, 0, 10 * i, 20);
	}
	step(6, SPIN, 0, 0, 50);
	step(7, SPIN, 0, 0, 20);
	expect_all("jobs that compute");
	expect_count("CPU time of the first", jobs[5].cpu_ns, cpu_ns_of(jobs[5].pid) - first);
	expect_count("CPU time of the second", jobs[6].cpu_ns, cpu_ns_of(jobs[6].pid) - second);
	/* Its process computes while the job ends and another gets its slot. Nothing switches to
	 * another task there. */
	sched_setaffinity(0, sizeof(here), &here);
	sched_setaffinity(jobs[5].pid, sizeof(there), &there);
	if (sched_setscheduler(jobs[5].pid, SCHED_FIFO, &(struct sched_param){1}))
		fail("no real-time priority");
	order(6, &o);
	while (state_of(jobs[5].pid) != 'R' && !has_answered(6))
		sched_yield();
	forget(6);
	begin(8, AFTER);
	expect("the slot of a job that computes", jobs[7].slot, jobs[5].slot);
	third = cpu_ns_of(jobs[7].pid);
	take_slots(false);
	expect_count("CPU time of the third", jobs[7].cpu_ns, cpu_ns_of(jobs[7].pid) - third);
	sched_setaffinity(0, sizeof(all), &all);
	answer(6);
	stop(6);
	remove_cgroup(6);
	end(7);
	end(8);
}

static long cached(void)
{
	bool now[PAGES];
	long sum = 0;

	for (int f = 0; f < FILES; f++) {
		look(f, now);
		for (int i = 0; i < PAGES; i++)
			sum += now[i];
	}
	return sum;
}

/* The kernel skipped runs of programs: what they would have counted is missing, and nothing else.
 */
static void expect_bounds(int first, int last)
{
	for (int i = first; i <= last; i++) {
		const struct figures *want = &jobs[i - 1].want, *got = &jobs[i - 1].got;

		expect("too many read calls", got->read_calls > want->read_calls, 0);
		expect("too many bytes", got->read_bytes > want->read_bytes, 0);
		expect("too many lookups", got->lookups > want->lookups, 0);
		expect("more calls missing than skipped",
		       want->read_calls - got->read_calls > skipped, 0);
	}
}

/* Jobs that run at once. A process knows its own calls, but cachestat(2) only the pages of all. */
static void at_once(int first, int last, int calls)
{
	uint64_t forgot = lost.ghosts_dropped;
	long added = 0;

	for (int i = first; i <= last; i++) {
		const struct order o = {.act = READ_MIXED, .pages = calls, .seed = (unsigned)i};

		order(i, &o);
	}
	/* Samples are taken meanwhile, so calls may be cut in two, and entries of pages that left
	 * are forgotten. */
	for (int i = first; i <= last; i++) {
		struct figures did;

		do {
			take_slots(false);
			if (probe_set_make_room(set))
				fail("cannot make room");
		} while (!has_answered(i));
		did = answer(i);
		add_did(i, &did);
	}
	take_slots(false);
	if (calls == MANY && lost.ghosts_dropped == forgot)
		fail("no page was forgotten");
	for (int i = 0; i < JOBS; i++)
		if (jobs[i].lives)
			added += jobs[i].all_added - (jobs[i].got.left - jobs[i].got.not_added);
	expect("rows that found no room", (int64_t)lost.map_full, 0);
	expect("pages that found no room", (int64_t)lost.chunk_full, 0);
	if (skipped) {
		expect_bounds(first, last);
		return;
	}
	expect("pages that are cached, by all jobs", added, cached());
	for (int i = first; i <= last; i++) {
		const struct figures *want = &jobs[i - 1].want, *got = &jobs[i - 1].got;

		expect("read calls of a job among many", got->read_calls, want->read_calls);
		expect("bytes of a job among many", got->read_bytes, want->read_bytes);
		expect("lookups of a job among many", got->lookups, want->lookups);
		expect("pages of open fate, of a job among many", jobs[i - 1].open,
		       got->ahead - got->used - got->unused);
	}
}

/* A job with pages of open fate ends with the last sample. */
static void finish(void)
{
	int ends = 1;
	int64_t error;

	while (ends <= JOBS && (!jobs[ends - 1].lives || !jobs[ends - 1].open))
		ends++;
	if (ends > JOBS)
		fail("no job has pages of open fate");
	sampler_slots_end(sampler, jobs[ends - 1].slot);
	error = take_slots(true);
	if (!skipped)
		expect("pages of open fate, page state less counters", error, 0);
	sampler_free(sampler);
	probe_set_free(set);
	for (int i = 0; i < JOBS; i++) {
		const struct order o = {.act = STOP};
		char dir[256];

		if (!jobs[i].lives)
			continue;
		order(i + 1, &o);
		waitpid(jobs[i].pid, NULL, 0);
		snprintf(dir, sizeof(dir), "%s", jobs[i].cgroup.dir);
		cgroup_close(&jobs[i].cgroup);
		rmdir(dir);
	}
}

int main(int argc, char **argv)
{
	unsigned int hierarchies = 0;
	struct mountinfo mounts;
	struct cgroup_ref ref;
	struct errtext err;

	if (argc < 3 || chdir(argv[1])) {
		fprintf(stderr, "usage: many_jobs DIR CGROUP...\n");
		return 2;
	}
	cgroups = (const char *const *)argv + 2;
	nr_cgroups = argc - 2;
	if (mountinfo_read("/proc/self/mountinfo", &mounts))
		fail("no mounts");
	for (int i = 0; i < nr_cgroups; i++) {
		if (cgroup_open(&mounts, cgroups[i], &ref, &err))
			fail(err.text);
		hierarchies |= 1u << ref.kind;
		cgroup_close(&ref);
	}
	mountinfo_free(&mounts);
	make_files();
	for (int f = 0; f < FILES; f++)
		posix_fadvise(files[f], 0, 0, POSIX_FADV_DONTNEED);
	expect("pages cached at the start", cached(), 0);
	open_jobs(JOBS_AT_ONCE, hierarchies, &set, &sampler);
	shared_pages();
	one_block();
	reused_slot();
	moves();
	unfound();
	crowd();
	processor();
	activity();
	for (int i = 6; i <= 8; i++)
		begin(i, AFTER);
	end_at_once(6, 8);
	drop_outside(0);
	drop_outside(1);
	expect_all("everything is dropped");
	expect("pages cached in between", cached(), 0);
	for (int i = 6; i <= JOBS; i++)
		begin(i, i % 2 ? BEFORE : AFTER);
	begin(1, AFTER);
	turns(1, JOBS);
	at_once(2, JOBS, FEW);
	at_once(1, JOBS, MANY);
	for (int i = 0; i < JOBS; i++)
		if (jobs[i].lives)
			printf("%s%ld", i ? ", " : "pages that left, by job: ", jobs[i].got.left);
	if (skipped)
		printf("; at once only lower bounds: %lld runs of programs were skipped",
		       (long long)skipped);
	putchar('\n');
	finish();
	return 0;
}
