/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: plan account access */
/*
 * The complete plan of each kernel whose BTF is here, compared with fixtures/plan/KERNEL.plan: for
 * every role its hook and program or a reason, what is measured, and which counters are unknown.
 * Addresses of functions are hidden, so that the effect of the scopes shows.
 */
#include "build_name.h"
#include "plan_kernels.h"

static const struct plan_request all = {LEVEL_FULL, true, true, true, true, true, true, true};

static void write_plan(FILE *f, const struct probe_plan *plan)
{
	char why[PLAN_REASON_MAX];

	fprintf(f, "build %s\n", build_name(plan->build));
	for (int r = 0; r < ROLE_NR; r++) {
		const struct probe_choice *c = &plan->choices[r];

		if (c->state == PROBE_LIVE)
			fprintf(f, "%s: %s by %s\n", probe_role_name(r), c->hook, c->program);
		else
			fprintf(f, "%s: %s, %s\n", probe_role_name(r), probe_state_name(c->state),
				c->reason);
	}
	for (int g = 0; g < GROUP_NR; g++)
		fprintf(f, "%s: %s\n", counter_group_name(g),
			plan->measured[g] ? "measured" : plan->reason[g]);
	fprintf(f, "unknown beside:");
	for (int c = 0; c < C_NR; c++) {
		if (plan->measured[counter_group(c)] &&
		    !probe_plan_measures(plan, c, why, sizeof(why)))
			fprintf(f, " %s", counter_name(c));
	}
	fprintf(f, "\nrefused: %s\n", plan->viable ? "no" : plan->refusal);
}

static void compare(const char *kernel, FILE *got)
{
	char path[PATH_MAX], a[2048], b[2048], section[2048] = "";
	FILE *want;
	size_t line = 0;

	snprintf(path, sizeof(path), "%s/plan/%s.plan", FIXTURES, kernel);
	want = fopen(path, "re");
	if (!want)
		fail_msg("no %s", path);
	rewind(got);
	for (;;) {
		char *has = fgets(a, sizeof(a), want), *is = fgets(b, sizeof(b), got);

		line++;
		if (!has && !is)
			break;
		if (!has || !is || strcmp(a, b))
			fail_msg("%s:%zu %swant %sis   %s", path, line, section,
				 has ? a : "(end)\n", is ? b : "(end)\n");
		if (*a == '[')
			strcpy(section, a);
	}
	assert_true(line > NR_MACHINES * ROLE_NR);
	fclose(want);
}

static void test_real_kernels(void **state)
{
	struct fake_root root;
	struct kernel_caps caps;
	struct probe_plan plan;
	FILE *got;

	fake_root_make(&root);
	for (size_t k = 0; k < NR_KERNELS; k++) {
		fake_root_btf(&root, kernels[k]);
		read_kernel(&root, &caps);
		got = tmpfile();
		assert_non_null(got);
		fprintf(got, "misses of kprobes: %s\n", caps.kprobe_misses ? "told" : "not told");
		fprintf(got, "programs hold preemption off: %s\n",
			caps.can_hold ? "can" : "cannot");
		for (size_t m = 0; m < NR_MACHINES; m++) {
			set_machine(&caps, m);
			make(&caps, &all, &plan);
			fprintf(got, "%s[%s]\n", m ? "\n" : "", machines[m].name);
			write_plan(got, &plan);
		}
		compare(kernels[k], got);
		fclose(got);
	}
	fake_root_remove(&root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_real_kernels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
