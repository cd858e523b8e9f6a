/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: plan account access */
#include "plan_invent.h"

static const struct plan_request full = {.level = LEVEL_FULL};

static bool same_hook(const struct probe_candidate *a, const struct probe_candidate *b)
{
	return a->kind == b->kind && !strcmp(a->target, b->target);
}

static bool same_proto(const struct probe_candidate *a, const struct probe_candidate *b)
{
	for (int i = 0; i < PROBE_PROTOS_MAX && a->protos[i]; i++) {
		for (int k = 0; k < PROBE_PROTOS_MAX && b->protos[k]; k++) {
			if (!strcmp(a->protos[i], b->protos[k]))
				return true;
		}
	}
	return false;
}

static void test_table(void **state)
{
	const struct probe_table *t = probe_table_own();
	struct kernel_hook hooks[KERNEL_HOOKS_MAX];
	uint64_t roles = 0;
	size_t nr = 99, distinct = 0;

	for (size_t i = 0; i < t->nr; i++) {
		const struct probe_candidate *c = &t->rows[i];
		bool known = false;

		roles |= 1ULL << c->role;
		assert_in_range(strlen(c->program), 1, 15);
		assert_true(!c->protos[0] == (c->kind == HOOK_ITER));
		for (size_t k = 0; k < i; k++) {
			const struct probe_candidate *before = &t->rows[k];

			assert_string_not_equal(before->program, c->program);
			known |= same_hook(before, c);
			/* Never both. */
			if (before->when != c->when && before->when && c->when)
				continue;
			/* A hook has one role, and one prototype selects one program. */
			if (same_hook(before, c)) {
				assert_int_equal(before->role, c->role);
				assert_false(same_proto(before, c));
			}
			if (before->role != c->role)
				continue;
			/* Preference: tracepoints first, unless they show less and search
			 * symbols instead; then the better way to reach each function. */
			assert_true(c->kind != HOOK_TP_BTF || before->kind == HOOK_TP_BTF ||
				    c->when == WHEN_SYMBOLS);
			if (!strcmp(before->target, c->target) && same_proto(before, c))
				assert_true(before->kind < c->kind);
		}
		distinct += !known;
	}
	assert_true(roles == (1ULL << ROLE_NR) - 1);
	for (int r = 0; r < ROLE_NR; r++) {
		assert_true(*probe_role_name(r) && *probe_role_loss(r));
		for (int k = 0; k < r; k++)
			assert_string_not_equal(probe_role_name(k), probe_role_name(r));
	}
	assert_int_equal(probe_table_kinds(t), 1U << HOOK_TP_BTF | 1U << HOOK_FENTRY |
						       1U << HOOK_FEXIT | 1U << HOOK_KPROBE |
						       1U << HOOK_ITER);
	assert_int_equal(probe_table_hooks(t, hooks, distinct - 1, &nr), -E2BIG);
	assert_int_equal(nr, 99);
	assert_int_equal(probe_table_hooks(t, hooks, KERNEL_HOOKS_MAX, &nr), 0);
	assert_int_equal(nr, distinct);
	for (size_t i = 0; i < t->nr; i++) {
		size_t k = 0;

		while (k < nr && (hooks[k].kind != t->rows[i].kind ||
				  strcmp(hooks[k].target, t->rows[i].target)))
			k++;
		assert_true(k < nr);
	}
}

/* The mechanism beyond the present table: several kinds per role, tried in the order of the
 * rows. */
static const struct probe_candidate invented_rows[] = {
	{ROLE_READ,
	 HOOK_TP_BTF,
	 "mm_filemap_get_pages",
	 "read_tp",
	 {"void(address_space*)"},
	 NULL,
	 WHEN_ANY},
	{ROLE_READ,
	 HOOK_FEXIT,
	 "filemap_read",
	 "read_fx",
	 {"ssize_t(kiocb*,iov_iter*,ssize_t)", "ssize_t(kiocb*,iov_iter*)", "ssize_t(kiocb*)",
	  "ssize_t(file*)"},
	 NULL,
	 WHEN_ANY},
	{ROLE_READ,
	 HOOK_KRETPROBE,
	 "filemap_read",
	 "read_kr",
	 {"ssize_t(kiocb*,iov_iter*,ssize_t)"},
	 NULL,
	 WHEN_ANY},
	{ROLE_FAULT,
	 HOOK_KPROBE,
	 "filemap_fault",
	 "fault_kp",
	 {"vm_fault_t(vm_fault*)"},
	 NULL,
	 WHEN_ANY},
	{ROLE_SEED, HOOK_PERF_EVENT, "major-faults", "seed_pe", {NULL}, NULL, WHEN_ANY},
};

/* If programs can be preempted, the read hook that disables preemption is chosen. If the trial
 * could not find out, hooks that work either way are chosen, if they exist and if it matters. */
static void test_preemptible(void **state)
{
	static const struct {
		int preemptible;
		bool can_hold;
		enum caps_flag preempts;
		const char *program;
	} cases[] = {
		{0, true, CAPS_YES, "read_tp"},
		{1, true, CAPS_YES, "read_alone_tp"},
		{-ENOENT, true, CAPS_YES, "read_alone_tp"},
		{-ENOENT, true, CAPS_UNKNOWN, "read_alone_tp"},
		{-ENOENT, true, CAPS_NO, "read_tp"},
		{-ENOENT, false, CAPS_YES, "read_tp"},
	};
	const struct probe_table *table = probe_table_own();
	struct kernel_caps caps;
	struct probe_plan plan;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		invent(table, &caps);
		caps.preemptible = cases[i].preemptible;
		caps.can_hold = cases[i].can_hold;
		caps.preempts = cases[i].preempts;
		probe_plan_make(&caps, &full, table, &plan);
		check_plan(&plan);
		assert_string_equal(plan.choices[ROLE_READ].program, cases[i].program);
		/* The other row is not a candidate and is not mentioned. */
		assert_string_equal(plan.choices[ROLE_READ].instead, "");
	}
}

static void test_order_of_preference(void **state)
{
	static const struct probe_table table = {invented_rows, 5};
	const struct probe_choice *read;
	struct kernel_caps caps;
	struct probe_plan plan;

	invent(&table, &caps);
	assert_int_equal(caps.nr_hooks, 5);
	read = &plan.choices[ROLE_READ];
	probe_plan_make(&caps, &full, &table, &plan);
	check_plan(&plan);
	assert_string_equal(read->hook, "tp_btf:mm_filemap_get_pages");
	assert_string_equal(plan.choices[ROLE_SEED].hook, "perf_event:major-faults");
	assert_string_equal(plan.choices[ROLE_FAULT].hook, "kprobe:filemap_fault");
	assert_string_equal(plan.choices[ROLE_FORK].reason, "no program exists for this role");

	/* fentry only: the tracepoint is not there. */
	hook_of(&caps, HOOK_TP_BTF, "mm_filemap_get_pages")->err = -ENOENT;
	probe_plan_make(&caps, &full, &table, &plan);
	assert_string_equal(read->hook, "fexit:filemap_read");
	assert_string_equal(read->program, "read_fx");
	assert_string_equal(read->reason, "");

	/* A second prototype, known to the fexit program but not to the kprobe one. */
	strcpy(hook_of(&caps, HOOK_FEXIT, "filemap_read")->proto, "ssize_t(kiocb*,iov_iter*)");
	probe_plan_make(&caps, &full, &table, &plan);
	assert_string_equal(read->program, "read_fx");

	strcpy(hook_of(&caps, HOOK_FEXIT, "filemap_read")->proto, "int(kiocb*)"); /* none of four */
	probe_plan_make(&caps, &full, &table, &plan);
	assert_string_equal(read->program, "read_kr");
	strcpy(hook_of(&caps, HOOK_FEXIT, "filemap_read")->proto, "ssize_t(file*)");
	probe_plan_make(&caps, &full, &table, &plan);
	assert_string_equal(read->program, "read_fx");

	caps.support[HOOK_FEXIT] = (struct hook_support){TRIAL_NO_LOAD, -EPERM};
	probe_plan_make(&caps, &full, &table, &plan);
	assert_string_equal(read->hook, "kretprobe:filemap_read");

	caps.support[HOOK_KRETPROBE] = (struct hook_support){TRIAL_NO_ATTACH, -ENOENT};
	probe_plan_make(&caps, &full, &table, &plan);
	check_plan(&plan);
	assert_int_equal(read->state, PROBE_ABSENT);
	assert_string_equal(
		read->reason,
		"tp_btf:mm_filemap_get_pages is not in this kernel; "
		"fexit programs: refused at load: Operation not permitted "
		"(perhaps by a seccomp filter or security module); "
		"kretprobe programs: loads, cannot be attached: No such file or directory");
}

/* Reasons that do not fit are cut visibly, without an overflow. */
static void test_long_reasons(void **state)
{
	struct kernel_caps caps;
	struct probe_plan plan;
	char why[8];

	invent(probe_table_own(), &caps);
	for (size_t i = 0; i < caps.nr_hooks; i++) {
		memset(caps.hooks[i].proto, 'x', KERNEL_PROTO_MAX - 1);
		caps.hooks[i].proto[KERNEL_PROTO_MAX - 1] = '\0';
	}
	make(&caps, &full, &plan);
	assert_int_equal(strlen(plan.choices[ROLE_READ].reason), PLAN_REASON_MAX - 1);
	assert_string_equal(plan.choices[ROLE_READ].reason + PLAN_REASON_MAX - 4, "...");
	assert_string_equal(plan.reason[GROUP_READ] + PLAN_REASON_MAX - 4, "...");
	invent(probe_table_own(), &caps);
	make(&caps, &full, &plan);
	assert_int_equal(probe_plan_mark_failed(&plan, "dreclaim_in_tp", EIO), 0);
	assert_false(probe_plan_measures(&plan, C_evicted_reclaim_direct, why, sizeof(why)));
	assert_string_equal(why, "need...");
	assert_false(probe_plan_measures(&plan, C_evicted_reclaim_direct, why, 2));
	assert_string_equal(why, "n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_preemptible),
		cmocka_unit_test(test_order_of_preference),
		cmocka_unit_test(test_long_reasons),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
