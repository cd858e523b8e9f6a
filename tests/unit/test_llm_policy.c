/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: http access */
/* After an attempt: what is retried, after how long, and what is reported. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <curl/curl.h>

#include "advisor/llm/http/attempt.h"

#define SECOND UINT64_C(1000000000)
#define ENOUGH (120 * SECOND)

/* The query of the tests. */
static const struct llm_config openai = {.model = "m"};

static struct question asked(void)
{
	return (struct question){.config = &openai,
				 .endpoint.host = "h",
				 .limit_ns = ENOUGH,
				 .stall_ns = SECOND,
				 .left_ns = ENOUGH};
}

static struct outcome outcome(const struct question *c, const struct transport_result *t)
{
	struct wire_reply reply;
	struct outcome o;

	outcome_of(c, t, &reply, &o);
	assert_true((o.outcome == LLM_ANSWERED) == !*o.line);
	wire_reply_free(&reply);
	return o;
}

/* A body is not freed. */
static struct outcome of_status(int status, const char *body)
{
	const struct question c = asked();
	const struct transport_result t = {
		.status = status, .body = (char *)body, .len = strlen(body), .retry_after_ns = -1};

	return outcome(&c, &t);
}

/* The number of attempts if all end in the same way. */
static unsigned int attempts(struct outcome o)
{
	unsigned int n = 1;
	uint64_t wait;

	while (outcome_again(&o, n, ENOUGH, 0, &wait) && n < 100)
		n++;
	return n;
}

static void test_statuses(void **state)
{
	static const int again[] = {408, 409, 429, 500, 502, 503, 504, 529};
	size_t found = 0;

	for (int status = 100; status < 600; status++) {
		unsigned int n = attempts(of_status(status, ""));
		bool passing = found < sizeof(again) / sizeof(again[0]) && again[found] == status;

		if (n != (passing ? OUTCOME_TRIES : 1))
			fail_msg("%d: %u attempts", status, n);
		found += passing;
	}
	assert_int_equal(found, sizeof(again) / sizeof(again[0]));
	assert_int_equal(attempts(of_status(429, "{\"error\":{\"message\":\"m\",\"type\":"
						 "\"insufficient_quota\"}}")),
			 1);
	assert_int_equal(attempts(of_status(400, "{\"error\":\"prompt is too long\"}")), 1);
	/* A status in the body. */
	assert_int_equal(attempts(of_status(200, "{\"error\":{\"code\":502}}")), OUTCOME_TRIES);
	assert_int_equal(attempts(of_status(200, "{\"error\":{\"code\":400}}")), 1);
}

static void test_network(void **state)
{
	static const int again[] = {6, 7, 18, 28, 35, 52, 55, 56};
	const struct question c = asked();
	size_t found = 0;

	for (int curl = 1; curl < 100; curl++) {
		const struct transport_result t = {.curl = curl, .retry_after_ns = -1};
		bool passing = found < sizeof(again) / sizeof(again[0]) && again[found] == curl;
		unsigned int n = attempts(outcome(&c, &t));

		if (n != (passing ? OUTCOME_TRIES : 1))
			fail_msg("%d: %u attempts", curl, n);
		found += passing;
	}
	assert_int_equal(found, sizeof(again) / sizeof(again[0]));
}

#define CHOICE(content, finish)                                                                    \
	"{\"choices\":[{\"message\":{\"content\":" content "},\"finish_reason\":" finish "}]}"

static void test_other_ends(void **state)
{
	static const struct {
		const char *body;
		enum llm_outcome want;
	} replies[] = {
		{CHOICE("\"{}\"", "\"stop\""), LLM_ANSWERED},
		{CHOICE("\"{}\"", "\"length\""), LLM_BROKEN},
		{CHOICE("\"{}\"", "\"tool_calls\""), LLM_BROKEN},
		{CHOICE("\"{}\"", "null"), LLM_BROKEN},
		{CHOICE("\"{}\"", "\"content_filter\""), LLM_DECLINED},
		{CHOICE("\"{}\",\"refusal\":\"No.\"", "\"stop\""), LLM_DECLINED},
		{CHOICE("\" \\n\"", "\"stop\""), LLM_DECLINED},
		{CHOICE("null", "\"stop\""), LLM_DECLINED},
		{"<html>", LLM_BROKEN},
		{"", LLM_BROKEN},
	};
	const struct question c = asked();
	const struct transport_result elsewhere = {.status = 307}, big = {.too_big = true};

	for (size_t i = 0; i < sizeof(replies) / sizeof(replies[0]); i++) {
		struct outcome o = of_status(200, replies[i].body);

		if (o.outcome != replies[i].want || attempts(o) != 1)
			fail_msg("%s: %s", replies[i].body, o.line);
	}
	assert_int_equal(outcome(&c, &elsewhere).outcome, LLM_REFUSED);
	assert_int_equal(attempts(outcome(&c, &elsewhere)), 1);
	assert_int_equal(outcome(&c, &big).outcome, LLM_BROKEN);
	assert_int_equal(attempts(outcome(&c, &big)), 1);
}

/* Full jitter: a random time up to a bound that doubles. */
static void test_jitter(void **state)
{
	struct outcome o = of_status(503, "");

	for (unsigned int tries = 1; tries < OUTCOME_TRIES; tries++) {
		uint64_t bound = SECOND << (tries - 1), last = 0;

		for (uint64_t random = 0; random <= UINT32_MAX; random += UINT32_MAX / 16) {
			uint64_t wait = 77;

			assert_true(outcome_again(&o, tries, ENOUGH, (uint32_t)random, &wait));
			assert_true(random == 0 ? wait == 0 : wait > last);
			assert_true(wait <= bound);
			last = wait;
		}
		assert_true(last > bound - bound / 100);
	}
}

static void test_retry_after(void **state)
{
	static const struct {
		int64_t after_s;
		uint64_t left_s;
		bool again;
	} cases[] = {
		{0, 120, true},	  {1, 120, true},     {60, 120, true},
		{61, 120, false}, {61, 4000, false},  {10, 10, false},
		{10, 11, true},	  {3600, 120, false}, {INT64_MAX / 1000000000, 120, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct question c = asked();
		const struct transport_result t = {
			.status = 429, .retry_after_ns = cases[i].after_s * (int64_t)SECOND};
		struct outcome o;
		uint64_t wait = 0;

		c.left_ns = cases[i].left_s * SECOND;
		o = outcome(&c, &t);
		assert_int_equal(outcome_again(&o, 1, c.left_ns, UINT32_MAX, &wait),
				 cases[i].again);
		assert_true(!strstr(o.line, "longer than the time left") == cases[i].again);
		if (cases[i].again)
			assert_int_equal(wait, (uint64_t)cases[i].after_s * SECOND);
	}
}

static void test_no_time(void **state)
{
	struct question c = asked();
	const struct transport_result t = {.curl = CURLE_OPERATION_TIMEDOUT};
	struct outcome o = outcome(&c, &t);
	uint64_t wait;

	assert_true(outcome_again(&o, 1, OUTCOME_LEFT_MIN_NS, 0, &wait));
	assert_false(outcome_again(&o, 1, OUTCOME_LEFT_MIN_NS - 1, 0, &wait));
	assert_false(outcome_again(&o, 1, 0, 0, &wait));
	assert_null(strstr(o.line, "did not answer within"));
	c.left_ns = 0;
	assert_non_null(strstr(outcome(&c, &t).line, "did not answer within"));
}

static void test_retry_after_text(void **state)
{
	/* 1994-11-15 08:12:31 UTC */
	enum { DATE = 784887151 };
	static const struct {
		const char *text;
		int64_t now, want;
	} cases[] = {
		{"0", 0, 0},
		{"7", 0, 7},
		{"120", 0, 120},
		{"Tue, 15 Nov 1994 08:12:31 GMT", DATE - 20, 20},
		{"Tuesday, 15-Nov-94 08:12:31 GMT", DATE - 20, 20},
		{"Tue Nov 15 08:12:31 1994", DATE - 20, 20},
		{"Tue, 15 Nov 1994 08:12:31 GMT", DATE, 0},
		{"Tue, 15 Nov 1994 08:12:31 GMT", DATE + 9, 0},
		{"", 0, -1},
		{"soon", 0, -1},
		{"-1", 0, -1},
		{"1.5", 0, -1},
		{"7 s", 0, -1},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t got = transport_retry_after_ns(cases[i].text, cases[i].now);

		if (got != (cases[i].want < 0 ? -1 : cases[i].want * (int64_t)SECOND))
			fail_msg("'%s': %lld", cases[i].text, (long long)got);
	}
	assert_true(transport_retry_after_ns("99999999999999999999", 0) > (int64_t)(4000 * SECOND));
	assert_true(transport_retry_after_ns("Fri, 31 Dec 9999 23:59:59 GMT", 0) >
		    (int64_t)(4000 * SECOND));
}

/* The server refuses a form of JSON: the message names the option to use. */
static void test_plainer(void **state)
{
	static const struct {
		enum llm_api api;
		enum llm_json json;
		const char *option; /* NULL: no form is left */
	} cases[] = {
		{LLM_OPENAI, LLM_JSON_SCHEMA, "--llm-json object"},
		{LLM_OPENAI, LLM_JSON_OBJECT, "--llm-json none"},
		{LLM_OPENAI, LLM_JSON_NONE, NULL},
		{LLM_ANTHROPIC, LLM_JSON_SCHEMA, "--llm-json none"},
		{LLM_ANTHROPIC, LLM_JSON_NONE, NULL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		static char body[] = "{\"error\":\"response_format: unknown\"}";
		const struct llm_config config = {
			.model = "m", .api = cases[i].api, .json = cases[i].json};
		const struct transport_result t = {
			.status = 400, .body = body, .len = strlen(body), .retry_after_ns = -1};
		struct question c = asked();
		struct outcome o;
		const char *reason;

		c.config = &config;
		o = outcome(&c, &t);
		reason = o.line;
		/* The user's choice of a JSON form is never changed. */
		assert_int_equal(attempts(o), 1);
		assert_non_null(strstr(reason, "refused the request (status 400)"));
		if (cases[i].option)
			assert_non_null(strstr(reason, cases[i].option));
		else
			assert_null(strstr(reason, "--llm-json"));
	}
}

/* The sign by which each complaint is recognised. */
enum complaint { NONE, LONG, QUOTA, TOKENS, FORM };

static enum complaint complaint_of(const struct outcome *o)
{
	return o->too_long				      ? LONG
	       : o->other_limit				      ? TOKENS
	       : strstr(o->line, "quota is used")	      ? QUOTA
	       : strstr(o->line, "; if it does not support ") ? FORM
							      : NONE;
}

static void test_complaints(void **state)
{
	static const struct {
		int status;
		const char *message, *type, *code;
		enum complaint want;
	} cases[] = {
		{400, "Unable to generate parser for this template: unrecognized type", "", "",
		 FORM},
		{400, "Invalid schema for response_format 'x'", "invalid_request_error", "", FORM},
		{400, "failed to parse grammar", "", "", FORM},
		{400, "output_config.format: Extra inputs are not permitted", "", "", FORM},
		{400, "Use 'max_completion_tokens' instead.", "", "unsupported_parameter", TOKENS},
		{400, "the request exceeds the available context size", "exceed_context_size_error",
		 "400", LONG},
		{400, "This model's maximum context length is 8192 tokens", "", "", LONG},
		{400, "schema and prompt is too long", "", "", LONG},
		{413, "", "", "", LONG},
		{429, "", "insufficient_quota", "", QUOTA},
		{400, "Your credit balance is too low to access the API", "", "", QUOTA},
		{429, "Slow down", "rate_limit_error", "rate_limit_exceeded", NONE},
		{500, "does not match the expected peg-native format", "server_error", "500", NONE},
		{500, "response_format", "", "", NONE},
		{401, "schema", "", "", NONE},
		{400, "model is required", "", "", NONE},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char body[512];
		struct outcome o;

		snprintf(body, sizeof(body),
			 "{\"error\":{\"message\":\"%s\",\"type\":\"%s\",\"code\":\"%s\"}}",
			 cases[i].message, cases[i].type, cases[i].code);
		o = of_status(cases[i].status, body);
		if (complaint_of(&o) != cases[i].want)
			fail_msg("%d %s: %s", cases[i].status, cases[i].message, o.line);
	}
	assert_false(of_status(400, "").too_long);
	assert_true(of_status(413, "").too_long);
}

/* However long and hostile names and messages are: one short line without control characters. */
static void test_reasons(void **state)
{
	static const char *const bodies[] = {NULL,
					     "",
					     "<",
					     CHOICE("\"x\"", "\"length\""),
					     CHOICE("\"x\"", "\"\\u001b[2J, too\""),
					     CHOICE("\"\"", "\"stop\""),
					     CHOICE("\"\"", "\"content_filter\"")};
	char model[512], hostile[1024], message[1200];
	const struct llm_config config = {.model = model};
	struct question c = asked();
	struct transport_result t = {.retry_after_ns = INT64_MAX};

	c.config = &config;
	c.limit_ns = c.stall_ns = UINT64_MAX;
	memset(c.endpoint.host, 'h', sizeof(c.endpoint.host) - 1);
	memset(model, '\x1b', sizeof(model) - 1);
	model[sizeof(model) - 1] = '\0';
	for (size_t i = 0; i + 1 < sizeof(hostile); i++)
		hostile[i] = (char)(i % 251 + 1);
	hostile[sizeof(hostile) - 1] = '\0';
	for (char *p = hostile; *p; p++)
		*p = *p == '"' || *p == '\\' ? ' ' : *p;
	snprintf(message, sizeof(message), "{\"error\":{\"message\":\"%s\"}}", hostile);
	memcpy(t.said, hostile, sizeof(t.said) - 1);
	memcpy(t.elsewhere, hostile, sizeof(t.elsewhere) - 1);
	for (size_t b = 0; b <= sizeof(bodies) / sizeof(bodies[0]); b++)
		for (int n = 0; n < 1200; n++) {
			bool last = b == sizeof(bodies) / sizeof(bodies[0]);
			struct outcome o;

			t.body = last ? message : (char *)bodies[b];
			t.len = t.body ? strlen(t.body) : 0;
			t.status = n < 600 ? n : 200;
			t.curl = n < 600 ? 0 : n - 600;
			c.left_ns = n & 1 ? 0 : ENOUGH;
			t.stalled = t.encoded = n & 2;
			t.retry_after_ns = n & 4 ? INT64_MAX : -1;
			o = outcome(&c, &t);
			assert_true(o.outcome != LLM_ANSWERED);
			assert_true(strlen(o.line) > 10 && strlen(o.line) <= OUTCOME_LINE_MAX + 3);
			/* At most that much of it is from the server. */
			for (const char *p = o.line; *p; p++)
				assert_true((unsigned char)*p >= 0x20 && *p != 0x7f);
		}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_statuses),	 cmocka_unit_test(test_network),
		cmocka_unit_test(test_other_ends),	 cmocka_unit_test(test_jitter),
		cmocka_unit_test(test_retry_after),	 cmocka_unit_test(test_no_time),
		cmocka_unit_test(test_retry_after_text), cmocka_unit_test(test_complaints),
		cmocka_unit_test(test_reasons),		 cmocka_unit_test(test_plainer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
