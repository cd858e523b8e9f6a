/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/plan/probe_plan.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define R(role) (1ULL << ROLE_##role)

/* Adds are classified by their window; those of a fault, by the fault. */
#define WINDOWS		 (R(WINDOW_SYNC) | R(WINDOW_ASYNC) | R(WINDOW_ORDER) | R(WINDOW_UNBOUNDED))
#define NEED_WINDOW	 (R(PAGE_ADD) | WINDOWS | R(FAULT))
#define NEED_PAGE	 (R(PAGE_ADD) | R(PAGE_DELETE))
#define NEED_DIRECT	 (R(RECLAIM_DIRECT_BEGIN) | R(RECLAIM_DIRECT_END))
#define SCOPE_FADVISE	 (R(FADVISE_BEGIN) | R(FADVISE_END))
#define SCOPE_INVALIDATE (R(INVALIDATE_BEGIN) | R(INVALIDATE_END))
#define SCOPE_DROP	 (R(DROP_CACHES_BEGIN) | R(DROP_CACHES_END))
#define NEED_MEMCG	 (R(RECLAIM_MEMCG_BEGIN) | R(RECLAIM_MEMCG_END))

/* Without these roles every figure would be wrong or missing: the pages, their classes, and
 * their job; the switch hook keeps the state of the running task. */
#define NEED_RUN (NEED_PAGE | WINDOWS | R(SWITCH) | R(FORK) | R(EXIT) | R(SEED))

/* Roles that replace another role or an ability of the build; otherwise they are not needed. */
#define FOR_OTHERS (R(URING) | R(TASK_FREE) | R(FAULT_ADDRESS))

static const uint64_t group_needs[GROUP_NR] = {
	[GROUP_READ] = R(READ),
	[GROUP_DELAY] = R(READ) | R(SWITCH),
	[GROUP_WINDOW] = NEED_WINDOW,
	[GROUP_FATE] = NEED_WINDOW | R(READ) | R(PAGE_DELETE) | R(MAP_PAGES),
	[GROUP_PAGE] = NEED_PAGE,
	[GROUP_GHOST] = NEED_PAGE,
	[GROUP_FAULT] = R(FAULT) | R(MAP_PAGES),
	[GROUP_MAP] = R(MAP_PAGES),
	[GROUP_DIRECT] = R(DIRECT_READ),
	/* Registers show the file of a read call, and the fault hook shows the file of a
	 * mapping. */
	[GROUP_STALL] = R(SWITCH) | R(FAULT),
};

/*
 * Counters that need more than their group. An eviction of unknown cause counts as evicted_other,
 * an add without a visible fault as other_added_pages: then those counters are unknown too.
 */
static const struct {
	enum counter c;
	uint64_t all;
	uint64_t scopes; /* these roles, or the addresses of functions in a stack; 0: neither */
} counter_needs[] = {
	{C_used, R(SWITCH), 0},
	{C_used_late, R(SWITCH), 0},
	{C_written_pages, WINDOWS, 0},
	{C_other_added_pages, WINDOWS | R(FAULT), 0},
	{C_evicted_reclaim_direct, NEED_DIRECT, 0},
	{C_evicted_reclaim_memcg, NEED_MEMCG, 0},
	{C_evicted_dontneed, 0, SCOPE_FADVISE},
	{C_evicted_drop_caches, 0, SCOPE_DROP},
	{C_evicted_direct_io, 0, SCOPE_INVALIDATE},
	{C_evicted_invalidate, 0, SCOPE_INVALIDATE},
	{C_evicted_other, NEED_DIRECT | NEED_MEMCG, SCOPE_FADVISE | SCOPE_DROP | SCOPE_INVALIDATE},
	{C_refault_misses, NEED_WINDOW, 0},
};

/* Appends; truncates with dots. */
static void __attribute__((format(printf, 3, 4)))
append_reason(char *buf, size_t size, const char *fmt, ...)
{
	size_t len = strlen(buf);
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(buf + len, size - len, fmt, ap);
	va_end(ap);
	if (n >= (int)(size - len) && size > 4)
		memcpy(buf + size - 4, "...", 4);
}

static uint64_t live_roles(const struct probe_plan *plan)
{
	uint64_t live = 0;

	for (int r = 0; r < ROLE_NR; r++) {
		if (plan->choices[r].state == PROBE_LIVE)
			live |= 1ULL << r;
	}
	return live;
}

/* "needs NAME: its reason (also: NAME, NAME)" */
static void say_missing(const struct probe_plan *plan, uint64_t missing, char *buf, size_t size)
{
	int first = __builtin_ctzll(missing);
	const char *sep = "; also absent: ";

	append_reason(buf, size, "needs %s: %s", probe_role_name(first),
		      plan->choices[first].reason);
	for (int r = first + 1; r < ROLE_NR; r++) {
		if (!(missing & 1ULL << r))
			continue;
		append_reason(buf, size, "%s%s", sep, probe_role_name(r));
		sep = ", ";
	}
}

bool probe_plan_needs(enum counter c, enum probe_role role)
{
	enum counter_group g = counter_group(c);

	return g != GROUP_FATE && group_needs[g] & 1ULL << role;
}

bool probe_plan_has(const struct probe_plan *plan, enum probe_role role)
{
	return plan->choices[role].state == PROBE_LIVE;
}

bool probe_plan_by_function(const struct probe_plan *plan, enum probe_role role)
{
	const struct probe_choice *c = &plan->choices[role];

	return c->state == PROBE_LIVE && c->kind != HOOK_TP_BTF;
}

static void decide_measured(struct probe_plan *plan)
{
	uint64_t live = live_roles(plan);
	uint64_t need = NEED_RUN;
	uint64_t missing;

	for (int g = 0; g < GROUP_NR; g++) {
		missing = group_needs[g] & ~live;
		plan->measured[g] = !missing;
		plan->reason[g][0] = '\0';
		if (missing)
			say_missing(plan, missing, plan->reason[g], sizeof(plan->reason[g]));
	}
	if (plan->choices[ROLE_CGROUP_MOVE].wanted)
		need |= R(CGROUP_MOVE);
	missing = need & ~live;
	plan->viable = !missing;
	plan->refusal[0] = '\0';
	if (missing)
		say_missing(plan, missing, plan->refusal, sizeof(plan->refusal));
}

bool probe_plan_measures(const struct probe_plan *plan, enum counter c, char *buf, size_t size)
{
	enum counter_group g = counter_group(c);
	bool symbols = (c == C_evicted_dontcache || c == C_evicted_other) && plan->drops_behind &&
		       !plan->symbols;
	uint64_t missing = 0;

	if (!plan->measured[g]) {
		snprintf(buf, size, "%s", plan->reason[g]);
		return false;
	}
	for (size_t i = 0; i < sizeof(counter_needs) / sizeof(counter_needs[0]); i++) {
		if (counter_needs[i].c != c)
			continue;
		missing = counter_needs[i].all & ~live_roles(plan);
		symbols |= counter_needs[i].scopes & ~live_roles(plan) && !plan->symbols;
	}
	if (!missing && !symbols)
		return true;
	if (size)
		buf[0] = '\0';
	if (size && missing)
		say_missing(plan, missing, buf, size);
	else if (size)
		append_reason(
			buf, size,
			"needs fentry and fexit, or kernel addresses, which /proc/kallsyms hides "
			"here");
	return false;
}

static bool proto_known(const struct probe_candidate *c, const char *proto)
{
	if (!c->protos[0])
		return true;
	for (int i = 0; i < PROBE_PROTOS_MAX && c->protos[i]; i++) {
		if (!strcmp(c->protos[i], proto))
			return true;
	}
	return false;
}

/* While a program of that kind runs, the kernel may switch to another task. */
static bool is_unguarded(const struct kernel_caps *caps, enum hook_kind kind)
{
	return (kind == HOOK_FENTRY || kind == HOOK_FEXIT) && !kernel_caps_must_hold(caps) &&
	       caps->preempts != CAPS_NO;
}

/* True: usable. False: appends the reason to why. */
static bool candidate_fits(const struct kernel_caps *caps, const struct probe_candidate *c,
			   char *why, size_t size)
{
	const struct kernel_hook *hook = kernel_caps_hook(caps, c->kind, c->target);
	const struct hook_support *support = &caps->support[c->kind];
	const char *kind = hook_kind_name(c->kind);
	char text[96];

	if (caps->btf_err == -ENOENT)
		append_reason(why, size, "this kernel has no BTF (%s)", KERNEL_BTF_PATH);
	else if (caps->btf_err)
		append_reason(why, size, "its BTF cannot be used: %s", strerror(-caps->btf_err));
	else if (hook && hook->err == -ENODEV)
		append_reason(why, size,
			      "%s:%s is not in this kernel, and the module %s is not loaded", kind,
			      c->target, c->module);
	else if (!hook || hook->err == -ENOENT)
		append_reason(why, size, "%s:%s is not in this kernel", kind, c->target);
	else if (hook->err)
		append_reason(why, size, "%s:%s: its prototype cannot be read: %s", kind, c->target,
			      strerror(-hook->err));
	else if (!proto_known(c, hook->proto))
		append_reason(why, size, "%s:%s has the prototype %s here; cachemon supports %s",
			      kind, c->target, hook->proto, c->protos[0]);
	else if (support->trial == TRIAL_NONE &&
		 (!kernel_caps_holds(caps, CAP_BPF) || !kernel_caps_holds(caps, CAP_PERFMON)))
		append_reason(why, size, "no privilege to load %s programs (CAP_BPF, CAP_PERFMON)",
			      kind);
	else if (hook->in_module && c->kind != HOOK_KPROBE && !(caps->held & 1ULL << CAP_SYS_ADMIN))
		append_reason(why, size, "%s:%s is in the module %s, which requires CAP_SYS_ADMIN",
			      kind, c->target, c->module);
	else if (support->trial != TRIAL_WORKS) {
		hook_support_text(support, text, sizeof(text));
		append_reason(why, size, "%s programs: %s", kind, text);
	} else if (is_unguarded(caps, c->kind)) {
		append_reason(why, size, "tasks %s be preempted inside %s programs here",
			      caps->preempts == CAPS_YES ? "can" : "might", kind);
	} else {
		return true;
	}
	return false;
}

/* Why a role is not wanted; NULL: it is wanted. Earlier roles are already chosen. */
static const char *not_asked(const struct probe_plan *plan, enum probe_role role)
{
	const struct plan_request *request = &plan->request;
	if (role == ROLE_URING && probe_plan_by_function(plan, ROLE_READ))
		return "not needed: the read hook reports the range";
	if (role == ROLE_TASK_FREE && plan->build != BUILD_BASIC)
		return "not needed: the kernel stores task state with the task";
	if (role == ROLE_FAULT_ADDRESS && probe_plan_by_function(plan, ROLE_FAULT))
		return "not needed: the fault hook reports it";
	if (role == ROLE_FAULT_ADDRESS &&
	    (request->level == LEVEL_COLD || !probe_build_traces(plan->build)))
		return "not needed: there are no traces";
	if (role == ROLE_READ && request->level == LEVEL_COLD)
		return "not requested: level cold";
	if (role == ROLE_ADVICE_CALLS && !request->advice_calls)
		return "not requested: --advice effects";
	if (role == ROLE_CGROUP_MOVE && !request->cgroup)
		return "not requested: the job is not a cgroup";
	if ((role == ROLE_CGROUP_MKDIR || role == ROLE_CGROUP_RMDIR) && !request->births)
		return "not requested: further jobs are not watched";
	if (role == ROLE_EXEC && !request->trees)
		return "not requested: no process trees of users are watched";
	if ((role == ROLE_SOCKET_SEND || role == ROLE_SOCKET_RECEIVE) && !request->sockets)
		return "not requested: one job is watched";
	if (role == ROLE_VFS_CALLS && !request->vfs_calls)
		return "not requested: metrics.vfs is not calls";
	if (role >= ROLE_VFS_READ && role <= ROLE_VFS_UNLINK && !request->vfs_functions)
		return "not requested: metrics.vfs is not functions";
	return NULL;
}

static bool row_stands(const struct kernel_caps *caps, const struct probe_candidate *c)
{
	switch (c->when) {
	case WHEN_PREEMPTIBLE:
		return kernel_caps_must_hold(caps);
	case WHEN_NOT_PREEMPTIBLE:
		return !kernel_caps_must_hold(caps);
	case WHEN_SYMBOLS:
		return caps->kallsyms == CAPS_YES;
	default:
		return true;
	}
}

/* The first fitting candidate from this row; reason says what it replaces. */
static void choose_program(const struct kernel_caps *caps, const struct probe_table *table,
			   size_t from, struct probe_choice *choice)
{
	for (size_t i = from; i < table->nr; i++) {
		const struct probe_candidate *c = &table->rows[i];
		char why[PLAN_REASON_MAX] = "";

		if (c->role != choice->role || !row_stands(caps, c))
			continue;
		if (!candidate_fits(caps, c, why, sizeof(why))) {
			append_reason(choice->reason, sizeof(choice->reason), "%s%s",
				      *choice->reason ? "; " : "", why);
			continue;
		}
		choice->state = PROBE_LIVE;
		choice->row = i;
		choice->program = c->program;
		choice->kind = c->kind;
		snprintf(choice->hook, sizeof(choice->hook), "%s:%s", hook_kind_name(c->kind),
			 c->target);
		snprintf(choice->instead, sizeof(choice->instead), "%s", choice->reason);
		choice->reason[0] = '\0';
		return;
	}
	if (!*choice->reason)
		append_reason(choice->reason, sizeof(choice->reason),
			      "no program exists for this role");
}

static void plan_role(const struct kernel_caps *caps, const struct probe_table *table,
		      struct probe_plan *plan, enum probe_role role)
{
	struct probe_choice *choice = &plan->choices[role];
	const char *why = not_asked(plan, role);

	*choice = (struct probe_choice){.role = role,
					.wanted = !why,
					.spare = why && FOR_OTHERS & 1ULL << role,
					.state = PROBE_ABSENT};
	if (why)
		append_reason(choice->reason, sizeof(choice->reason), "%s", why);
	else
		choose_program(caps, table, 0, choice);
}

void probe_plan_make(const struct kernel_caps *caps, const struct plan_request *request,
		     const struct probe_table *table, struct probe_plan *ret_plan)
{
	memset(ret_plan, 0, sizeof(*ret_plan));
	ret_plan->drops_behind = caps->drops_behind;
	ret_plan->symbols = caps->kallsyms == CAPS_YES;
	ret_plan->build = caps->build;
	ret_plan->preemptible = kernel_caps_must_hold(caps);
	ret_plan->request = *request;
	for (int r = 0; r < ROLE_NR; r++)
		plan_role(caps, table, ret_plan, r);
	decide_measured(ret_plan);
}

/* NULL: no live choice has this program. */
static struct probe_choice *find_live(struct probe_plan *plan, const char *program)
{
	for (int r = 0; r < ROLE_NR; r++) {
		struct probe_choice *choice = &plan->choices[r];

		if (choice->state == PROBE_LIVE && !strcmp(choice->program, program))
			return choice;
	}
	return NULL;
}

int probe_plan_mark_failed(struct probe_plan *plan, const char *program, int err)
{
	struct probe_choice *choice = find_live(plan, program);

	if (!choice)
		return -ENOENT;
	choice->state = PROBE_FAILED;
	append_reason(choice->reason, sizeof(choice->reason), "%s%s%s was refused: %s",
		      choice->instead, *choice->instead ? "; " : "", choice->hook,
		      strerror(abs(err)));
	decide_measured(plan);
	return 0;
}

int probe_plan_fall_back(const struct kernel_caps *caps, const struct probe_table *table,
			 struct probe_plan *plan, const char *program, int err)
{
	struct probe_choice *choice = find_live(plan, program);

	if (!choice)
		return -ENOENT;
	probe_plan_mark_failed(plan, program, err);
	choose_program(caps, table, choice->row + 1, choice);
	/* The way in which reads are seen decides what else is needed. */
	for (int other = ROLE_READ + 1; choice->role == ROLE_READ && other < ROLE_NR; other++) {
		if (FOR_OTHERS & 1ULL << other)
			plan_role(caps, table, plan, other);
	}
	decide_measured(plan);
	return choice->state == PROBE_LIVE;
}

const char *probe_state_name(enum probe_state state)
{
	static const char *const names[] = {
		[PROBE_LIVE] = "live",
		[PROBE_ABSENT] = "absent",
		[PROBE_FAILED] = "failed",
	};

	return names[state];
}
