/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: http access */
/* What follows an attempt: what is tried again, after how long, in which shape, and what is said.
 */
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

#include "advisor/llm/http/outcome.h"

#define SECOND UINT64_C(1000000000)
#define ENOUGH (120 * SECOND)

static struct verdict of_status(int status, enum complaint complaint)
{
	return (struct verdict){.kind = VERDICT_STATUS, .status = status, .complaint = complaint};
}

/* How many attempts there are when each ends alike. */
static unsigned int attempts(struct verdict v)
{
	struct policy p = {0};
	unsigned int n = 1;

	while (policy_after(&p, &v, -1, ENOUGH, 0).act != POLICY_END && n < 100)
		n++;
	return n;
}

static void test_statuses(void **state)
{
	static const int again[] = {408, 409, 429, 500, 502, 503, 504, 529};
	size_t found = 0;

	for (int status = 100; status < 600; status++) {
		unsigned int n = attempts(of_status(status, COMPLAINT_NONE));
		bool passing = found < sizeof(again) / sizeof(again[0]) && again[found] == status;

		if (n != (passing ? POLICY_TRIES : 1))
			fail_msg("%d: %u attempts", status, n);
		found += passing;
	}
	assert_int_equal(found, sizeof(again) / sizeof(again[0]));
	assert_int_equal(attempts(of_status(429, COMPLAINT_QUOTA)), 1);
	assert_int_equal(attempts(of_status(500, COMPLAINT_PARSE)), 2);
	assert_int_equal(attempts(of_status(400, COMPLAINT_LONG)), 1);
}

static void test_network(void **state)
{
	static const int again[] = {6, 7, 18, 28, 35, 52, 55, 56};
	size_t found = 0;

	for (int curl = 1; curl < 100; curl++) {
		struct verdict v = {.kind = VERDICT_NETWORK, .curl = curl};
		bool passing = found < sizeof(again) / sizeof(again[0]) && again[found] == curl;

		if (attempts(v) != (passing ? POLICY_TRIES : 1))
			fail_msg("%d: %u attempts", curl, attempts(v));
		found += passing;
	}
	assert_int_equal(found, sizeof(again) / sizeof(again[0]));
}

static void test_other_ends(void **state)
{
	static const enum verdict_kind once[] = {
		VERDICT_ELSEWHERE, VERDICT_TOO_BIG, VERDICT_NOT_API, VERDICT_LENGTH,
		VERDICT_NO_STOP,   VERDICT_REFUSAL, VERDICT_EMPTY,   VERDICT_ANSWERED};

	for (size_t i = 0; i < sizeof(once) / sizeof(once[0]); i++)
		assert_int_equal(attempts((struct verdict){.kind = once[i]}), 1);
	assert_int_equal(attempts((struct verdict){.kind = VERDICT_CUT}), POLICY_TRIES);
}

/* Full jitter: anything from nothing to a bound that doubles. */
static void test_jitter(void **state)
{
	struct verdict v = of_status(503, COMPLAINT_NONE);

	for (unsigned int before = 0; before < 2; before++) {
		uint64_t bound = SECOND << before, last = 0;

		for (uint64_t random = 0; random <= UINT32_MAX; random += UINT32_MAX / 16) {
			struct policy p = {.tries = before};
			struct policy_next n = policy_after(&p, &v, -1, ENOUGH, (uint32_t)random);

			assert_int_equal(n.act, POLICY_AGAIN);
			assert_true(random == 0 ? n.wait_ns == 0 : n.wait_ns > last);
			assert_true(n.wait_ns <= bound);
			last = n.wait_ns;
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
	struct verdict v = of_status(429, COMPLAINT_NONE);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct policy p = {0};
		struct policy_next n = policy_after(&p, &v, cases[i].after_s * (int64_t)SECOND,
						    cases[i].left_s * SECOND, UINT32_MAX);

		assert_int_equal(n.act, cases[i].again ? POLICY_AGAIN : POLICY_END);
		assert_int_equal(n.no_time, !cases[i].again);
		if (cases[i].again)
			assert_int_equal(n.wait_ns, (uint64_t)cases[i].after_s * SECOND);
	}
}

static void test_no_time(void **state)
{
	struct verdict v = {.kind = VERDICT_NETWORK, .curl = CURLE_OPERATION_TIMEDOUT};
	struct verdict tokens = of_status(400, COMPLAINT_TOKENS);
	struct policy p = {0};

	assert_int_equal(policy_after(&p, &v, -1, 0, 0).act, POLICY_END);
	p = (struct policy){0};
	assert_true(policy_after(&p, &v, -1, POLICY_LEFT_MIN_NS - 1, 0).no_time);
	p = (struct policy){0};
	assert_int_equal(policy_after(&p, &tokens, -1, 0, 0).act, POLICY_END);
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

static void test_steps(void **state)
{
	struct verdict form = of_status(400, COMPLAINT_FORM);
	struct verdict tokens = of_status(400, COMPLAINT_TOKENS);
	struct verdict stream = of_status(400, COMPLAINT_STREAM);
	struct policy p = {.shape.stream = true};

	/* How JSON is asked for is the user's to say. */
	for (int json = 0; json < LLM_JSON_NR; json++) {
		struct policy q = {.shape.json = (enum llm_json)json};

		assert_int_equal(policy_after(&q, &form, -1, ENOUGH, 0).act, POLICY_END);
		assert_int_equal(q.shape.json, json);
	}
	assert_int_equal(policy_after(&p, &tokens, -1, ENOUGH, 7).act, POLICY_AGAIN);
	assert_true(p.shape.completion_tokens);
	assert_int_equal(policy_after(&p, &stream, -1, ENOUGH, 7).wait_ns, 0);
	assert_false(p.shape.stream);
	assert_int_equal(p.tries, 0);
	assert_int_equal(policy_after(&p, &stream, -1, ENOUGH, 0).act, POLICY_END);
	assert_int_equal(policy_after(&p, &tokens, -1, ENOUGH, 0).act, POLICY_END);
}

/* A form of JSON that is refused: which option to give. */
static void test_plainer(void **state)
{
	static const struct {
		enum llm_api api;
		enum llm_json json;
		const char *option; /* NULL: none is left */
	} cases[] = {
		{LLM_OPENAI, LLM_JSON_SCHEMA, "--llm-json object"},
		{LLM_OPENAI, LLM_JSON_OBJECT, "--llm-json none"},
		{LLM_OPENAI, LLM_JSON_NONE, NULL},
		{LLM_ANTHROPIC, LLM_JSON_SCHEMA, "--llm-json none"},
		{LLM_ANTHROPIC, LLM_JSON_NONE, NULL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct llm_config config = {
			.model = "m", .api = cases[i].api, .json = cases[i].json};
		struct transport_result t = {0};
		struct wire_reply reply = {0};
		struct policy_next next = {0};
		struct verdict v = of_status(400, COMPLAINT_FORM);
		struct say_facts f = {.config = &config,
				      .host = "h",
				      .transport = &t,
				      .reply = &reply,
				      .verdict = &v,
				      .next = &next};
		char reason[512];

		say_reason(&f, reason, sizeof(reason));
		assert_non_null(strstr(reason, "refuses (status 400)"));
		if (cases[i].option)
			assert_non_null(strstr(reason, cases[i].option));
		else
			assert_null(strstr(reason, "--llm-json"));
	}
}

/* Whatever a server says, in whatever order, there is an end. */
static void test_bounded(void **state)
{
	for (unsigned int seed = 0; seed < 10000; seed++) {
		struct policy p = {.shape.stream = true};
		unsigned int n = 1, bits = seed * 2654435761U;
		struct policy_next next;

		do {
			static const int statuses[] = {400, 422, 429, 500, 503, 400, 400, 400};
			struct verdict v =
				of_status(statuses[bits & 7], (enum complaint)((bits >> 3) % 7));

			next = policy_after(&p, &v, bits & 64 ? 0 : -1, ENOUGH, bits);
			bits = bits * 1103515245 + 12345;
			bits ^= bits >> 11;
		} while (next.act != POLICY_END && ++n < 100);
		assert_true(n <= POLICY_TRIES + POLICY_STEPS);
	}
}

static void test_complaints(void **state)
{
	static const struct {
		int status;
		const char *message, *type, *code;
		enum complaint want;
	} cases[] = {
		{400, "Unable to generate parser for this template: unrecognized type", "", "",
		 COMPLAINT_FORM},
		{400, "Invalid schema for response_format 'x'", "invalid_request_error", "",
		 COMPLAINT_FORM},
		{400, "failed to parse grammar", "", "", COMPLAINT_FORM},
		{400, "output_config.format: Extra inputs are not permitted", "", "",
		 COMPLAINT_FORM},
		{400, "Use 'max_completion_tokens' instead.", "", "unsupported_parameter",
		 COMPLAINT_TOKENS},
		{400, "unknown argument: stream_options", "", "", COMPLAINT_STREAM},
		{400, "the request exceeds the available context size", "exceed_context_size_error",
		 "400", COMPLAINT_LONG},
		{400, "This model's maximum context length is 8192 tokens", "", "", COMPLAINT_LONG},
		{400, "schema and prompt is too long", "", "", COMPLAINT_LONG},
		{413, "", "", "", COMPLAINT_LONG},
		{429, "", "insufficient_quota", "", COMPLAINT_QUOTA},
		{400, "Your credit balance is too low to access the API", "", "", COMPLAINT_QUOTA},
		{429, "Slow down", "rate_limit_error", "rate_limit_exceeded", COMPLAINT_NONE},
		{500, "does not match the expected peg-native format", "server_error", "500",
		 COMPLAINT_PARSE},
		{500, "response_format", "", "", COMPLAINT_NONE},
		{401, "schema", "", "", COMPLAINT_NONE},
		{400, "model is required", "", "", COMPLAINT_NONE},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wire_error e = {0};

		strcpy(e.message, cases[i].message);
		strcpy(e.type, cases[i].type);
		strcpy(e.code, cases[i].code);
		if (complaint_of(cases[i].status, &e) != cases[i].want)
			fail_msg("%d %s", cases[i].status, cases[i].message);
	}
	assert_int_equal(complaint_of(400, NULL), COMPLAINT_NONE);
	assert_int_equal(complaint_of(413, NULL), COMPLAINT_LONG);
}

/* Whatever happened, and however long and hostile names and messages are: one line, not too long,
 * that acts on nothing. */
static void test_reasons(void **state)
{
	char host[256], model[512], hostile[1024];
	struct llm_config config = {.model = model};
	struct transport_result t = {0};
	struct wire_reply reply;
	struct policy_next next = {0};
	struct verdict v = {.has_error = true, .error = {.tokens = -1, .context = -1}};
	struct say_facts f = {.config = &config,
			      .host = host,
			      .attempts = 3,
			      .transport = &t,
			      .reply = &reply,
			      .verdict = &v,
			      .next = &next,
			      .retry_after_ns = INT64_MAX,
			      .limit_ns = UINT64_MAX,
			      .stall_ns = UINT64_MAX};

	wire_reply_init(&reply);
	memset(host, 'h', sizeof(host) - 1);
	host[sizeof(host) - 1] = '\0';
	memset(model, '\x1b', sizeof(model) - 1);
	model[sizeof(model) - 1] = '\0';
	for (size_t i = 0; i + 1 < sizeof(hostile); i++)
		hostile[i] = (char)(i % 251 + 1);
	hostile[sizeof(hostile) - 1] = '\0';
	memcpy(v.error.message, hostile, sizeof(v.error.message));
	memcpy(t.said, hostile, sizeof(t.said) - 1);
	memcpy(t.elsewhere, hostile, sizeof(t.elsewhere) - 1);
	memcpy(reply.refusal, hostile, sizeof(reply.refusal) - 1);
	memcpy(reply.end_said, hostile, sizeof(reply.end_said) - 1);
	for (int kind = VERDICT_NETWORK; kind <= VERDICT_EMPTY; kind++)
		for (int n = 0; n < 600; n++) {
			char reason[512] = "";

			v.kind = (enum verdict_kind)kind;
			v.status = v.curl = t.curl = n;
			v.complaint = (enum complaint)(n % 7);
			next.no_time = f.time_over = n & 1;
			t.stalled = t.encoded = n & 2;
			say_reason(&f, reason, sizeof(reason));
			assert_true(strlen(reason) > 10 && strlen(reason) <= SAY_MAX + 3);
			for (const char *p = reason; *p; p++)
				assert_true((unsigned char)*p >= 0x20 && *p != 0x7f);
			/* At most so much of it is the server's. */
			assert_null(strstr(reason, "\x7f"));
			assert_true(say_outcome(&v) != LLM_ANSWERED);
		}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_statuses),	 cmocka_unit_test(test_network),
		cmocka_unit_test(test_other_ends),	 cmocka_unit_test(test_jitter),
		cmocka_unit_test(test_retry_after),	 cmocka_unit_test(test_no_time),
		cmocka_unit_test(test_retry_after_text), cmocka_unit_test(test_steps),
		cmocka_unit_test(test_bounded),		 cmocka_unit_test(test_complaints),
		cmocka_unit_test(test_reasons),		 cmocka_unit_test(test_plainer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
