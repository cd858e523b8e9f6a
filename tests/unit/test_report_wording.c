/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: report account access */
/* A model's words in each format of a report: complete, inert, and with the same numbers as
 * without them. */
#include "fixtures/report/golden.h"

#include "cachemon/base/errtext.h"
#include "cachemon/base/escape.h"
#include "cachemon/report/run/wording.h"

/* Text that no check would accept: the formats do not rely on the checks. */
static const char hostile[] =
	"</p><script>alert(1)</script> [x](https://evil.example/) ![](http://e.example/i.png) `rm` "
	"**b** | cell \x1b[31mred\x1b]0;t\x07 \xe2\x80\xae rtl bad\xff =1+1\n# heading";

static struct pack_evidence evidence[] = {
	{"E3", "hit_ratio", "0.25", "ratio", "job", "25.0 %", "", false},
	{"E7", hostile, hostile, hostile, hostile, hostile, "at least", true},
};
static const struct pack_evidence *cited[] = {&evidence[0], &evidence[1]};
static const struct pack_evidence *other_way[] = {&evidence[1], &evidence[0]};

static const struct pack_note both[] = {{"N1", "prefetch-waste", "", false},
					{"N2", hostile, "", true}};
static const struct pack_note *notes[] = {&both[0], &both[1]};
static const struct pack_finding finding = {.id = "prefetch-waste", .subject = hostile};
static const struct pack_action action = {"A1", "prefetch-waste", "Ask for less."};

static struct llm_statement statements[] = {
	{NULL, "Only 25.0 % of the lookups hit.", cited, 1, NULL, 0, NULL, LLM_HIGH},
	{&finding, hostile, other_way, 2, notes, 2, &action, LLM_LOW},
};

static struct wording example(void)
{
	return (struct wording){
		.job_id = 1,
		.outcome = "answered",
		.api = "openai",
		.host = "127.0.0.1:8080",
		.model = "tiny",
		.prompt_sha256 = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
		.asked_ns = {1700000000000000000, true},
		.duration_ns = {1500000000, true},
		.tokens_in = {1234, true},
		.attempts = {2, true},
		.redacted = true,
		.evidence = cited,
		.nr_evidence = 2,
		.checked = {.statements = statements,
			    .nr_statements = 2,
			    .dropped = {[DROP_NUMBER] = 3, [DROP_MARKUP] = 1}},
	};
}

static int put(void *arg, struct model *m, struct errtext *err)
{
	m->wording = arg;
	return 0;
}

static char *print(struct fixture *f, enum report_format format, bool advise, struct wording *w)
{
	struct report_options o = {.db = f->db,
				   .run_id = REPORT_RUN_LAST,
				   .format = format,
				   .files = 100,
				   .advise = advise,
				   .word = w ? put : NULL,
				   .word_arg = w};
	struct errtext err = {""};
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (report_show(&o, out, &err) < 0)
		fail_msg("%s", err.text);
	fclose(out);
	return text;
}

static void assert_none(const char *text, const char *part)
{
	const char *found = strstr(text, part);

	if (found)
		fail_msg("'%s' in '%.80s'", part, found);
}

static void assert_inert(const char *text)
{
	for (size_t i = 0, len = strlen(text); i < len;) {
		uint32_t cp = 0;
		size_t n = escape_decode(text + i, len - i, &cp);

		assert_true(n > 0);
		if (escape_is_unsafe(cp) && cp != '\n')
			fail_msg("character %x at %zu", cp, i);
		i += n;
	}
	assert_none(text, "\n# heading");
}

static void inert(void **state)
{
	for (enum report_format i = 0; i < REPORT_FORMAT_NR; i++) {
		for (int advise = 0; advise < 2; advise++) {
			struct wording w = example();
			char *text = print(*state, i, advise, &w);

			assert_inert(text);
			if (i == REPORT_HTML || i == REPORT_MARKDOWN) {
				assert_none(text, "<script>alert");
				assert_none(text, "<img");
			}
			if (i == REPORT_MARKDOWN) {
				assert_none(text, "[x](");
				assert_none(text, "://evil");
			}
			free(text);
		}
	}
}

/* Undoes the line breaks. */
static char *on_one_line(char *text)
{
	for (char *c = text; *c; c++)
		if (*c == '\n')
			*c = ' ';
	return text;
}

static void said(void **state)
{
	static const char *const wanted[] = {
		"Written by tiny at 127.0.0.1:8080 and checked: 2 statements kept, 4 dropped",
		"Only 25.0 % of the lookups hit. [E3]",
		"What to do: Ask for less. More: cachemon explain prefetch-waste",
		"(The model is not sure.)",
		"1,234 tokens sent, - received, in 1.50 s and 2 attempts",
	};

	for (int advise = 0; advise < 2; advise++) {
		struct wording w = example();
		char *text = on_one_line(print(*state, REPORT_TEXT, advise, &w));

		for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
			if (!strstr(text, wanted[i]))
				fail_msg("no '%s' in: %s", wanted[i], text);
		free(text);
	}
}

/* Without an answer: the same report, and the reason. */
static void skipped(void **state)
{
	struct wording w = {.job_id = 1,
			    .outcome = "unreachable",
			    .skipped = "127.0.0.1:1 refused the connection"};

	for (enum report_format i = 0; i < REPORT_FORMAT_NR; i++) {
		char *with = print(*state, i, true, &w);
		char *without = print(*state, i, true, NULL);

		if (i == REPORT_CSV)
			assert_string_equal(with, without);
		else
			assert_non_null(strstr(with, "127.0.0.1:1 refused the connection"));
		assert_null(strstr(without, "refused the connection"));
		free(with);
		free(without);
	}
}

static void json(void **state)
{
	struct wording w = example();
	char *text = print(*state, REPORT_JSON, false, &w);
	cJSON *root = cJSON_Parse(text);
	const cJSON *said = at(root, "jobs.0.wording");
	char *without = print(*state, REPORT_JSON, false, NULL);
	cJSON *plain = cJSON_Parse(without);

	assert_non_null(said);
	assert_string_equal(at(said, "outcome")->valuestring, "answered");
	assert_true(cJSON_IsNull(at(said, "reason")));
	assert_true(cJSON_IsNull(at(said, "answered")));
	assert_int_equal(at(said, "kept")->valueint, 2);
	assert_int_equal(at(said, "dropped.number")->valueint, 3);
	assert_int_equal(at(said, "dropped.markup")->valueint, 1);
	assert_int_equal(at(said, "dropped.unknown_id")->valueint, 0);
	assert_true(cJSON_IsNull(at(said, "statements.0.about")));
	assert_string_equal(at(said, "statements.1.about")->valuestring, "prefetch-waste");
	assert_string_equal(at(said, "statements.1.evidence.1")->valuestring, "E3");
	assert_true(cJSON_IsTrue(at(said, "statements.1.text_escaped")));
	assert_true(at(said, "evidence.0.value")->valuedouble == 0.25);
	assert_true(cJSON_IsNull(at(said, "tokens_out")));
	assert_true(cJSON_IsNull(at(plain, "jobs.0.wording")));
	/* The rest of the report is unchanged. */
	cJSON_DeleteItemFromObject(cJSON_GetArrayItem(cJSON_GetObjectItem(root, "jobs"), 0),
				   "wording");
	cJSON_DeleteItemFromObject(cJSON_GetArrayItem(cJSON_GetObjectItem(plain, "jobs"), 0),
				   "wording");
	assert_true(cJSON_Compare(root, plain, true));
	cJSON_Delete(root);
	cJSON_Delete(plain);
	free(text);
	free(without);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(inert, golden_begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(said, golden_begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(skipped, golden_begin, fixture_teardown),
		cmocka_unit_test_setup_teardown(json, golden_begin, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
