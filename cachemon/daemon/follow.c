/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/daemon/follow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/access/mountinfo.h"
#include "cachemon/base/clock.h"
#include "cachemon/capture/birth_ring.h"
#include "cachemon/daemon/discover.h"

struct follow {
	struct node *node;
	follow_say *say;
	struct birth_ring *ring;
	struct discover *discover;
	uint64_t dropped;
	bool failed; /* the last walk; said once */
	bool waits;  /* a job, for a slot or for room on the disk; said once */
	bool again;  /* jobs that wait are tried */
};

static int begin(struct follow *f, struct discover_job *job, const struct mountinfo *mounts,
		 struct selector *selector, struct errtext *ret_text, struct errtext *err)
{
	const struct selector_places places = {.proc_root = "/proc", .mounts = mounts};
	uint32_t id = 0;
	int r = selector_of_cgroups(&places, job->kind, job->id, job->name, job->cgroups,
				    job->nr_cgroups, selector, err);

	if (r)
		return r;
	errtext_set(ret_text, 0, "watching %s", selector->text);
	r = node_job_begin(f->node, selector, job->cgroups, job->nr_cgroups, mounts, &id, err);
	if (!r)
		job->data = id;
	return r;
}

static void on_appeared(void *arg, struct discover_job *job)
{
	struct selector selector = {.cgroup.fd = -1};
	struct follow *f = arg;
	struct mountinfo mounts;
	struct errtext err, text;
	int r = mountinfo_read("/proc/self/mountinfo", &mounts);

	if (r) {
		errtext_set(&err, r, "cannot read /proc/self/mountinfo: %s", strerror(-r));
	} else {
		r = begin(f, job, &mounts, &selector, &text, &err);
		mountinfo_free(&mounts);
	}
	f->waits |= r == -ENOSPC;
	if (r)
		errtext_set(&text, r, "%s:%s is not watched: %s", find_kind_name(job->kind),
			    job->id, err.text);
	selector_free(&selector);
	if (!r || !f->again)
		f->say(text.text);
}

static void on_gone(void *arg, struct discover_job *job)
{
	struct follow *f = arg;

	if (job->data)
		node_job_end(f->node, job->data);
	job->data = 0;
}

/* As a Slurm job that has several nodes of this machine. A task is in a cgroup of each hierarchy,
 * so the processes in cgroups of different ones are the same. */
static bool has_two_in_a_hierarchy(const struct discover_job *job)
{
	unsigned int seen = 0, twice = 0;

	for (size_t i = 0; i < job->nr_cgroups; i++) {
		twice |= seen & 1U << job->cgroups[i].kind;
		seen |= 1U << job->cgroups[i].kind;
	}
	return twice;
}

static void join(struct follow *f, const struct discover_job *job)
{
	struct errtext err, text;

	if (!node_job_join(f->node, job->data, job->cgroups, job->nr_cgroups,
			   has_two_in_a_hierarchy(job), &err))
		return;
	errtext_set(&text, 0, "%s:%s is not watched completely: %s", find_kind_name(job->kind),
		    job->id, err.text);
	f->say(text.text);
}

/* A job that could not begin is tried again. */
static void on_changed(void *arg, struct discover_job *job)
{
	struct follow *f = arg;

	if (job->data)
		join(f, job);
	else if (!f->waits || node_has_room(f->node))
		on_appeared(arg, job);
}

int follow_new(struct node *n, const struct node_config *config, follow_say *say,
	       struct follow **ret, struct errtext *err)
{
	static const struct discover_places places = {"/proc/self/mountinfo", "/proc/self/cgroup",
						      ""};
	static const struct discover_events events = {on_appeared, on_changed, on_gone};
	struct follow *f = calloc(1, sizeof(*f));
	int r = f ? discover_new(&places, config, &events, f, &f->discover) : -ENOMEM;

	if (!r) {
		f->node = n;
		f->say = say;
		r = node_births(n, discover_birth, f->discover, &f->ring);
	}
	if (!r) {
		*ret = f;
		return 0;
	}
	follow_free(f);
	return errtext_set(err, r, "cannot follow the cgroups of this machine: %s", strerror(-r));
}

void follow_free(struct follow *f)
{
	if (!f)
		return;
	birth_ring_free(f->ring);
	discover_free(f->discover);
	free(f);
}

void follow_select(struct follow *f, const struct node_config *config)
{
	discover_select(f->discover, config);
}

int follow_fd(const struct follow *f)
{
	return birth_ring_fd(f->ring);
}

uint64_t follow_work(struct follow *f)
{
	uint64_t due_ns, dropped;
	struct errtext text;
	int r;

	birth_ring_consume(f->ring);
	dropped = birth_ring_dropped(f->ring);
	if (dropped != f->dropped) {
		errtext_set(&text, 0,
			    "cgroups came and went too fast: jobs that ended in this moment may be "
			    "missing");
		f->say(text.text);
	}
	f->dropped = dropped;
	r = discover_settle(f->discover, dropped, clock_now_ns(), &due_ns);
	if (r && !f->failed) {
		errtext_set(&text, r, "cannot read the cgroups of this machine: %s", strerror(-r));
		f->say(text.text);
	}
	f->failed = r;
	/* Jobs that end give their slots with the next sample. */
	if (f->waits && node_has_room(f->node)) {
		f->waits = false;
		f->again = true;
		discover_again(f->discover);
		f->again = false;
	}
	return due_ns;
}
