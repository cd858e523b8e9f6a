/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: plan account access */
/* Whether tasks are preempted inside the kernel, according to the files of a machine. */
#include "plan_kernels.h"

#include "cachemon/plan/preempt.h"

#define VERSION "/proc/sys/kernel/version"
#define FORCE	"/sys/kernel/debug/sched/preempt"
#define DYNAMIC "#1 SMP PREEMPT_DYNAMIC Debian 6.12.1-1 (2026-01-01)\n"

static void test_built_so(void **state)
{
	static const struct {
		const char *version;
		enum caps_flag preempts;
	} kernels_built[] = {
		{"#1 SMP Debian 5.10.1-1 (2026-01-01)\n", CAPS_NO},
		{"#1 SMP PREEMPT_RT Debian 6.12.1-1 (2026-01-01)\n", CAPS_YES},
		{"#1 SMP PREEMPT Debian 6.12.1-1 (2026-01-01)\n", CAPS_YES},
		{DYNAMIC, CAPS_UNKNOWN},
	};
	struct fake_root root;

	fake_root_make(&root);
	assert_int_equal(preempt_mode(root.dir, "r"), CAPS_UNKNOWN);
	for (size_t i = 0; i < sizeof(kernels_built) / sizeof(kernels_built[0]); i++) {
		fake_root_write(&root, VERSION, kernels_built[i].version);
		assert_int_equal(preempt_mode(root.dir, "r"), kernels_built[i].preempts);
	}
	fake_root_remove(&root);
}

/* Each place is more reliable than the one before. */
static void test_chosen_at_boot(void **state)
{
	static const struct {
		const char *path, *text;
		enum caps_flag preempts;
	} places[] = {
		{"/boot/config-other", "CONFIG_PREEMPT=y\n", CAPS_UNKNOWN},
		{"/boot/config-r",
		 "# CONFIG_PREEMPT is not set\nCONFIG_PREEMPT_BUILD=y\nCONFIG_PREEMPT_VOLUNTARY=y\n"
		 "CONFIG_PREEMPT_DYNAMIC=y\n",
		 CAPS_NO},
		{"/proc/config.gz", "CONFIG_PREEMPT_BUILD=y\nCONFIG_PREEMPT=y\n", CAPS_YES},
		{"/proc/config.gz", "CONFIG_PREEMPT_LAZY=y\n", CAPS_YES},
		{"/proc/cmdline", "quiet preempt=full preempt=none ro\n", CAPS_NO},
		{"/proc/cmdline", "quiet preempt=full\n", CAPS_YES},
		{FORCE, "(none) voluntary full lazy \n", CAPS_NO},
		{FORCE, "none (voluntary) full\n", CAPS_NO},
		{FORCE, "none voluntary (full)\n", CAPS_YES},
		{FORCE, "full (lazy) \n", CAPS_YES},
		{FORCE, "none voluntary full\n", CAPS_YES}, /* no mode is marked: the command line
							     * decides */
	};
	struct fake_root root;

	fake_root_make(&root);
	fake_root_write(&root, VERSION, DYNAMIC);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		fake_root_write(&root, places[i].path, places[i].text);
		if (preempt_mode(root.dir, "r") != places[i].preempts)
			fail_msg("%s: %s", places[i].path, places[i].text);
	}
	fake_root_remove(&root);
}

static bool by_trampoline(const struct probe_choice *c)
{
	return c->state == PROBE_LIVE && (c->kind == HOOK_FENTRY || c->kind == HOOK_FEXIT);
}

/* Programs on functions are used if there is no preemption, or if they disable it themselves.
 * Otherwise kprobes are used, or the role is absent with that reason. */
static void test_plans(void **state)
{
	static const struct plan_request all = {LEVEL_FULL, true, true, true,
						true,	    true, true, true};
	struct fake_root root;
	struct kernel_caps caps;
	struct probe_plan plan;

	fake_root_make(&root);
	fake_root_btf(&root, "6.12");
	read_kernel(&root, &caps);
	for (int preempts = CAPS_UNKNOWN; preempts <= CAPS_YES; preempts++) {
		for (int guarded = 0; guarded < 2; guarded++) {
			bool safe = preempts == CAPS_NO || guarded;

			caps.preempts = preempts;
			caps.preemptible = guarded;
			make(&caps, &all, &plan);
			assert_true(plan.viable);
			assert_true(plan.measured[GROUP_READ]);
			assert_int_equal(by_trampoline(&plan.choices[ROLE_WINDOW_SYNC]), safe);
			assert_int_equal(plan.choices[ROLE_WINDOW_SYNC].state, PROBE_LIVE);
			assert_int_equal(by_trampoline(&plan.choices[ROLE_FADVISE_END]), safe);
			if (!safe)
				assert_non_null(strstr(plan.choices[ROLE_FADVISE_END].reason,
						       "be preempted inside fexit programs"));
		}
	}
	fake_root_remove(&root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_built_so),
		cmocka_unit_test(test_chosen_at_boot),
		cmocka_unit_test(test_plans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
