/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: plan account access */
/* The result for each role if its hooks are missing or its programs are refused. */
#include "plan_invent.h"

static const struct plan_request full = {.level = LEVEL_FULL};
static const struct plan_request all = {LEVEL_FULL, true, true, true, true, true, true, true};

/* With one hook missing: which groups are lost, and whether a run is refused. */
static const struct {
	enum probe_role role;
	uint32_t lost;
	bool viable;
} losses[] = {
	{ROLE_PAGE_ADD, G(WINDOW) | G(FATE) | G(PAGE) | G(GHOST), false},
	{ROLE_PAGE_DELETE, G(FATE) | G(PAGE) | G(GHOST), false},
	{ROLE_READ, G(READ) | G(DELAY) | G(FATE), true},
	{ROLE_WINDOW_SYNC, G(WINDOW) | G(FATE), false},
	{ROLE_WINDOW_ASYNC, G(WINDOW) | G(FATE), false},
	{ROLE_WINDOW_ORDER, G(WINDOW) | G(FATE), false},
	{ROLE_WINDOW_UNBOUNDED, G(WINDOW) | G(FATE), false},
	{ROLE_FAULT, G(WINDOW) | G(FATE) | G(FAULT) | G(STALL), true},
	{ROLE_MAP_PAGES, G(FATE) | G(FAULT) | G(MAP), true},
	{ROLE_SWITCH, G(DELAY) | G(STALL), false},
	{ROLE_FORK, 0, false},
	{ROLE_EXIT, 0, false},
	{ROLE_RECLAIM_DIRECT_BEGIN, 0, true},
	{ROLE_RECLAIM_DIRECT_END, 0, true},
	{ROLE_RECLAIM_MEMCG_BEGIN, 0, true},
	{ROLE_RECLAIM_MEMCG_END, 0, true},
	{ROLE_DIRECT_READ, G(DIRECT), true},
	{ROLE_URING, 0, true},
	{ROLE_CGROUP_MOVE, 0, false},
	{ROLE_ADVICE_CALLS, 0, true},
	{ROLE_SEED, 0, false},
	{ROLE_FADVISE_BEGIN, 0, true},
	{ROLE_FADVISE_END, 0, true},
	{ROLE_INVALIDATE_BEGIN, 0, true},
	{ROLE_INVALIDATE_END, 0, true},
	{ROLE_DROP_CACHES_BEGIN, 0, true},
	{ROLE_DROP_CACHES_END, 0, true},
	{ROLE_TRUNCATE_BEGIN, 0, true},
	{ROLE_TRUNCATE_END, 0, true},
	{ROLE_TASK_FREE, 0, true},
	{ROLE_DIRECT_DONE, 0, true},
	{ROLE_DIRECT_QUEUED, 0, true},
	{ROLE_DIRECT_BLOCK, 0, true},
	{ROLE_DIRECT_BLOCK_END, 0, true},
	{ROLE_DIRECT_NFS, 0, true},
	{ROLE_DIRECT_NFS_END, 0, true},
	{ROLE_DIRECT_FUSE, 0, true},
	{ROLE_DIRECT_FUSE_END, 0, true},
	{ROLE_FAULT_ADDRESS, 0, true},
	{ROLE_CGROUP_MKDIR, 0, true},
	{ROLE_CGROUP_RMDIR, 0, true},
	{ROLE_EXEC, 0, true},
	{ROLE_SOCKET_SEND, 0, true},
	{ROLE_SOCKET_RECEIVE, 0, true},
	{ROLE_VFS_CALLS, 0, true},
	{ROLE_VFS_READ, 0, true},
	{ROLE_VFS_READV, 0, true},
	{ROLE_VFS_WRITE, 0, true},
	{ROLE_VFS_WRITEV, 0, true},
	{ROLE_VFS_OPEN, 0, true},
	{ROLE_VFS_MKDIR, 0, true},
	{ROLE_VFS_RMDIR, 0, true},
	{ROLE_VFS_UNLINK, 0, true},
};

/* A kernel whose plan wants the role. */
static void invent_for(enum probe_role role, struct kernel_caps *caps)
{
	invent(probe_table_own(), caps);
	caps->build = role == ROLE_FAULT_ADDRESS ? BUILD_DIRECT : BUILD_BASIC;
}

static void check_loss(const struct probe_plan *plan, enum probe_role role)
{
	const char *name = probe_role_name(role);

	assert_int_equal(losses[role].role, role);
	for (int g = 0; g < GROUP_NR; g++) {
		assert_int_equal(plan->measured[g], !(losses[role].lost & 1U << g));
		if (!plan->measured[g])
			assert_contains(plan->reason[g], name);
	}
	assert_int_equal(plan->viable, losses[role].viable);
	if (!plan->viable)
		assert_contains(plan->refusal, name);
	assert_true(plan->choices[role].wanted);
	for (int r = 0; r < ROLE_NR; r++) {
		if (r != (int)role)
			assert_int_equal(plan->choices[r].state == PROBE_LIVE,
					 plan->choices[r].wanted);
	}
}

/* Each candidate is used if those before it are unavailable; the reason names what they lack. */
static void test_each_hook_missing(void **state)
{
	const struct probe_table *table = probe_table_own();
	struct kernel_caps caps;
	struct probe_plan plan;

	for (size_t row = 0; row < table->nr; row++) {
		const struct probe_candidate *c = &table->rows[row];
		const struct probe_choice *choice = &plan.choices[c->role];

		invent_for(c->role, &caps);
		leave_row(&caps, table, row);
		caps.preemptible = c->when == WHEN_PREEMPTIBLE;
		make(&caps, &all, &plan);
		assert_int_equal(choice->state, PROBE_LIVE);
		assert_int_equal(choice->row, row);
		assert_true(plan.viable);
		for (int g = 0; g < GROUP_NR; g++)
			assert_true(plan.measured[g]);
		for (size_t i = 0; i < row; i++) {
			const struct probe_candidate *before = &table->rows[i];
			char why[256];

			if (before->role != c->role || (before->when && before->when != c->when))
				continue;
			if (before->kind == c->kind && !strcmp(before->target, c->target))
				snprintf(why, sizeof(why),
					 "%s:%s has the prototype %s here; cachemon supports %s",
					 hook_kind_name(c->kind), c->target, c->protos[0],
					 before->protos[0]);
			else
				snprintf(why, sizeof(why), "%s:%s is not in this kernel",
					 hook_kind_name(before->kind), before->target);
			assert_contains(choice->instead, why);
		}
	}
}

enum spoil { SPOIL_GONE, SPOIL_UNREADABLE, SPOIL_PROTO, SPOIL_UNASKED, SPOIL_NR };

static void spoil(struct kernel_hook *h, enum spoil how)
{
	switch (how) {
	case SPOIL_GONE:
		h->err = -ENOENT;
		break;
	case SPOIL_UNREADABLE:
		h->err = -E2BIG;
		break;
	case SPOIL_PROTO:
		strcpy(h->proto, "void(page*,sneaked_in*)");
		break;
	default:
		h->target = "something_else"; /* BTF was not queried for it */
	}
}

/* All candidates of a role are missing: it is absent, and the reason names what each of them
 * lacks. */
static void test_all_hooks_missing(void **state)
{
	static const char *const words[SPOIL_NR] = {
		"is not in this kernel", "its prototype cannot be read: Argument list too long",
		"has the prototype void(page*,sneaked_in*) here; cachemon supports ",
		"is not in this kernel"};
	const struct probe_table *table = probe_table_own();
	struct kernel_caps caps, whole;
	struct probe_plan plan;
	char why[256];

	assert_int_equal(sizeof(losses) / sizeof(losses[0]), ROLE_NR);
	for (int r = 0; r < ROLE_NR; r++) {
		const struct probe_choice *choice = &plan.choices[r];

		for (int how = 0; how < SPOIL_NR; how++) {
			if (r == ROLE_SEED && how == SPOIL_PROTO)
				continue; /* an iterator has its own arguments */
			invent_for(r, &whole);
			caps = whole;
			for (size_t h = 0; h < caps.nr_hooks; h++) {
				for (size_t i = 0; i < table->nr; i++) {
					const struct probe_candidate *c = &table->rows[i];

					if ((int)c->role == r && c->kind == whole.hooks[h].kind &&
					    !strcmp(c->target, whole.hooks[h].target))
						spoil(&caps.hooks[h], how);
				}
			}
			make(&caps, &all, &plan);
			check_loss(&plan, r);
			assert_int_equal(choice->state, PROBE_ABSENT);
			for (size_t i = 0; i < table->nr; i++) {
				const struct probe_candidate *c = &table->rows[i];

				if ((int)c->role != r)
					continue;
				snprintf(why, sizeof(why), "%s:%s%s%s%s", hook_kind_name(c->kind),
					 c->target, how == SPOIL_UNREADABLE ? ": " : " ",
					 words[how], how == SPOIL_PROTO ? c->protos[0] : "");
				assert_contains(choice->reason, why);
			}
		}
	}
}

static void test_each_program_failing(void **state)
{
	const struct probe_table *table = probe_table_own();
	struct kernel_caps caps;
	struct probe_plan plan;

	for (size_t i = 0; i < table->nr; i++) {
		const struct probe_candidate *c = &table->rows[i];
		const struct probe_choice *choice = &plan.choices[c->role];
		char why[256];

		invent_for(c->role, &caps);
		leave_row(&caps, table, i);
		caps.preemptible = c->when == WHEN_PREEMPTIBLE;
		make(&caps, &all, &plan);
		assert_int_equal(
			probe_plan_mark_failed(&plan, c->program, i % 2 ? -EACCES : EACCES), 0);
		check_plan(&plan);
		if (c->role != ROLE_READ || c->kind == HOOK_TP_BTF)
			check_loss(&plan, c->role);
		assert_int_equal(choice->state, PROBE_FAILED);
		snprintf(why, sizeof(why), "%s:%s was refused: Permission denied",
			 hook_kind_name(c->kind), c->target);
		assert_contains(choice->reason, why);
		/* The program is no longer live, so it cannot fail again. */
		assert_int_equal(probe_plan_mark_failed(&plan, c->program, EACCES), -ENOENT);
	}
	make(&caps, &full, &plan);
	assert_int_equal(probe_plan_mark_failed(&plan, "no_such_tp", EACCES), -ENOENT);
	assert_int_equal(probe_plan_mark_failed(&plan, "cgroup_move_tp", EACCES), -ENOENT);
	assert_true(plan.viable);
}

static bool fits(const struct kernel_caps *caps, const struct probe_candidate *c)
{
	const struct kernel_hook *h = kernel_caps_hook(caps, c->kind, c->target);

	if (c->when && (c->when == WHEN_PREEMPTIBLE) != (caps->preemptible > 0))
		return false;
	for (int i = 0; i < PROBE_PROTOS_MAX && c->protos[i]; i++) {
		if (!strcmp(h->proto, c->protos[i]))
			return !h->err;
	}
	return !c->protos[0] && !h->err;
}

/* Refused one after the other, in the order of the table, until none is left. */
static void test_falling_back(void **state)
{
	const struct probe_table *table = probe_table_own();
	struct kernel_caps caps;
	struct probe_plan plan;
	char why[256];

	for (int r = 0; r < ROLE_NR; r++) {
		const struct probe_choice *choice = &plan.choices[r];
		size_t nr = 0, refused[16];

		invent_for(r, &caps);
		make(&caps, &all, &plan);
		for (size_t i = 0; i < table->nr; i++) {
			if ((int)table->rows[i].role != r || !fits(&caps, &table->rows[i]))
				continue;
			assert_int_equal(choice->state, PROBE_LIVE);
			assert_int_equal(choice->row, i);
			assert_string_equal(choice->program, table->rows[i].program);
			assert_int_equal(choice->kind, table->rows[i].kind);
			refused[nr++] = i;
			int left =
				probe_plan_fall_back(&caps, table, &plan, choice->program, -EINVAL);
			check_plan(&plan);
			assert_int_equal(left, choice->state == PROBE_LIVE);
			for (size_t k = 0; k < nr; k++) {
				snprintf(why, sizeof(why), "%s:%s was refused: Invalid argument",
					 hook_kind_name(table->rows[refused[k]].kind),
					 table->rows[refused[k]].target);
				assert_contains(left ? choice->instead : choice->reason, why);
			}
		}
		assert_true(nr > 0);
		assert_int_equal(choice->state, PROBE_FAILED);
		assert_string_equal(choice->program, table->rows[refused[nr - 1]].program);
		assert_int_equal(probe_plan_fall_back(&caps, table, &plan, choice->program, EINVAL),
				 -ENOENT);
		if (r != ROLE_READ)
			check_loss(&plan, r);
	}
}

/* Reasons from before the first refusal are kept. */
static void test_falling_back_keeps_reasons(void **state)
{
	struct kernel_caps caps;
	struct probe_plan plan;
	const struct probe_choice *fault = &plan.choices[ROLE_FAULT];

	invent(probe_table_own(), &caps);
	hook_of(&caps, HOOK_TP_BTF, "mm_filemap_fault")->err = -ENOENT;
	make(&caps, &full, &plan);
	assert_int_equal(probe_plan_fall_back(&caps, probe_table_own(), &plan, "fault_fn", -EACCES),
			 1);
	assert_string_equal(fault->instead, "tp_btf:mm_filemap_fault is not in this kernel; "
					    "fentry:filemap_fault was refused: Permission denied");
	assert_int_equal(probe_plan_fall_back(&caps, probe_table_own(), &plan, "fault_kp", -EINVAL),
			 0);
	assert_string_equal(fault->reason, "tp_btf:mm_filemap_fault is not in this kernel; "
					   "fentry:filemap_fault was refused: Permission denied; "
					   "kprobe:filemap_fault was refused: Invalid argument");
}

/* A row that finds functions by their addresses, when these are hidden. */
static void test_hidden_addresses(void **state)
{
	const struct probe_table *table = probe_table_own();
	struct kernel_caps caps;
	struct probe_plan plan;

	for (size_t row = 0; row < table->nr; row++) {
		const struct probe_candidate *c = &table->rows[row];

		if (c->when != WHEN_SYMBOLS)
			continue;
		invent_for(c->role, &caps);
		leave_row(&caps, table, row);
		make(&caps, &all, &plan);
		assert_int_equal(plan.choices[c->role].row, row);
		for (int hidden = CAPS_UNKNOWN; hidden < CAPS_YES; hidden++) {
			caps.kallsyms = (enum caps_flag)hidden;
			make(&caps, &all, &plan);
			assert_true(plan.choices[c->role].state != PROBE_LIVE ||
				    plan.choices[c->role].row != row);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_hook_missing),
		cmocka_unit_test(test_hidden_addresses),
		cmocka_unit_test(test_all_hooks_missing),
		cmocka_unit_test(test_each_program_failing),
		cmocka_unit_test(test_falling_back),
		cmocka_unit_test(test_falling_back_keeps_reasons),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
