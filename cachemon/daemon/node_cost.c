/* SPDX-License-Identifier: BSD-2-Clause */
/* Measures the cost of counting, and leaves out detail of the jobs while that exceeds the budget.
 * collector/node_budget.h decides. */
#include <stdio.h>
#include <string.h>

#include "cachemon/account/ledger_rows.h"
#include "cachemon/base/clock.h"
#include "cachemon/daemon/node_impl.h"

/* How long the programs are timed, and the time between: short at first, because timing costs as
 * much as a small program. */
#define LOOK_NS		  UINT64_C(20000000)
#define LOOK_PAUSE_NS	  UINT64_C(250000000)
#define LOOK_PAUSE_MAX_NS UINT64_C(4000000000)

/* While detail is given up, intervals are this many times as long. */
enum { LONGER = 6 };

static const char *const names[NODE_DETAILS] = {"vfs_calls", "process_rows", "file_rows",
						"intervals"};
static const char *const texts[NODE_DETAILS] = {"metrics of calls of files", "rows of processes",
						"rows of files", "intervals of the usual length"};

static const enum probe_role vfs_roles[] = {ROLE_VFS_CALLS, ROLE_VFS_READ,   ROLE_VFS_READV,
					    ROLE_VFS_WRITE, ROLE_VFS_WRITEV, ROLE_VFS_OPEN,
					    ROLE_VFS_MKDIR, ROLE_VFS_RMDIR,  ROLE_VFS_UNLINK};

/* In all tasks. */
static int runs_now(const struct node *n, uint64_t ret[EV_NR])
{
	uint64_t runs[JOB_NR][EV_NR];
	int r = probe_set_events(n->set, runs);

	for (int ev = 0; ev < EV_NR && !r; ev++)
		ret[ev] = runs[JOB_WATCHED][ev] + runs[JOB_OTHERS][ev];
	return r;
}

void node_cost_begin(struct node *n)
{
	struct node_costs *c = &n->costs;
	struct calibration none = {};
	uint64_t runs[EV_NR] = {};

	if (!n->o.budget)
		return;
	node_budget_begin(&c->budget, n->o.budget);
	runs_now(n, runs);
	cost_charge_begin(&c->charge, &none, runs);
	c->cpu0_ns = clock_own_cpu_ns();
	c->start_ns = clock_now_ns();
	c->look_ns = c->start_ns + LOOK_PAUSE_NS;
	c->pause_ns = LOOK_PAUSE_NS;
}

static void look_begin(struct node *n, uint64_t now)
{
	struct node_costs *c = &n->costs;
	struct errtext text;
	int r = calibrate_look(n->set, &c->look);

	c->looking = !r;
	c->untimed = r;
	c->look_ns = now + LOOK_NS;
	runs_now(n, c->look_runs);
	if (!r)
		return;
	errtext_set(
		&text, r,
		"the programs cannot be timed (%s), so only the daemon's own process counts for "
		"it; to change this, set kernel.bpf_stats_enabled to 1",
		strerror(-r));
	n->o.complain(n->o.context, "budget", text.text);
}

static void look_end(struct node *n, uint64_t now)
{
	struct node_costs *c = &n->costs;
	uint64_t runs[EV_NR], since[EV_NR] = {};

	c->looking = false;
	if (!runs_now(n, runs)) {
		cost_charge_runs(&c->charge, runs);
		for (int ev = 0; ev < EV_NR; ev++)
			if (runs[ev] > c->look_runs[ev]) /* see cost_charge_runs() */
				since[ev] = runs[ev] - c->look_runs[ev];
	}
	calibrate_looked_all(n->set, &c->look, since, &c->charge);
	c->look_ns = now + c->pause_ns;
	c->pause_ns = c->pause_ns * 2 < LOOK_PAUSE_MAX_NS ? c->pause_ns * 2 : LOOK_PAUSE_MAX_NS;
}

void node_cost_end(struct node *n)
{
	if (n->costs.looking)
		look_end(n, clock_now_ns());
}

uint64_t node_look(struct node *n)
{
	struct node_costs *c = &n->costs;
	uint64_t now = clock_now_ns();

	if (!n->o.budget || c->untimed)
		return UINT64_MAX;
	if (now >= c->look_ns && c->looking)
		look_end(n, now);
	else if (now >= c->look_ns)
		look_begin(n, now);
	return c->untimed ? UINT64_MAX : c->look_ns;
}

uint64_t node_interval_ns(const struct node *n)
{
	return n->costs.budget.shed[NODE_DETAIL_INTERVALS] ? n->o.interval_ns * LONGER
							   : n->o.interval_ns;
}

/* Notes it for the job. A detail that returns before the job's first sample was never missing. */
static void note_shed(struct job *j, enum node_detail d, bool shed)
{
	uint64_t now_ns = j->last_ns - j->start_ns;
	size_t i = 0;

	while (i < j->nr_shed && j->shed[i].detail != names[d])
		i++;
	if (shed && i == j->nr_shed)
		j->shed[j->nr_shed++] = (struct sample_shed){
			names[d], "counting exceeded the budget of the node", now_ns, 0};
	else if (shed)
		j->shed[i].to_ns = 0;
	else if (i < j->nr_shed && !now_ns)
		j->shed[i] = j->shed[--j->nr_shed];
	else if (i < j->nr_shed)
		j->shed[i].to_ns = now_ns;
}

void node_cost_job(const struct node *n, struct job *j)
{
	for (int d = 0; d < NODE_DETAILS; d++)
		if (n->costs.budget.shed[d])
			note_shed(j, (enum node_detail)d, true);
}

/* -errno of the first that failed; the others are switched. */
static int hook_vfs(struct node *n, bool on)
{
	int failed = 0;

	for (size_t i = 0; i < sizeof(vfs_roles) / sizeof(vfs_roles[0]); i++) {
		int r = probe_plan_has(&n->plan, vfs_roles[i])
				? probe_set_hook(n->set, vfs_roles[i], on)
				: 0;

		failed = failed ?: r;
	}
	return failed;
}

/* Calls that some programs miss are no counts: they stay given up. */
static void switch_vfs(struct node *n, bool *shed)
{
	int r = hook_vfs(n, !*shed);
	struct errtext text;

	if (!r)
		return;
	errtext_set(&text, r, "programs for calls of files cannot be switched %s: %s",
		    *shed ? "off" : "on", strerror(-r));
	*shed = true;
	n->o.complain(n->o.context, "budget", text.text);
}

/* Once, until all detail is recorded again. */
static void say(struct node *n)
{
	const struct node_budget *b = &n->costs.budget;
	double percent = b->cost * 100, more = percent - b->share * 100;
	struct errtext text;
	char list[128] = "";
	size_t len = 0;

	for (int d = 0; d < NODE_DETAILS; d++)
		if (b->shed[d])
			len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s",
						len ? ", " : "", texts[d]);
	if ((more > 0) == n->costs.said || (more <= 0 && len))
		return;
	n->costs.said = more > 0;
	if (more > 0)
		errtext_set(&text, 0,
			    "counting costs %.3g %% of the CPU time of the watched jobs, %.3g %% "
			    "more than the budget; %s%s",
			    percent, more, len ? "given up until there is room: " : "",
			    len ? list : "there is no detail to give up");
	else
		errtext_set(&text, 0,
			    "counting costs %.3g %% of the CPU time of the watched jobs; all "
			    "detail is recorded again",
			    percent);
	n->o.complain(n->o.context, "budget", text.text);
}

static void apply(struct node *n, const bool was[NODE_DETAILS])
{
	bool *shed = n->costs.budget.shed;

	if (shed[NODE_DETAIL_VFS] != was[NODE_DETAIL_VFS])
		switch_vfs(n, &shed[NODE_DETAIL_VFS]);
	for (int d = 0; d < NODE_DETAILS; d++) {
		if (shed[d] == was[d])
			continue;
		for (uint32_t slot = 1; slot <= n->o.jobs; slot++)
			if (n->jobs[slot].selector.text)
				note_shed(&n->jobs[slot], (enum node_detail)d, shed[d]);
	}
	say(n);
}

void node_cost_take(struct node *n, struct job *j, struct sample *s)
{
	struct node_costs *c = &n->costs;
	const bool *shed = c->budget.shed;

	if (!n->o.budget)
		return;
	c->now.jobs_cpu_ns += (double)ledger_job(j->ledger, JOB_WATCHED)->last_cpu_ns;
	if (shed[NODE_DETAIL_PROCESS_ROWS])
		s->nr_processes = 0;
	s->no_file_rows = shed[NODE_DETAIL_FILE_ROWS];
	c->now.detail_ns[NODE_DETAIL_PROCESS_ROWS] += (double)s->nr_processes * COST_ROW_NS;
	if (!s->no_file_rows)
		c->now.detail_ns[NODE_DETAIL_FILE_ROWS] +=
			(double)ledger_nr_active(j->ledger) * COST_ROW_NS;
	s->shed = j->shed;
	s->nr_shed = j->nr_shed;
}

/* Without a run of the programs that was timed they seem to cost nothing. */
static double probes_ns(const struct node_costs *c)
{
	double sum = 0;

	for (int ev = 0; ev < EV_NR; ev++)
		sum += cost_charge_ns(&c->charge, (enum event)ev);
	return sum;
}

void node_cost_judge(struct node *n)
{
	struct node_costs *c = &n->costs;
	double own_ns = (double)(clock_own_cpu_ns() - c->cpu0_ns), *detail = c->now.detail_ns;
	bool was[NODE_DETAILS];
	uint64_t runs[EV_NR];

	if (!n->o.budget)
		return;
	if (!runs_now(n, runs))
		cost_charge_runs(&c->charge, runs);
	memcpy(was, c->budget.shed, sizeof(was));
	if (!was[NODE_DETAIL_VFS])
		detail[NODE_DETAIL_VFS] = cost_charge_ns(&c->charge, EV_VFS);
	if (!was[NODE_DETAIL_INTERVALS])
		detail[NODE_DETAIL_INTERVALS] += (own_ns - c->own_ns) * (LONGER - 1) / LONGER;
	c->own_ns = own_ns;
	c->now.time_ns = (double)(clock_now_ns() - c->start_ns);
	c->now.cost_ns = probes_ns(c) + own_ns;
	if (node_budget_judge(&c->budget, &c->now))
		apply(n, was);
}

void node_set_budget(struct node *n, double share)
{
	bool was[NODE_DETAILS];

	if (!n->o.budget)
		return;
	memcpy(was, n->costs.budget.shed, sizeof(was));
	node_budget_change(&n->costs.budget, share);
	apply(n, was);
}

void node_cost_show(const struct node *n, struct node_shares *ret)
{
	const struct node_costs *c = &n->costs;

	*ret = (struct node_shares){.probes_ns = -1, .budget = -1, .cost = -1};
	if (!n->o.budget)
		return;
	ret->budget = c->budget.share;
	ret->cost = c->budget.cost;
	if (!c->untimed)
		ret->probes_ns = (int64_t)probes_ns(c);
	for (int d = 0; d < NODE_DETAILS; d++)
		ret->details[d] = (struct metrics_detail){names[d], c->budget.shed[d]};
	ret->no_vfs = c->budget.shed[NODE_DETAIL_VFS];
}
