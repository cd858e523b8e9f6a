/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: http access */
/* The formats of two APIs: what is sent, and what is read from replies in the form that servers
 * send. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "advisor/llm/http/wire.h"

static const struct llm_prompt prompt = {
	.system = "You are \"terse\".",
	.user = "a\xff\n\xc3\xa4",
	.schema_name = "advice",
	.schema = "{\"type\":\"object\"}",
	.max_tokens = 1500,
};

#define OPENAI_HEAD                                                                                \
	"{\"model\":\"m\",\"messages\":[{\"role\":\"system\",\"content\":\"You are \\\"terse\\\"."
#define OPENAI_USER "\"},{\"role\":\"user\",\"content\":\"a\\\\xff\\n\xc3\xa4\"}],"
#define ASKED                                                                                      \
	"\\n\\nAnswer with one JSON object and nothing else. Its JSON schema:\\n{\\\"type\\\":"    \
	"\\\"object\\\"}"
#define ANTHROPIC_HEAD "{\"model\":\"m\",\"max_tokens\":1500,\"system\":\"You are \\\"terse\\\"."
#define ANTHROPIC_USER "\",\"messages\":[{\"role\":\"user\",\"content\":\"a\\\\xff\\n\xc3\xa4\"}],"

static void test_requests(void **state)
{
	static const struct {
		enum llm_api api;
		enum llm_json json;
		bool completion_tokens;
		const char *want;
	} cases[] = {
		{LLM_OPENAI, LLM_JSON_SCHEMA, false,
		 OPENAI_HEAD OPENAI_USER
		 "\"max_tokens\":1500,\"stream\":false,\"response_format\":{\"type\":\"json_"
		 "schema\","
		 "\"json_schema\":{\"name\":\"advice\",\"strict\":true,\"schema\":{\"type\":"
		 "\"object\"}}}}"},
		{LLM_OPENAI, LLM_JSON_OBJECT, true,
		 OPENAI_HEAD ASKED OPENAI_USER
		 "\"max_completion_tokens\":1500,\"stream\":false,\"response_format\":{\"type\":"
		 "\"json_object\"}}"},
		{LLM_OPENAI, LLM_JSON_NONE, false,
		 OPENAI_HEAD ASKED OPENAI_USER "\"max_tokens\":1500,\"stream\":false}"},
		{LLM_ANTHROPIC, LLM_JSON_SCHEMA, false,
		 ANTHROPIC_HEAD ANTHROPIC_USER "\"stream\":false,\"output_config\":{\"format\":{"
					       "\"type\":\"json_schema\",\"schema\":"
					       "{\"type\":\"object\"}}}}"},
		{LLM_ANTHROPIC, LLM_JSON_NONE, false,
		 ANTHROPIC_HEAD ASKED ANTHROPIC_USER "\"stream\":false}"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *body = NULL;

		const struct llm_config config = {
			.model = "m", .api = cases[i].api, .json = cases[i].json};

		assert_int_equal(wire_request(&config, &prompt, cases[i].completion_tokens, &body),
				 0);
		assert_string_equal(body, cases[i].want);
		free(body);
	}
}

struct whole {
	enum llm_api api;
	const char *body;
	int err;
	const char *text;
	enum wire_end end;
	int64_t in, out;
	const char *model;
};

#define CHOICE(message, finish)                                                                    \
	"{\"model\":\"big\",\"choices\":[{\"index\":0,\"message\":" message                        \
	",\"finish_reason\":" finish                                                               \
	"}],\"usage\":{\"prompt_tokens\":11,\"completion_tokens\":7}}"

static const struct whole wholes[] = {
	{LLM_OPENAI, CHOICE("{\"content\":\"{}\"}", "\"stop\""), 0, "{}", WIRE_END_STOP, 11, 7,
	 "big"},
	{LLM_OPENAI, CHOICE("{\"content\":\"{}\"}", "\"stop\"") "\r\n ", 0, "{}", WIRE_END_STOP, 11,
	 7, "big"},
	/* llama.cpp's server, stopped at max_tokens. */
	{LLM_OPENAI, CHOICE("{\"content\":\"{ \\\"f\"}", "\"length\""), 0, "{ \"f", WIRE_END_LENGTH,
	 11, 7, "big"},
	{LLM_OPENAI,
	 CHOICE("{\"content\":\"{}\",\"reasoning_content\":\"hm\",\"refusal\":null}", "\"stop\""),
	 0, "{}", WIRE_END_STOP, 11, 7, "big"},
	{LLM_OPENAI,
	 CHOICE("{\"content\":[{\"type\":\"text\",\"text\":\"{\"},{\"type\":\"thinking\","
		"\"text\":\"hm\"},{\"type\":\"text\",\"text\":\"}\"}]}",
		"\"stop\""),
	 0, "{}", WIRE_END_STOP, 11, 7, "big"},
	{LLM_OPENAI, CHOICE("{\"content\":null,\"refusal\":\"I will not\"}", "\"stop\""), 0, "",
	 WIRE_END_REFUSAL, 11, 7, "big"},
	{LLM_OPENAI, CHOICE("{\"content\":\"\"}", "\"content_filter\""), 0, "", WIRE_END_REFUSAL,
	 11, 7, "big"},
	{LLM_OPENAI, CHOICE("{\"content\":null}", "\"tool_calls\""), 0, "", WIRE_END_OTHER, 11, 7,
	 "big"},
	{LLM_OPENAI, CHOICE("{\"content\":\"{}\"}", "null"), 0, "{}", WIRE_END_NONE, 11, 7, "big"},
	{LLM_OPENAI, "{\"choices\":[{\"message\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}",
	 0, "a", WIRE_END_STOP, -1, -1, ""},
	{LLM_OPENAI, "{\"choices\":[]}", -EBADMSG, "", 0, -1, -1, ""},
	{LLM_OPENAI, "{\"choices\":[{\"message\":\"a\"}]}", -EBADMSG, "", 0, -1, -1, ""},
	{LLM_OPENAI, "{\"choices\":{\"0\":1}}", -EBADMSG, "", 0, -1, -1, ""},
	{LLM_OPENAI, "{\"choices\":[]", -EBADMSG, "", 0, -1, -1, ""},
	{LLM_OPENAI, CHOICE("{\"content\":\"{}\"}", "\"stop\"") "x", -EBADMSG, "", 0, -1, -1, ""},
	{LLM_OPENAI, "<html>", -EBADMSG, "", 0, -1, -1, ""},
	{LLM_OPENAI, "", -EBADMSG, "", 0, -1, -1, ""},
	{LLM_OPENAI, "[]", -EBADMSG, "", 0, -1, -1, ""},
	/* Invalid token counts. */
	{LLM_OPENAI,
	 "{\"choices\":[{\"message\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}],\"usage\":"
	 "{\"prompt_tokens\":-4,\"completion_tokens\":1e300}}",
	 0, "a", WIRE_END_STOP, -1, -1, ""},
	{LLM_ANTHROPIC,
	 "{\"type\":\"message\",\"role\":\"assistant\",\"model\":\"c\",\"content\":[{\"type\":"
	 "\"thinking\",\"thinking\":\"hm\",\"signature\":\"x\"},{\"type\":\"text\",\"text\":\"{}\"}"
	 "],"
	 "\"stop_reason\":\"end_turn\",\"usage\":{\"input_tokens\":11,\"output_tokens\":7}}",
	 0, "{}", WIRE_END_STOP, 11, 7, "c"},
	{LLM_ANTHROPIC,
	 "{\"content\":[{\"type\":\"text\",\"text\":\"{\"}],\"stop_reason\":\"max_tokens\"}", 0,
	 "{", WIRE_END_LENGTH, -1, -1, ""},
	{LLM_ANTHROPIC, "{\"content\":[],\"stop_reason\":\"refusal\"}", 0, "", WIRE_END_REFUSAL, -1,
	 -1, ""},
	{LLM_ANTHROPIC, "{\"content\":[],\"stop_reason\":\"stop_sequence\"}", 0, "", WIRE_END_OTHER,
	 -1, -1, ""},
	{LLM_ANTHROPIC, "{\"content\":\"a\"}", -EBADMSG, "", 0, -1, -1, ""},
};

static void test_wholes(void **state)
{
	for (size_t i = 0; i < sizeof(wholes) / sizeof(wholes[0]); i++) {
		const struct whole *w = &wholes[i];
		size_t len = strlen(w->body);
		char *copy = malloc(len + 1);
		struct wire_reply r;

		/* Without the NUL: the code must not depend on it. */
		memcpy(copy, w->body, len);
		if (wire_reply_parse(w->api, copy, len, &r) != w->err)
			fail_msg("%s", w->body);
		assert_string_equal(r.text ? r.text : "", w->text);
		assert_int_equal(r.len, strlen(w->text));
		assert_int_equal(r.end, w->end);
		assert_int_equal(r.tokens_in, w->in);
		assert_int_equal(r.tokens_out, w->out);
		assert_string_equal(r.model, w->model);
		assert_false(r.failed);
		wire_reply_free(&r);
		free(copy);
	}
}

/* An error in place of an answer, with status 200. */
static void test_errors_inside(void **state)
{
	static const char body[] = "{\"error\":{\"message\":\"m\",\"code\":502}}";
	struct wire_reply r;

	assert_int_equal(wire_reply_parse(LLM_OPENAI, body, strlen(body), &r), 0);
	assert_true(r.failed);
	assert_string_equal(r.error.message, "m");
	assert_int_equal(r.error.status, 502);
	wire_reply_free(&r);
}

static void test_error_bodies(void **state)
{
	static const struct {
		const char *body, *message;
		int status;
	} cases[] = {
		{"{\"error\":{\"message\":\"Invalid API Key\",\"type\":\"authentication_error\","
		 "\"code\":401}}",
		 "Invalid API Key", 401},
		{"{\"error\":{\"message\":\"q\",\"type\":\"insufficient_quota\",\"param\":null,"
		 "\"code\":\"insufficient_quota\"}}",
		 "q", 0},
		{"{\"error\":{\"message\":\"m\",\"type\":\"invalid_request_error\",\"param\":"
		 "\"max_tokens\",\"code\":null}}",
		 "m", 0},
		{"{\"error\":{\"message\":\"m\",\"code\":\"503\"}}", "m", 503},
		{"{\"error\":{\"message\":\"m\",\"code\":600}}", "m", 0},
		{"{\"error\":true,\"message\":\"m\"}", "m", 0},
		{"{\"error\":{\"code\":400,\"message\":\"long\",\"type\":\"exceed_context_size_"
		 "error\","
		 "\"n_prompt_tokens\":9000,\"n_ctx\":4096}}",
		 "long", 400},
		{"{\"type\":\"error\",\"error\":{\"type\":\"not_found_error\",\"message\":\"model: "
		 "x\"},"
		 "\"request_id\":\"r\"}",
		 "model: x", 0},
		{"{\"error\":\"model not found\"}", "model not found", 0},
		{"{\"object\":\"error\",\"message\":\"no\",\"type\":\"NotFoundError\",\"code\":"
		 "404}",
		 "no", 404},
		{"{\"detail\":\"Not Found\"}", "Not Found", 0},
		{"[{\"error\":{\"message\":\"m\",\"code\":400}}]", "m", 400},
	};
	static const char *const none[] = {"",	 "<html>",	  "{}",
					   "[]", "{\"error\":3}", "{\"error\":{}"};
	struct wire_error e;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(wire_error_parse(cases[i].body, strlen(cases[i].body), &e), 0);
		assert_string_equal(e.message, cases[i].message);
		assert_int_equal(e.status, cases[i].status);
	}
	memset(&e, 7, sizeof(e));
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_int_equal(wire_error_parse(none[i], strlen(none[i]), &e), -EBADMSG);
	assert_int_equal(e.message[0], 7);
}

/* Every prefix of a reply is broken, and only the whole reply is right. */
static void test_beginnings(void **state)
{
	const char *body = wholes[0].body;

	for (size_t len = 0; len < strlen(body); len++) {
		char *copy = malloc(len + 1);
		struct wire_reply r;

		memcpy(copy, body, len);
		copy = realloc(copy, len ? len : 1);
		assert_int_equal(wire_reply_parse(LLM_OPENAI, copy, len, &r), -EBADMSG);
		wire_reply_free(&r);
		free(copy);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests),      cmocka_unit_test(test_wholes),
		cmocka_unit_test(test_errors_inside), cmocka_unit_test(test_error_bodies),
		cmocka_unit_test(test_beginnings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
