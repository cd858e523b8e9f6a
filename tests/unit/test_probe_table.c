/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: plan account util */
#include "plan_invent.h"

#include <errno.h>
#include <glob.h>

static const struct plan_request full = {.level = LEVEL_FULL};
static const struct plan_request all = {LEVEL_FULL, true, true};

static void test_table(void **state)
{
	const struct probe_table *t = probe_table_own();
	struct kernel_hook hooks[KERNEL_HOOKS_MAX];
	uint32_t roles = 0;
	size_t nr = 99;

	for (size_t i = 0; i < t->nr; i++) {
		const struct probe_candidate *c = &t->rows[i];

		roles |= 1U << c->role;
		assert_in_range(strlen(c->program), 1, 15);
		assert_true(!c->protos[0] == (c->kind == HOOK_ITER));
		for (size_t k = 0; k < i; k++) {
			assert_string_not_equal(t->rows[k].program, c->program);
			if (t->rows[k].role == c->role)
				assert_true(t->rows[k].kind <= c->kind); /* preference */
		}
	}
	assert_int_equal(roles, (1U << ROLE_NR) - 1);
	for (int r = 0; r < ROLE_NR; r++) {
		assert_true(*probe_role_name(r) && *probe_role_loss(r));
		for (int k = 0; k < r; k++)
			assert_string_not_equal(probe_role_name(k), probe_role_name(r));
	}
	assert_int_equal(probe_table_kinds(t), 1U << HOOK_TP_BTF | 1U << HOOK_ITER);
	assert_int_equal(probe_table_hooks(t, hooks, 3, &nr), -E2BIG);
	assert_int_equal(nr, 99);
	assert_int_equal(probe_table_hooks(t, hooks, KERNEL_HOOKS_MAX, &nr), 0);
	assert_int_equal(nr, t->nr); /* no hook is used twice today */
}

/* Each row is a program of the BPF sources, under that very hook. */
static void test_programs_exist(void **state)
{
	const struct probe_table *t = probe_table_own();
	static char text[1 << 20];
	char want[2][160];
	size_t len = 0, n;
	glob_t files;
	FILE *f;

	assert_int_equal(glob(SOURCE_DIR "/bpf/*.bpf.c", 0, NULL, &files), 0);
	for (size_t i = 0; i < files.gl_pathc; i++) {
		f = fopen(files.gl_pathv[i], "re");
		assert_non_null(f);
		n = fread(text + len, 1, sizeof(text) - 1 - len, f);
		assert_true(n > 0 && len + n < sizeof(text) - 1);
		len += n;
		fclose(f);
	}
	globfree(&files);
	for (size_t i = 0; i < t->nr; i++) {
		const struct probe_candidate *c = &t->rows[i];

		for (int k = 0; k < 2; k++)
			snprintf(want[k], sizeof(want[k]), "SEC(\"?%s/%s\")\nint %s%s",
				 hook_kind_name(c->kind), c->target, k ? "" : "BPF_PROG(",
				 c->program);
		if (!strstr(text, want[0]) && !strstr(text, want[1]))
			fail_msg("no program %s on %s in bpf/", c->program, c->target);
	}
}

/* The mechanism beyond today's table: several kinds a role, tried in order of the rows. */
static const struct probe_candidate invented_rows[] = {
	{ROLE_READ, HOOK_TP_BTF, "mm_filemap_get_pages", "read_tp", {"void(address_space*)"}},
	{ROLE_READ,
	 HOOK_FEXIT,
	 "filemap_read",
	 "read_fx",
	 {"ssize_t(kiocb*,iov_iter*,ssize_t)", "ssize_t(kiocb*,iov_iter*)", "ssize_t(kiocb*)",
	  "ssize_t(file*)"}},
	{ROLE_READ,
	 HOOK_KRETPROBE,
	 "filemap_read",
	 "read_kr",
	 {"ssize_t(kiocb*,iov_iter*,ssize_t)"}},
	{ROLE_FAULT, HOOK_KPROBE, "filemap_fault", "fault_kp", {"vm_fault_t(vm_fault*)"}},
	{ROLE_SEED, HOOK_PERF_EVENT, "major-faults", "seed_pe", {NULL}},
};

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
	assert_string_equal(plan.choices[ROLE_FORK].reason, "no program plays this role");

	/* fentry only: the tracepoint is not there. */
	hook_of(&caps, HOOK_TP_BTF, "mm_filemap_get_pages")->err = -ENOENT;
	probe_plan_make(&caps, &full, &table, &plan);
	assert_string_equal(read->hook, "fexit:filemap_read");
	assert_string_equal(read->program, "read_fx");
	assert_string_equal(read->reason, "");

	/* A second prototype that the fexit program knows and the kprobe one does not. */
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
		"fexit programs: refused at load: Operation not permitted; "
		"kretprobe programs: loads, cannot be attached: No such file or directory");
}

/* Reasons that do not fit are cut visibly and never overrun. */
static void test_long_reasons(void **state)
{
	static const struct probe_table table = {invented_rows, 3};
	struct kernel_caps caps;
	struct probe_plan plan;
	char why[8];

	invent(&table, &caps);
	for (size_t i = 0; i < caps.nr_hooks; i++) {
		memset(caps.hooks[i].proto, 'x', KERNEL_PROTO_MAX - 1);
		caps.hooks[i].proto[KERNEL_PROTO_MAX - 1] = '\0';
	}
	probe_plan_make(&caps, &full, &table, &plan);
	check_plan(&plan);
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

#define R(role) (1U << ROLE_##role)
#define WINDOWS (R(WINDOW_SYNC) | R(WINDOW_ASYNC) | R(WINDOW_ORDER) | R(WINDOW_UNBOUNDED))
#define MAPPING (R(READ) | R(FAULT) | R(MAP_PAGES))

/* Golden plans: the roles that each real kernel cannot give, the reason of one, groups measured. */
static const struct {
	const char *kernel;
	uint32_t absent;
	enum probe_role role; /* of this one */
	const char *reason;
	uint32_t groups;
	const char *refusal;
} golden[] = {
	{"5.10",
	 R(PAGE_ADD) | R(PAGE_DELETE) | WINDOWS | MAPPING | R(SWITCH) | R(EXIT) | R(DIRECT_READ) |
		 R(URING),
	 ROLE_SWITCH,
	 "tp_btf:sched_switch is void(bool,task_struct*,task_struct*) here; "
	 "known is void(bool,task_struct*,task_struct*,unsigned int)",
	 0,
	 "needs page_add: tp_btf:mm_filemap_add_to_page_cache is void(page*) here; "
	 "known is void(folio*); also absent: page_delete, window_sync, window_async, "
	 "window_order, window_unbounded, switch, exit"},
	{"6.1", WINDOWS | MAPPING | R(EXIT) | R(DIRECT_READ) | R(URING), ROLE_URING,
	 "tp_btf:io_uring_submit_req is not in this kernel", G(PAGE) | G(GHOST),
	 "needs window_sync: tp_btf:page_cache_sync_ra is not in this kernel; "
	 "also absent: window_async, window_order, window_unbounded, exit"},
	{"6.12", WINDOWS | R(EXIT), ROLE_EXIT,
	 "tp_btf:sched_process_exit is void(task_struct*) here; known is void(task_struct*,bool)",
	 ALL_GROUPS & ~(G(WINDOW) | G(FATE)),
	 "needs window_sync: tp_btf:page_cache_sync_ra is not in this kernel; "
	 "also absent: window_async, window_order, window_unbounded, exit"},
	{"6.18", 0, ROLE_READ, "", ALL_GROUPS, ""},
	{"7.2", 0, ROLE_READ, "", ALL_GROUPS, ""},
};

static struct hook_support all_work(enum hook_kind kind, const struct btf *btf, const char *root)
{
	return (struct hook_support){TRIAL_WORKS, 0};
}

static void test_real_kernels(void **state)
{
	struct fake_root root;
	struct kernel_env env = {root.dir, KERNEL_KINDS_ALL, all_work};
	struct kernel_hook hooks[KERNEL_HOOKS_MAX];
	struct kernel_caps caps;
	struct probe_plan plan;
	size_t nr;

	fake_root_make(&root);
	fake_root_write(&root, "/proc/self/status", "CapEff:\t000001ffffffffff\n");
	assert_int_equal(probe_table_hooks(probe_table_own(), hooks, KERNEL_HOOKS_MAX, &nr), 0);
	for (size_t i = 0; i < sizeof(golden) / sizeof(golden[0]); i++) {
		print_message("kernel %s\n", golden[i].kernel);
		fake_root_btf(&root, golden[i].kernel);
		assert_int_equal(kernel_caps_read(&env, hooks, nr, &caps), 0);
		make(&caps, &all, &plan);
		for (int r = 0; r < ROLE_NR; r++)
			assert_int_equal(plan.choices[r].state,
					 golden[i].absent & 1U << r ? PROBE_ABSENT : PROBE_LIVE);
		assert_string_equal(plan.choices[golden[i].role].reason, golden[i].reason);
		for (int g = 0; g < GROUP_NR; g++)
			assert_int_equal(plan.measured[g], !!(golden[i].groups & 1U << g));
		assert_string_equal(plan.refusal, golden[i].refusal);
	}
	fake_root_remove(&root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_programs_exist),
		cmocka_unit_test(test_order_of_preference),
		cmocka_unit_test(test_long_reasons),
		cmocka_unit_test(test_real_kernels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
