/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: report account access */
/* The output of `advise`, compared with golden files. */
#include "fixtures/golden_files.h"
#include "fixtures/report/golden.h"

#include "advisor/rules/rule_set.h"
#include "cachemon/base/errtext.h"

/* A site rule with every field a finding can have, and a weaker rule with the same cause. */
static const char rule[] =
	"-- id: %s\n-- title: a rule of a site\n-- version: 1\n-- severity: always medium\n"
	"SELECT job_id, 'directory' AS subject_kind, x'2f643b1b5b333196' AS subject, "
	"'medium' AS severity, 0.75 AS confidence, 'so it is <b> with 100 %%' AS summary, "
	"json_array(json_object('metric', 'misses', 'value', misses, 'unit', 'pages', 'scope', "
	"'job'), json_object('metric', 'what', 'value', NULL, 'unit', 'text', 'scope', 'job')) "
	"AS evidence, %s AS gain_value, '%s' AS gain_unit, 'bound' AS gain_method, 'one' AS "
	"gain_cause FROM v_job\n";
static const char note[] =
	"---\nid: site-great\ntitle: t\nrisk: some risk\nundo: take it back\nverify: look\n---\n"
	"## What to do\nChange `this_one`, not the <b> of `a|b`; a ` alone.\n\n```c\nf(a < "
	"b);\n\tg();\n```\n\n```shell\nls | wc\n```\n";

static void write_file(const char *dir, const char *name, const char *text)
{
	char path[256];
	FILE *out = NULL;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	out = fopen(path, "w");
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static void write_rules(const char *dir)
{
	char text[2048];

	mkdir(dir, 0700);
	snprintf(text, sizeof(text), rule, "site-great", "12.5", "s");
	write_file(dir, "site-great.sql", text);
	snprintf(text, sizeof(text), rule, "site-lesser", "4096", "bytes");
	write_file(dir, "site-lesser.sql", text);
	write_file(dir, "site-great.md", note);
}

static char *advise(struct fixture *f, enum report_format format)
{
	char dir[128];
	char path[128];
	struct errtext err = {""};
	struct rule_dirs dirs = {.dir = {{dir, true}}, .nr = 1};
	struct report_options o = {.db = f->db,
				   .run_id = REPORT_RUN_LAST,
				   .format = format,
				   .rules = &dirs,
				   .advise = true};
	FILE *out = NULL;

	snprintf(dir, sizeof(dir), "%s/rules", f->dir);
	snprintf(path, sizeof(path), "%s/advice", f->dir);
	write_rules(dir);
	out = fopen(path, "w");
	assert_non_null(out);
	if (report_show(&o, out, &err) < 0)
		fail_msg("%s", err.text);
	fclose(out);
	return fixture_read(path, NULL);
}

static void golden(void **state)
{
	for (enum report_format i = 0; i < REPORT_FORMAT_NR; i++) {
		char *text = advise(*state, i);

		golden_compare("advisor", i, text);
		free(text);
	}
}

/* The keys of the external contract; one finding is merged into the other. */
static void json(void **state)
{
	char *text = advise(*state, REPORT_JSON);
	cJSON *root = cJSON_Parse(text);
	static const char *const keys[] = {"id",
					   "severity",
					   "confidence",
					   "subject.kind",
					   "subject.name",
					   "summary",
					   "evidence.0.id",
					   "evidence.0.metric",
					   "evidence.0.value",
					   "evidence.0.unit",
					   "evidence.0.scope",
					   "gain.value",
					   "gain.unit",
					   "gain.method",
					   "action.text",
					   "action.snippets.0.language",
					   "action.snippets.0.code",
					   "action.risk",
					   "action.undo",
					   "action.verify"};
	char path[128];

	assert_non_null(root);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		snprintf(path, sizeof(path), "jobs.0.findings.0.%s", keys[i]);
		if (!at(root, path))
			fail_msg("no %s", path);
	}
	assert_string_equal(at(root, "jobs.0.findings.0.id")->valuestring, "site-great");
	assert_string_equal(at(root, "jobs.0.findings.0.merged.0.id")->valuestring, "site-lesser");
	assert_string_equal(at(root, "jobs.0.findings.0.evidence.0.id")->valuestring, "E1");
	assert_string_equal(at(root, "jobs.0.findings.0.merged.0.evidence.0.id")->valuestring,
			    "E3");
	assert_true(cJSON_IsNull(at(root, "jobs.0.findings.0.evidence.1.value")));
	assert_true(cJSON_IsTrue(at(root, "jobs.0.findings.0.subject.name_escaped")));
	assert_true(cJSON_IsNull(at(root, "jobs.0.findings.0.merged.0.action")));
	/* The merged finding is also in the list, with the same evidence. */
	assert_true(cJSON_IsNull(at(root, "jobs.0.findings.0.merged_into")));
	assert_string_equal(at(root, "jobs.0.findings.1.id")->valuestring, "site-lesser");
	assert_string_equal(at(root, "jobs.0.findings.1.merged_into")->valuestring, "site-great");
	assert_string_equal(at(root, "jobs.0.findings.1.evidence.0.id")->valuestring, "E3");
	assert_non_null(at(root, "jobs.0.findings.1.gain.value"));
	/* One fifth of the bound, times the confidence. */
	assert_true(at(root, "jobs.0.findings.0.order_s")->valuedouble == 12.5 * 0.2 * 0.75);
	assert_string_equal(at(root, "jobs.0.answer")->valuestring, "fix");
	cJSON_Delete(root);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(golden, golden_begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(json, golden_begin, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
