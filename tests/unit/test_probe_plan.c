/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: plan account util */
#include "plan_invent.h"

#include <errno.h>
#include <linux/capability.h>

static const struct plan_request full = {.level = LEVEL_FULL};
static const struct plan_request all = {LEVEL_FULL, true, true};

static void test_whole_kernel(void **state)
{
	struct kernel_caps caps;
	struct probe_plan plan;

	invent(probe_table_own(), &caps);
	make(&caps, &all, &plan);
	assert_true(plan.viable);
	for (int r = 0; r < ROLE_NR; r++)
		assert_int_equal(plan.choices[r].state, PROBE_LIVE);
	for (int g = 0; g < GROUP_NR; g++)
		assert_true(plan.measured[g]);
	assert_string_equal(plan.choices[ROLE_READ].hook, "tp_btf:mm_filemap_get_pages");
	assert_string_equal(plan.choices[ROLE_READ].program, "read_tp");
	assert_string_equal(plan.choices[ROLE_SEED].hook, "iter:task");
}

static void test_not_asked_for(void **state)
{
	static const struct plan_request cold = {.level = LEVEL_COLD};
	static const struct plan_request automatic = {.level = LEVEL_AUTO};
	struct kernel_caps caps;
	struct probe_plan plan;

	invent(probe_table_own(), &caps);
	make(&caps, &cold, &plan);
	assert_true(plan.viable);
	assert_false(plan.choices[ROLE_READ].wanted);
	assert_string_equal(plan.choices[ROLE_READ].reason, "not asked for: level cold");
	assert_string_equal(plan.reason[GROUP_READ], "needs read: not asked for: level cold");
	assert_false(plan.measured[GROUP_READ] || plan.measured[GROUP_DELAY] ||
		     plan.measured[GROUP_FATE] || plan.measured[GROUP_STALL]);
	assert_true(plan.measured[GROUP_WINDOW] && plan.measured[GROUP_PAGE] &&
		    plan.measured[GROUP_GHOST] && plan.measured[GROUP_FAULT] &&
		    plan.measured[GROUP_MAP] && plan.measured[GROUP_DIRECT]);
	make(&caps, &automatic, &plan);
	assert_int_equal(plan.choices[ROLE_READ].state, PROBE_LIVE);
	assert_int_equal(plan.choices[ROLE_ADVICE_CALLS].state, PROBE_ABSENT);
	assert_contains(plan.choices[ROLE_ADVICE_CALLS].reason, "--advice effects");
	assert_contains(plan.choices[ROLE_CGROUP_MOVE].reason, "no cgroup");
	assert_true(plan.viable);
}

/* One hook missing each: which groups go, and whether a run is refused. */
static const struct {
	enum probe_role role;
	uint32_t lost;
	bool viable;
} losses[] = {
	{ROLE_PAGE_ADD, G(WINDOW) | G(FATE) | G(PAGE) | G(GHOST), false},
	{ROLE_PAGE_DELETE, G(FATE) | G(PAGE) | G(GHOST), false},
	{ROLE_READ, G(READ) | G(DELAY) | G(FATE) | G(STALL), true},
	{ROLE_WINDOW_SYNC, G(WINDOW) | G(FATE), false},
	{ROLE_WINDOW_ASYNC, G(WINDOW) | G(FATE), false},
	{ROLE_WINDOW_ORDER, G(WINDOW) | G(FATE), false},
	{ROLE_WINDOW_UNBOUNDED, G(WINDOW) | G(FATE), false},
	{ROLE_FAULT, G(WINDOW) | G(FATE) | G(FAULT), true},
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
};

static void check_loss(const struct probe_plan *plan, size_t i)
{
	const char *name = probe_role_name(losses[i].role);

	for (int g = 0; g < GROUP_NR; g++) {
		assert_int_equal(plan->measured[g], !(losses[i].lost & 1U << g));
		if (!plan->measured[g])
			assert_contains(plan->reason[g], name);
	}
	assert_int_equal(plan->viable, losses[i].viable);
	if (!plan->viable)
		assert_contains(plan->refusal, name);
	for (int r = 0; r < ROLE_NR; r++) {
		if (r != (int)losses[i].role)
			assert_int_equal(plan->choices[r].state, PROBE_LIVE);
	}
}

static void test_each_hook_missing(void **state)
{
	const struct probe_table *table = probe_table_own();
	struct kernel_caps whole, caps;
	struct probe_plan plan;
	struct kernel_hook *h;

	assert_int_equal(sizeof(losses) / sizeof(losses[0]), ROLE_NR);
	invent(table, &whole);
	for (size_t row = 0; row < table->nr; row++) {
		const struct probe_candidate *c = &table->rows[row];
		const struct probe_choice *choice = &plan.choices[c->role];
		size_t i = c->role;

		assert_int_equal(losses[i].role, c->role);
		caps = whole;
		h = hook_of(&caps, c->kind, c->target);
		h->err = -ENOENT;
		make(&caps, &all, &plan);
		check_loss(&plan, i);
		assert_int_equal(choice->state, PROBE_ABSENT);
		assert_contains(choice->reason, c->target);
		assert_contains(choice->reason, "is not in this kernel");

		h->err = -E2BIG;
		make(&caps, &all, &plan);
		check_loss(&plan, i);
		assert_contains(choice->reason, "cannot be read");

		if (!c->protos[0])
			continue;
		/* One argument more, and another type: refused by name, never guessed. */
		h->err = 0;
		snprintf(h->proto, sizeof(h->proto), "void(page*,sneaked_in*)");
		make(&caps, &all, &plan);
		check_loss(&plan, i);
		assert_contains(choice->reason, "void(page*,sneaked_in*)");
		assert_contains(choice->reason, c->protos[0]);

		/* Nobody asked BTF about it: not there for all one knows. */
		h->target = "something_else";
		make(&caps, &all, &plan);
		check_loss(&plan, i);
	}
}

static void test_each_program_failing(void **state)
{
	const struct probe_table *table = probe_table_own();
	struct kernel_caps caps;
	struct probe_plan plan;

	invent(table, &caps);
	for (size_t i = 0; i < table->nr; i++) {
		const struct probe_choice *choice = &plan.choices[table->rows[i].role];

		make(&caps, &all, &plan);
		assert_int_equal(probe_plan_mark_failed(&plan, table->rows[i].program,
							i % 2 ? -EACCES : EACCES),
				 0);
		check_plan(&plan);
		check_loss(&plan, table->rows[i].role);
		assert_int_equal(choice->state, PROBE_FAILED);
		assert_contains(choice->reason, choice->hook);
		assert_contains(choice->reason, "Permission denied");
		/* It is no longer live, so it cannot fail once more. */
		assert_int_equal(probe_plan_mark_failed(&plan, table->rows[i].program, EACCES),
				 -ENOENT);
	}
	make(&caps, &full, &plan);
	assert_int_equal(probe_plan_mark_failed(&plan, "no_such_tp", EACCES), -ENOENT);
	assert_int_equal(probe_plan_mark_failed(&plan, "cgroup_move_tp", EACCES), -ENOENT);
	assert_true(plan.viable);
}

static void expect_counter(const struct probe_plan *plan, enum counter c, const char *missing)
{
	char why[PLAN_REASON_MAX];

	if (!missing) {
		assert_true(probe_plan_measures(plan, c, NULL, 0));
		return;
	}
	assert_false(probe_plan_measures(plan, c, NULL, 0));
	assert_false(probe_plan_measures(plan, c, why, sizeof(why)));
	assert_contains(why, missing);
}

/* A cause that cannot be told makes its own counter and "other" unknown, and no more. */
static void test_counters_beside_their_group(void **state)
{
	struct kernel_caps caps;
	struct probe_plan plan;

	invent(probe_table_own(), &caps);
	make(&caps, &full, &plan);
	assert_int_equal(probe_plan_mark_failed(&plan, "dreclaim_out_tp", ENOENT), 0);
	assert_true(plan.measured[GROUP_PAGE]);
	expect_counter(&plan, C_evicted_reclaim_direct, "reclaim_direct_end");
	expect_counter(&plan, C_evicted_other, "reclaim_direct_end");
	expect_counter(&plan, C_evicted_reclaim_memcg, NULL);
	expect_counter(&plan, C_evicted_reclaim_kswapd, NULL);
	expect_counter(&plan, C_evicted_truncate, NULL);
	assert_int_equal(probe_plan_mark_failed(&plan, "mreclaim_in_tp", ENOENT), 0);
	expect_counter(&plan, C_evicted_reclaim_memcg, "reclaim_memcg_begin");
	expect_counter(&plan, C_evicted_other, "also absent: reclaim_memcg_begin");
	expect_counter(&plan, C_written_pages, NULL);

	make(&caps, &full, &plan);
	assert_int_equal(probe_plan_mark_failed(&plan, "fault_tp", ENOENT), 0);
	expect_counter(&plan, C_other_added_pages, "fault");
	expect_counter(&plan, C_refaults, NULL);
	expect_counter(&plan, C_refault_misses, "fault");
	expect_counter(&plan, C_misses, "fault");
	expect_counter(&plan, C_written_pages, NULL);

	make(&caps, &full, &plan);
	assert_int_equal(probe_plan_mark_failed(&plan, "switch_tp", ENOENT), 0);
	expect_counter(&plan, C_used_late, "switch");
	expect_counter(&plan, C_evicted_unused, NULL);
}

static void test_hidden_addresses(void **state)
{
	static const enum caps_flag hidden[] = {CAPS_NO, CAPS_UNKNOWN};
	struct kernel_caps caps;
	struct probe_plan plan;

	invent(probe_table_own(), &caps);
	for (size_t i = 0; i < 2; i++) {
		caps.kallsyms = hidden[i];
		make(&caps, &full, &plan);
		assert_true(plan.viable && plan.measured[GROUP_PAGE]);
		expect_counter(&plan, C_evicted_dontneed, "/proc/kallsyms");
		expect_counter(&plan, C_evicted_drop_caches, "/proc/kallsyms");
		expect_counter(&plan, C_evicted_direct_io, "/proc/kallsyms");
		expect_counter(&plan, C_evicted_other, "/proc/kallsyms");
		expect_counter(&plan, C_evicted_truncate, NULL);
		expect_counter(&plan, C_evicted_reclaim_kswapd, NULL);
		expect_counter(&plan, C_evicted_reclaim_direct, NULL);
		assert_int_equal(probe_plan_mark_failed(&plan, "mreclaim_in_tp", EIO), 0);
		expect_counter(&plan, C_evicted_other, "reclaim_memcg_begin");
	}
}

/* STALL wants switches and the per-read hook, which tells what was waited for. */
static void test_stall_needs_both(void **state)
{
	static const char *const programs[] = {"read_tp", "switch_tp"};
	struct kernel_caps caps;
	struct probe_plan plan;

	for (int i = 0; i < 2; i++) {
		invent(probe_table_own(), &caps);
		make(&caps, &full, &plan);
		assert_true(plan.measured[GROUP_STALL]);
		assert_int_equal(probe_plan_mark_failed(&plan, programs[i], EIO), 0);
		assert_false(plan.measured[GROUP_STALL]);
		assert_contains(plan.reason[GROUP_STALL], "needs");
	}
}

static void test_no_btf(void **state)
{
	struct kernel_caps caps;
	struct probe_plan plan;

	invent(probe_table_own(), &caps);
	caps.btf_err = -ENOENT;
	make(&caps, &all, &plan);
	assert_false(plan.viable);
	assert_contains(plan.refusal, "no BTF (/sys/kernel/btf/vmlinux)");
	for (int g = 0; g < GROUP_NR; g++)
		assert_false(plan.measured[g]);
	caps.btf_err = -EINVAL;
	make(&caps, &all, &plan);
	assert_contains(plan.refusal, "its BTF cannot be used: Invalid argument");
}

static void test_kinds_refused(void **state)
{
	struct kernel_caps caps;
	struct probe_plan plan;

	invent(probe_table_own(), &caps);
	caps.support[HOOK_TP_BTF] = (struct hook_support){TRIAL_NO_LOAD, -EPERM};
	make(&caps, &full, &plan);
	assert_false(plan.viable);
	assert_contains(plan.refusal, "tp_btf programs: refused at load: Operation not permitted");
	assert_int_equal(plan.choices[ROLE_SEED].state, PROBE_LIVE);

	invent(probe_table_own(), &caps);
	caps.support[HOOK_ITER].trial = TRIAL_NO_TARGET;
	make(&caps, &full, &plan);
	assert_false(plan.viable);
	assert_contains(plan.refusal, "needs seed: iter programs: not in this kernel");
}

static void test_no_privileges(void **state)
{
	static const uint64_t held[] = {0, 1ULL << CAP_BPF, 1ULL << CAP_PERFMON};
	struct kernel_caps caps;
	struct probe_plan plan;

	invent(probe_table_own(), &caps);
	caps.support[HOOK_TP_BTF].trial = TRIAL_NONE;
	for (size_t i = 0; i < 3; i++) {
		caps.held = held[i];
		make(&caps, &full, &plan);
		assert_false(plan.viable);
		assert_contains(plan.refusal, "no privilege to load tp_btf programs");
	}
	caps.held = 1ULL << CAP_BPF | 1ULL << CAP_PERFMON;
	make(&caps, &full, &plan);
	assert_contains(plan.refusal, "tp_btf programs: not tried");
}

static void test_state_names(void **state)
{
	assert_string_equal(probe_state_name(PROBE_LIVE), "live");
	assert_string_equal(probe_state_name(PROBE_ABSENT), "absent");
	assert_string_equal(probe_state_name(PROBE_FAILED), "failed");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_kernel),
		cmocka_unit_test(test_not_asked_for),
		cmocka_unit_test(test_each_hook_missing),
		cmocka_unit_test(test_each_program_failing),
		cmocka_unit_test(test_counters_beside_their_group),
		cmocka_unit_test(test_hidden_addresses),
		cmocka_unit_test(test_stall_needs_both),
		cmocka_unit_test(test_no_btf),
		cmocka_unit_test(test_kinds_refused),
		cmocka_unit_test(test_no_privileges),
		cmocka_unit_test(test_state_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
