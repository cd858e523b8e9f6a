/* SPDX-License-Identifier: BSD-2-Clause */
/* The life of a run: its processes, its samples, its end. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/watch/watch_run.h"

/* Time between two writes of the sums of files, after rows of intervals were dropped: a reader, or
 * a killed run, has sums of that age. The job's sums are always written. */
#define FILE_SUMS_NS 10000000000ULL

/* A round finds processes that were forked before the previous round had named their parent; two
 * rounds usually suffice. */
enum { ROUNDS_MAX = 1000 };

static int read_parents(void *set, struct proctree_link **ret, size_t *ret_nr)
{
	return probe_set_parents(set, ret, ret_nr);
}

static int name_tree_once(struct watch_run *run, size_t *ret_new)
{
	const struct selector_places places = {.proc_root = "/proc"};
	const struct proctree_notes notes = {read_parents, run->set};
	int r = selector_refresh_pids(&places, &run->selector, &notes);

	if (!r)
		r = probe_set_name_seeds(run->set, run->selector.tgids, run->selector.nr_tgids,
					 ret_new);
	return r;
}

/* Finds the processes of the tree, which changes while /proc is read. So from the first pass on,
 * the probes name each child of a named parent, and record the parent of any other child, which the
 * next pass may find to be in the tree. A process that has ended is named too, because it may have
 * forked a living one before any pass saw it. When a pass names no new process, all processes that
 * lived at its end have a name, and so do their later children. */
static int seed_tree(struct watch_run *run, struct errtext *err)
{
	int pid = (int)run->selector.tgids[0];
	size_t fresh = 1;
	int r = probe_set_note_parents(run->set, true), end;

	for (int i = 0; !r && fresh && i < ROUNDS_MAX; i++)
		r = name_tree_once(run, &fresh);
	if (!r && fresh)
		r = -EAGAIN;
	/* A child without a state is named, and the next round adds it. */
	fresh = 1;
	for (int i = 0; !r && fresh && i < ROUNDS_MAX; i++) {
		r = probe_set_seed(run->set, NULL, 0, err);
		watch_clock_begin(run);
		fresh = probe_set_seeds_missed(run->set);
	}
	if (!r && fresh)
		r = -ENOMEM;
	end = probe_set_note_parents(run->set, false);
	r = r ? r : end;
	if (r == -ESRCH)
		return errtext_set(err, r, "process %d has ended", pid);
	if (r == -E2BIG)
		return errtext_set(err, r, "too many processes to add to the job");
	if (r)
		return errtext_set(err, r,
				   "cannot add process %d and its descendants to the job: %s", pid,
				   strerror(-r));
	return 0;
}

static int seed_job(struct watch_run *run, struct errtext *err)
{
	pid_t pid;
	int r;

	if (run->selector.kind == SELECTED_PIDS)
		return seed_tree(run, err);
	if (!run->command)
		return probe_set_seed(run->set, NULL, 0, err);
	pid = command_pid(run->command);
	r = probe_set_seed(run->set, &pid, 1, err);
	watch_clock_begin(run);
	return r;
}

/* The name or number may have belonged to another job. */
static void say_selector(const struct watch_run *run)
{
	struct errtext text;

	if (run->command)
		return;
	errtext_set(&text, 0, "watching %s", run->selector.text);
	watch_say(text.text);
}

/* Counting needs none of this; unreadable facts are absent. */
static void begin_machine(struct watch_run *run)
{
	const struct selector *s = &run->selector;
	struct mountinfo mounts;

	if (machine_facts_new("", run->caps.page_size, &run->machine) ||
	    mountinfo_read("/proc/self/mountinfo", &mounts))
		return;
	/* A cgroup of another hierarchy has no memory limit, but its processes may have one. */
	if (run->memory_cgroup || (s->kind == SELECTED_CGROUP && !strcmp(s->cgroup.path, "/")))
		machine_facts_of_cgroup(run->machine, &mounts, &s->cgroup);
	else if (run->command)
		machine_facts_of_process(run->machine, &mounts, command_pid(run->command));
	else if (s->pid)
		machine_facts_of_process(run->machine, &mounts, s->pid);
	mountinfo_free(&mounts);
}

int watch_run_start(struct watch_run *run, struct errtext *err)
{
	int r;

	/* First, because it sets the start of the run. */
	r = seed_job(run, err);
	if (r)
		return r;
	r = watch_describe(run, err);
	if (r)
		return r;
	run->described = true;
	say_selector(run);
	run->budget_seen_ns = run->start_ns;
	watch_traces_begin(run);
	begin_machine(run);
	watch_run_look(run);
	r = watch_rights_drop(run, err);
	if (!r && run->command)
		r = command_go(run->command, err);
	return r;
}

/* The time with the per-read hook on since the last sample. */
static uint64_t read_on_ns(struct watch_run *run, uint64_t now, uint64_t duration_ns, bool on)
{
	uint64_t all = watch_slices_on_ns(run, now), since = all - run->hook_on_seen_ns;

	run->hook_on_seen_ns = all;
	if (!run->sliced)
		return on ? duration_ns : 0;
	return since < duration_ns ? since : duration_ns;
}

static void make_page_room(struct watch_run *run)
{
	struct errtext err;
	int r = sampler_make_room(run->sampler);

	if (r) {
		errtext_set(&err, r,
			    "cannot remove pages from the full kernel map, so new pages may be "
			    "untracked: %s",
			    strerror(-r));
		watch_complain(&run->room_complained, err.text);
	} else {
		run->room_complained = false;
	}
}

static bool over_budget(const struct watch_run *run)
{
	return run->o->level != LEVEL_FULL && run->own_share > run->o->max_overhead;
}

/* Once a run is no longer short, all of it is stored in longer intervals. That is sooner for a run
 * that exceeds its budget, because each sample has its cost. */
static void coarsen(struct watch_run *run)
{
	uint64_t fine_ns = over_budget(run) ? WATCH_FINE_LEAST_NS : WATCH_FINE_FOR_NS;

	if (run->o->interval_ns || run->interval_ns == WATCH_COARSE_NS || run->elapsed_ns < fine_ns)
		return;
	run->interval_ns = WATCH_COARSE_NS;
	store_coarsen(run->store, WATCH_COARSE_NS);
}

/* Whether the sums of files are written with a later sample. */
static bool file_sums_wait(struct watch_run *run, const struct sample *s, bool last)
{
	bool due = run->elapsed_ns - run->file_sums_ns >= FILE_SUMS_NS;

	if (s->no_file_rows && !last && !run->store_complained && !due)
		return true;
	run->file_sums_ns = run->elapsed_ns;
	return false;
}

/* Takes the marks that were there before the sample: the sample has what the job did before
 * writing them. */
static void take_marks(struct watch_run *run, struct sample *s, size_t waiting, bool last)
{
	const struct ledger_job *job = ledger_job(run->ledger, JOB_WATCHED);

	marks_read(run->marks, waiting);
	if (last)
		marks_finish(run->marks);
	marks_set(run->marks, s, run->read_on_ns, &job->total, job->facts.cpu_ns);
	s->marks = marks_fresh(run->marks, &s->nr_marks);
	s->marks_dropped = marks_dropped(run->marks);
}

int watch_run_sample(struct watch_run *run, bool last)
{
	bool on = probe_set_reads_on(run->set);
	size_t waiting = run->marks ? marks_waiting(run->marks) : 0;
	struct sample s;
	struct errtext err;
	uint64_t now;
	int r;

	if (last)
		watch_looks_end(run);
	/* Events that were read count, even after an error. */
	r = sampler_take(run->sampler, last, &s, &err);
	if (r)
		watch_complain(&run->sampler_complained, err.text);
	else
		run->sampler_complained = false;
	now = s.end_ns;
	s.start_ns = run->last_ns - run->start_ns;
	s.duration_ns = now - run->last_ns;
	s.read_on_ns = read_on_ns(run, now, s.duration_ns, on);
	run->elapsed_ns += s.duration_ns;
	run->read_on_ns += s.read_on_ns;
	sampler_references(run->sampler, last, &s);
	if (run->machine)
		s.machine = machine_facts_take(run->machine, s.filesystems, s.nr_filesystems);
	run->samples++;
	watch_slices_sample(run, &s, on);
	watch_cost_take(run, &s);
	s.shed = run->shed_list;
	s.nr_shed = watch_shed_list(run);
	ledger_apply(run->ledger, &s);
	s.passes.nr = 0;
	passes_take(&s.passes, run->ledger, run->caps.page_size);
	/* Comes before the number of active files is reduced, because short intervals have few
	 * rows. */
	watch_traces_see(run, &s, last);
	s.no_file_rows = !watch_writes_file_rows(run, s.duration_ns);
	s.file_sums_wait = file_sums_wait(run, &s, last);
	if (run->marks)
		take_marks(run, &s, waiting, last);
	watch_write(run, &s);
	coarsen(run);
	watch_take_figures(run, &s);
	watch_metrics_take(run, &s, last);
	run->last_ns = now;
	if (!last)
		make_page_room(run);
	return r;
}

enum { SHOWN_MAX = sizeof(((struct watch_run *)0)->outlived) / sizeof(pid_t) };

/* Descendants that outlive CMD: identifies some of them before the probes stop. */
static void find_outlived(struct watch_run *run)
{
	struct proctree_link *links = NULL;
	size_t nr = 0;

	/* Without the list the summary still has their number. */
	if (run->selector.kind != SELECTED_COMMAND || probe_set_members(run->set, &links, &nr))
		return;
	for (size_t i = 0; i < nr && run->nr_outlived < SHOWN_MAX; i++)
		run->outlived[run->nr_outlived++] = links[i].tgid;
	free(links);
}

int watch_run_finish(struct watch_run *run, const int *exit_status)
{
	int r, end;

	if (exit_status)
		find_outlived(run);
	r = watch_run_sample(run, true);
	/* CMD may run for long: the run leaves nothing in the kernel. */
	sampler_free(run->sampler);
	probe_set_free(run->set);
	run->sampler = NULL;
	run->set = NULL;
	end = watch_end(run, exit_status);
	if (!r)
		r = end;
	return r ? r : run->interval_lost || watch_metrics_incomplete(run) ? -EIO : 0;
}

/* CMD has ended, and the run with it, as time(1) does. */
void watch_outlived_say(const struct watch_run *run)
{
	uint64_t alive = ledger_job(run->ledger, JOB_WATCHED)->facts.alive;
	char list[128] = "";
	struct errtext text;

	if (!alive)
		return;
	for (size_t i = 0, n = 0; i < run->nr_outlived; i++) {
		struct proctree_about about = {.name = ""};

		proctree_about("/proc", run->outlived[i], &about);
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%d%s%s", i ? ", " : ": ",
				      run->outlived[i], *about.name ? " " : "", about.name);
	}
	errtext_set(&text, 0,
		    "the command has ended, but %llu of its descendants still run%s%s%s; later "
		    "reads are not part of this run. To watch one, run cachemon watch --pid N",
		    (unsigned long long)alive, alive == 1 ? "s" : "", list,
		    alive > SHOWN_MAX ? ", ..." : "");
	watch_say(text.text);
}

void watch_run_abort(struct watch_run *run, int status)
{
	struct store_end end = {.exit_status = run->command ? &status : NULL};
	struct errtext err;

	if (run->described && store_end(run->store, run->ledger, &end, &err))
		watch_complain(&run->store_complained, err.text);
}

void watch_run_free(struct watch_run *run)
{
	if (!run)
		return;
	sampler_free(run->sampler);
	probe_set_free(run->set);
	machine_facts_free(run->machine);
	store_close(run->store);
	ledger_free(run->ledger);
	traces_free(run->traces);
	free(run->slices);
	watch_metrics_end(run);
	marks_free(run->marks);
	command_free(run->command);
	selector_free(&run->selector);
	invoker_free(&run->invoker);
	free(run->db);
	free(run);
}

const char *watch_run_db(const struct watch_run *run)
{
	return run->db;
}

int64_t watch_run_id(const struct watch_run *run)
{
	return run->store ? store_run_id(run->store) : run->run_id;
}

const struct invoker *watch_run_invoker(const struct watch_run *run)
{
	return &run->invoker;
}

struct command *watch_run_command(struct watch_run *run)
{
	return run->command;
}

const struct selector *watch_run_selector(const struct watch_run *run)
{
	return &run->selector;
}

int watch_run_names_fd(const struct watch_run *run)
{
	return sampler_fd(run->sampler);
}

void watch_run_names(struct watch_run *run)
{
	sampler_names(run->sampler);
}

uint64_t watch_run_interval_ns(const struct watch_run *run)
{
	return run->interval_ns;
}

int watch_run_marks_fd(const struct watch_run *run)
{
	return marks_fd(run->marks);
}

bool watch_run_marks_count(const struct watch_run *run)
{
	return run->set && !marks_full(run->marks);
}

void watch_run_marks_look(struct watch_run *run)
{
	if (run->marks)
		marks_waiting(run->marks);
}

void watch_run_marks_drop(struct watch_run *run)
{
	marks_read(run->marks, marks_waiting(run->marks));
}

bool watch_run_pressed(const struct watch_run *run)
{
	return sampler_pressed(run->sampler);
}

bool watch_run_job_ended(const struct watch_run *run)
{
	return sampler_job_ended(run->sampler);
}

void watch_run_figures(const struct watch_run *run, struct watch_figures *ret)
{
	*ret = run->figures;
	ret->own_share = run->own_share;
	ret->elapsed_ns = run->elapsed_ns;
	ret->estimated = run->sliced;
	ret->budget = run->o->level == LEVEL_FULL ? -1 : run->o->max_overhead;
	if (!run->samples)
		*ret = (struct watch_figures){
			.hit_ratio = -1,
			.lookups_per_s = -1,
			.misses_per_s = -1,
			.prefetch_accuracy = -1,
			.evictions_per_s = -1,
			.own_share = -1,
		};
}
