/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: plan account access */
#include "plan_invent.h"

#include <errno.h>
#include <linux/capability.h>

static const struct plan_request full = {.level = LEVEL_FULL};
static const struct plan_request all = {LEVEL_FULL, true, true, true, true, true, true, true};

static void test_whole_kernel(void **state)
{
	struct kernel_caps caps;
	struct probe_plan plan;

	invent(probe_table_own(), &caps);
	make(&caps, &all, &plan);
	assert_true(plan.viable);
	for (int r = 0; r < ROLE_NR; r++) {
		bool spare = r == ROLE_TASK_FREE;

		assert_int_equal(plan.choices[r].wanted, !spare);
		assert_int_equal(plan.choices[r].spare, spare);
		assert_int_equal(plan.choices[r].state, spare ? PROBE_ABSENT : PROBE_LIVE);
		assert_string_equal(plan.choices[r].instead, "");
	}
	assert_contains(plan.choices[ROLE_TASK_FREE].reason,
			"not needed: the kernel stores task state with the task");
	assert_int_equal(plan.build, BUILD_DIRECT);
	assert_false(probe_plan_by_function(&plan, ROLE_READ));
	for (int g = 0; g < GROUP_NR; g++)
		assert_true(plan.measured[g]);
	assert_string_equal(plan.choices[ROLE_READ].hook, "tp_btf:mm_filemap_get_pages");
	assert_string_equal(plan.choices[ROLE_READ].program, "read_tp");
	assert_string_equal(plan.choices[ROLE_SEED].hook, "iter:task");
}

/* The kind of the read hook, and the build, decide which other programs are needed. */
static void test_roles_that_depend(void **state)
{
	struct kernel_caps caps;
	struct probe_plan plan;

	invent(probe_table_own(), &caps);
	caps.build = BUILD_PROBE;
	hook_of(&caps, HOOK_TP_BTF, "mm_filemap_get_pages")->err = -ENOENT;
	make(&caps, &all, &plan);
	assert_int_equal(plan.build, BUILD_PROBE);
	assert_true(probe_plan_by_function(&plan, ROLE_READ));
	assert_true(!plan.choices[ROLE_URING].wanted && plan.choices[ROLE_URING].spare);
	assert_string_equal(plan.choices[ROLE_URING].reason,
			    "not needed: the read hook reports the range");
	assert_false(plan.choices[ROLE_TASK_FREE].wanted);
	caps.build = BUILD_BASIC;
	make(&caps, &all, &plan);
	assert_int_equal(plan.build, BUILD_BASIC);
	assert_string_equal(plan.choices[ROLE_TASK_FREE].hook, "tp_btf:sched_process_free");
}

/* Type-checked programs on a function of a module need more rights. */
static void test_functions_of_modules(void **state)
{
	struct kernel_caps caps;
	struct probe_plan plan;
	const struct probe_choice *nfs = &plan.choices[ROLE_DIRECT_NFS];

	invent(probe_table_own(), &caps);
	hook_of(&caps, HOOK_FENTRY, "nfs_file_direct_read")->in_module = true;
	hook_of(&caps, HOOK_KPROBE, "nfs_file_direct_read")->in_module = true;
	make(&caps, &all, &plan);
	assert_string_equal(nfs->hook, "fentry:nfs_file_direct_read");
	caps.held = 1ULL << CAP_BPF | 1ULL << CAP_PERFMON;
	make(&caps, &all, &plan);
	assert_string_equal(nfs->hook, "kprobe:nfs_file_direct_read");
	assert_contains(nfs->instead, "in the module nfs, which requires CAP_SYS_ADMIN");
	hook_of(&caps, HOOK_FENTRY, "nfs_file_direct_read")->err = -ENODEV;
	hook_of(&caps, HOOK_KPROBE, "nfs_file_direct_read")->err = -ENODEV;
	make(&caps, &all, &plan);
	assert_int_equal(nfs->state, PROBE_ABSENT);
	assert_contains(nfs->reason, "the module nfs is not loaded");
	assert_true(plan.measured[GROUP_DIRECT]);
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
	assert_false(plan.choices[ROLE_READ].wanted || plan.choices[ROLE_READ].spare);
	assert_string_equal(plan.choices[ROLE_READ].reason, "not requested: level cold");
	assert_string_equal(plan.reason[GROUP_READ], "needs read: not requested: level cold");
	assert_false(plan.measured[GROUP_READ] || plan.measured[GROUP_DELAY] ||
		     plan.measured[GROUP_FATE]);
	assert_true(plan.measured[GROUP_STALL]);
	assert_true(plan.measured[GROUP_WINDOW] && plan.measured[GROUP_PAGE] &&
		    plan.measured[GROUP_GHOST] && plan.measured[GROUP_FAULT] &&
		    plan.measured[GROUP_MAP] && plan.measured[GROUP_DIRECT]);
	make(&caps, &automatic, &plan);
	assert_int_equal(plan.choices[ROLE_READ].state, PROBE_LIVE);
	assert_int_equal(plan.choices[ROLE_ADVICE_CALLS].state, PROBE_ABSENT);
	assert_contains(plan.choices[ROLE_ADVICE_CALLS].reason, "--advice effects");
	assert_contains(plan.choices[ROLE_CGROUP_MOVE].reason, "not a cgroup");
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

/* A cause that cannot be detected makes only its own counter and "other" unknown. */
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

static const struct {
	enum counter c, by; /* the condition for `is` */
} by_scope[] = {
	{C_evicted_dontneed, C_evicted_dontneed},
	{C_evicted_drop_caches, C_evicted_drop_caches},
	{C_evicted_direct_io, C_evicted_direct_io},
	{C_evicted_invalidate, C_evicted_direct_io},
};

/* A cause that only a stack shows is detected by its scopes or by the addresses of functions. */
static void test_hidden_addresses(void **state)
{
	static const enum caps_flag flags[] = {CAPS_NO, CAPS_UNKNOWN, CAPS_YES};
	static const struct {
		const char *program;
		enum counter c;
	} scopes[] = {
		{"fadvise_in_fn", C_evicted_dontneed},	{"fadvise_out_fn", C_evicted_dontneed},
		{"drop_in_fn", C_evicted_drop_caches},	{"drop_out_fn", C_evicted_drop_caches},
		{"inval_in_fn", C_evicted_direct_io},	{"inval_out_fn", C_evicted_direct_io},
		{"truncate_in_fn", C_evicted_truncate}, {"truncate_out_fn", C_evicted_truncate},
	};
	struct kernel_caps caps;
	struct probe_plan plan;

	invent(probe_table_own(), &caps);
	for (size_t f = 0; f < 3; f++) {
		for (size_t i = 0; i < sizeof(scopes) / sizeof(scopes[0]); i++) {
			bool lost = flags[f] != CAPS_YES && scopes[i].c != C_evicted_truncate;

			caps.kallsyms = flags[f];
			make(&caps, &full, &plan);
			assert_true(plan.viable && plan.measured[GROUP_PAGE]);
			expect_counter(&plan, scopes[i].c, NULL);
			expect_counter(&plan, C_evicted_other, NULL);
			assert_int_equal(probe_plan_mark_failed(&plan, scopes[i].program, EIO), 0);
			for (size_t k = 0; k < sizeof(by_scope) / sizeof(by_scope[0]); k++)
				expect_counter(&plan, by_scope[k].c,
					       lost && by_scope[k].by == scopes[i].c
						       ? "/proc/kallsyms"
						       : NULL);
			expect_counter(&plan, C_evicted_other, lost ? "/proc/kallsyms" : NULL);
			expect_counter(&plan, C_evicted_truncate, NULL);
			expect_counter(&plan, C_evicted_reclaim_kswapd, NULL);
			expect_counter(&plan, C_evicted_reclaim_direct, NULL);
			assert_int_equal(probe_plan_mark_failed(&plan, "mreclaim_in_tp", EIO), 0);
			expect_counter(&plan, C_evicted_other, "reclaim_memcg_begin");
		}
	}
}

/* STALL needs the switch hooks, and the fault hooks for mapped files. */
static void test_stall_needs_both(void **state)
{
	static const char *const programs[] = {"fault_tp", "switch_tp"};
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
		cmocka_unit_test(test_roles_that_depend),
		cmocka_unit_test(test_functions_of_modules),
		cmocka_unit_test(test_not_asked_for),
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
