/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Invented kernels, and rules that every plan obeys, for the tests of plan/probe_plan and
 * plan/probe_table.
 */
#ifndef PLAN_INVENT_H
#define PLAN_INVENT_H

#include "plan_fixture.h"

#include <errno.h>

#include "cachemon/plan/probe_plan.h"

#define G(group)   (1U << GROUP_##group)
#define ALL_GROUPS ((1U << GROUP_NR) - 1)

/* A kernel with every hook of the table in its first known prototype, which accepts all
 * programs. */
static inline void invent(const struct probe_table *table, struct kernel_caps *caps)
{
	unsetenv("CACHEMON_PROBES");
	memset(caps, 0, sizeof(*caps));
	caps->held = ~0ULL;
	caps->kallsyms = CAPS_YES;
	assert_int_equal(probe_table_hooks(table, caps->hooks, KERNEL_HOOKS_MAX, &caps->nr_hooks),
			 0);
	for (size_t i = 0; i < table->nr; i++) {
		const struct probe_candidate *c = &table->rows[i];
		struct kernel_hook *h =
			(struct kernel_hook *)kernel_caps_hook(caps, c->kind, c->target);

		if (!*h->proto && c->protos[0])
			snprintf(h->proto, sizeof(h->proto), "%s", c->protos[0]);
	}
	for (int k = 0; k < HOOK_NR; k++)
		caps->support[k].trial = TRIAL_WORKS;
}

static inline struct kernel_hook *hook_of(struct kernel_caps *caps, enum hook_kind kind,
					  const char *target)
{
	struct kernel_hook *h = (struct kernel_hook *)kernel_caps_hook(caps, kind, target);

	assert_non_null(h);
	return h;
}

/* The candidates before the row are unavailable; the row itself is available. */
static inline void leave_row(struct kernel_caps *caps, const struct probe_table *table, size_t row)
{
	const struct probe_candidate *c = &table->rows[row];
	struct kernel_hook *h;

	for (size_t i = 0; i < row; i++) {
		if (table->rows[i].role == c->role)
			hook_of(caps, table->rows[i].kind, table->rows[i].target)->err = -ENOENT;
	}
	h = hook_of(caps, c->kind, c->target);
	h->err = 0;
	snprintf(h->proto, sizeof(h->proto), "%s", c->protos[0] ? c->protos[0] : "");
}

static inline void assert_contains(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' does not contain '%s'", text, part);
}

/* Rules that every plan obeys, on any kernel. */
static inline void check_plan(const struct probe_plan *plan)
{
	char why[PLAN_REASON_MAX];

	for (int r = 0; r < ROLE_NR; r++) {
		const struct probe_choice *c = &plan->choices[r];

		assert_int_equal(c->role, r);
		assert_int_equal(c->state == PROBE_LIVE, !*c->reason);
		if (!c->wanted)
			assert_string_equal(c->instead, "");
		if (c->state == PROBE_ABSENT)
			assert_true(!c->program && !*c->hook);
		else
			assert_true(c->wanted && c->program && strchr(c->hook, ':'));
	}
	for (int g = 0; g < GROUP_NR; g++)
		assert_int_equal(plan->measured[g], !*plan->reason[g]);
	assert_int_equal(plan->viable, !*plan->refusal);
	for (int c = 0; c < C_NR; c++) {
		strcpy(why, "untouched");
		if (probe_plan_measures(plan, c, why, sizeof(why))) {
			assert_true(plan->measured[counter_group(c)]);
			assert_string_equal(why, "untouched");
		} else {
			assert_contains(why, "needs ");
		}
	}
}

static inline void make(const struct kernel_caps *caps, const struct plan_request *request,
			struct probe_plan *plan)
{
	memset(plan, 0x5a, sizeof(*plan));
	probe_plan_make(caps, request, probe_table_own(), plan);
	check_plan(plan);
	for (int r = 0; r < ROLE_NR; r++) {
		const struct probe_choice *choice = &plan->choices[r];
		const struct probe_candidate *c = &probe_table_own()->rows[choice->row];
		char hook[sizeof(choice->hook)];

		if (choice->state != PROBE_LIVE)
			continue;
		snprintf(hook, sizeof(hook), "%s:%s", hook_kind_name(c->kind), c->target);
		assert_int_equal(c->role, r);
		assert_int_equal(c->kind, choice->kind);
		assert_string_equal(c->program, choice->program);
		assert_string_equal(hook, choice->hook);
	}
}

#endif
