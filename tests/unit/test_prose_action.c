/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: report account access */
/* The action of a finding on the screen is whole, and a built-in rule's has at most two lines. */
#include "fixtures/advisor/world.h"

#include "advisor/rules/rule_set.h"
#include "cachemon/report/run/prose.h"

static void built_in(void **state)
{
	struct rule_set set;

	(void)state;
	assert_int_equal(rule_set_load(NULL, &set), 0);
	for (size_t i = 0; i < set.nr_rules; i++) {
		const struct finding f = {.rule = &set.rules[i],
					  .note = rule_set_note(&set, set.rules[i].id)};
		char *text = prose_action(&f);

		assert_non_null(text);
		if (strlen(text) > PROSE_TWO_LINES || strstr(text, ".."))
			fail_msg("%s: %s", f.rule->id, text);
		free(text);
	}
	rule_set_free(&set);
}

/* A command of a site's note can be copied, however long it is. */
static void never_cut(void **state)
{
	struct note note = {.action =
				    "Run `systemctl set-property a-long-name-of-a-unit.service "
				    "MemoryMax=40G MemoryHigh=38G MemoryLow=20G` on each of the "
				    "nodes of this partition as root, and then start the job again "
				    "with the same arguments. It takes effect at once."};
	const struct finding f = {.note = &note};
	char *text = prose_action(&f);

	(void)state;
	assert_non_null(strstr(text, "systemctl set-property a-long-name-of-a-unit.service "));
	assert_non_null(strstr(text, "with the same arguments."));
	assert_null(strstr(text, "..."));
	assert_null(strstr(text, "at once"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(built_in),
		cmocka_unit_test(never_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
