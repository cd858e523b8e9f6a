/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: daemon */
/* Requests of a node's users: what each takes, and everything else is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cachemon/daemon/node_protocol.h"

static void good(const char *text, struct node_request *ret)
{
	struct errtext err;

	memset(ret, 0x5a, sizeof(*ret));
	if (node_request_parse(text, strlen(text), ret, &err))
		fail_msg("%s", err.text);
}

static void bad_bytes(const char *text, size_t len, const char *expect)
{
	struct node_request q, untouched;
	struct errtext err = {""};

	memset(&q, 0x5a, sizeof(q));
	untouched = q;
	assert_int_equal(node_request_parse(text, len, &q, &err), -EINVAL);
	if (strcmp(err.text, expect) != 0)
		fail_msg("%s: '%s' is not '%s'", text, err.text, expect);
	assert_memory_equal(&q, &untouched, sizeof(q));
}

static void bad(const char *text, const char *expect)
{
	bad_bytes(text, strlen(text), expect);
}

static void test_requests(void **state)
{
	struct node_request q;

	good("{\"request\": \"hello\"}", &q);
	assert_int_equal(q.verb, NODE_HELLO);
	assert_string_equal(q.job, "");
	good(" {\"request\":\"jobs\"}\n", &q);
	assert_int_equal(q.verb, NODE_JOBS);
	good("{\"job\": \"pod:default/web\", \"request\": \"snapshot\"}", &q);
	assert_int_equal(q.verb, NODE_SNAPSHOT);
	assert_string_equal(q.job, "pod:default/web");
	assert_int_equal(q.uid, -1);
	assert_int_equal(q.since, -1);
	good("{\"job\": \"slurm:14\", \"request\": \"snapshot\", \"since\": 0}", &q);
	assert_int_equal(q.since, 0);
	good("{\"job\": \"slurm:14\", \"request\": \"totals\"}", &q);
	assert_int_equal(q.verb, NODE_TOTALS);
	good("{\"request\": \"begin\", \"job\": \"slurm:14\", \"name\": \"tr\\u00e4in\", "
	     "\"uid\": 1000, \"partition\": \"gpu\"}",
	     &q);
	assert_int_equal(q.verb, NODE_BEGIN);
	assert_string_equal(q.job, "slurm:14");
	assert_string_equal(q.name, "tr\xc3\xa4in");
	assert_string_equal(q.partition, "gpu");
	assert_int_equal(q.uid, 1000);
	good("{\"request\": \"begin\", \"job\": \"slurm:14\"}", &q);
	assert_string_equal(q.name, "");
	assert_int_equal(q.uid, -1);
	good("{\"request\": \"end\", \"job\": \"slurm:14\"}", &q);
	assert_int_equal(q.verb, NODE_END);
	good("{\"request\": \"sample\", \"job\": \"slurm:14\"}", &q);
	assert_int_equal(q.verb, NODE_SAMPLE);
	good("{\"request\": \"watch\", \"name\": \"train\", \"command\": \"python3 -c 'x' "
	     "\\u00e4\"}",
	     &q);
	assert_int_equal(q.verb, NODE_WATCH);
	assert_string_equal(q.name, "train");
	assert_string_equal(q.command, "python3 -c 'x' \xc3\xa4");
	assert_string_equal(q.job, "");
	good("{\"request\": \"done\"}", &q);
	assert_int_equal(q.verb, NODE_DONE);
	assert_string_equal(q.command, "");
}

/* A client's request means to the daemon what the client meant. */
static void test_printed(void **state)
{
	struct node_request q = {.uid = -1, .since = -1}, got;
	char text[NODE_MESSAGE_MAX + 1];

	for (q.verb = 0; q.verb < NODE_VERB_NR; q.verb++) {
		bool names = q.verb == NODE_WATCH;
		bool none =
			names || q.verb == NODE_HELLO || q.verb == NODE_JOBS || q.verb == NODE_DONE;

		strcpy(q.job, none ? "" : "slurm:14");
		strcpy(q.name, names ? "train" : "");
		strcpy(q.command, names ? "python3 train.py" : "");
		assert_int_equal(node_request_print(&q, text), 0);
		good(text, &got);
		assert_int_equal(got.verb, q.verb);
		assert_string_equal(got.job, q.job);
		assert_string_equal(got.name, q.name);
		assert_string_equal(got.command, q.command);
		assert_int_equal(got.uid, -1);
		assert_int_equal(got.since, -1);
	}
	q = (struct node_request){.verb = NODE_SNAPSHOT, .job = "slurm:14", .uid = -1};
	q.since = (INT64_C(1) << 53) - 1;
	assert_int_equal(node_request_print(&q, text), 0);
	good(text, &got);
	assert_int_equal(got.since, q.since);
	q = (struct node_request){.verb = NODE_WATCH, .uid = -1, .since = -1};
	memset(q.name, '"', NODE_NAME_MAX);
	memset(q.command, '\\', NODE_COMMAND_MAX);
	assert_int_equal(node_request_print(&q, text), 0);
	good(text, &got);
	assert_string_equal(got.name, q.name);
	assert_string_equal(got.command, q.command);
	q = (struct node_request){.verb = NODE_BEGIN, .since = -1};
	q.uid = UINT32_MAX - 1;
	memset(q.job, '"', NODE_NAME_MAX); /* two bytes each */
	q.job[1] = ':';
	memset(q.name, '\\', NODE_NAME_MAX);
	strcpy(q.partition, "gpu \xc3\xa4");
	assert_int_equal(node_request_print(&q, text), 0);
	good(text, &got);
	assert_string_equal(got.job, q.job);
	assert_string_equal(got.name, q.name);
	assert_string_equal(got.partition, q.partition);
	assert_int_equal(got.uid, q.uid);
}

static void test_wrong_shapes(void **state)
{
	static const char object[] = "a request is one object in JSON";

	bad("", object);
	bad("[]", object);
	bad("null", object);
	bad("hello", object);
	bad("{\"request\": \"hello\"", object);
	bad("{\"request\": \"hello\"} {}", object);
	bad("{\"request\": \"hello\"}x", object);
	bad("{}", "a request has a text 'request'");
	bad("{\"request\": 1}", "a request has a text 'request'");
	bad("{\"Request\": \"hello\"}", "a request has a text 'request'");
	bad("{\"request\": \"stop\"}", "unknown request; there are hello, jobs, snapshot, totals, "
				       "begin, end, sample, watch and "
				       "done");
}

static void test_wrong_keys(void **state)
{
	bad("{\"request\": \"hello\", \"job\": \"a:b\"}", "unknown key 'job' in this request");
	bad("{\"request\": \"jobs\", \"x\": 1}", "unknown key 'x' in this request");
	bad("{\"request\": \"end\", \"job\": \"a:b\", \"uid\": 1}",
	    "unknown key 'uid' in this request");
	bad("{\"request\": \"end\", \"request\": \"end\", \"job\": \"a:b\"}",
	    "'request' is given twice");
	bad("{\"request\": \"end\", \"job\": \"a:b\", \"job\": \"a:c\"}", "'job' is given twice");
	bad("{\"request\": \"snapshot\"}", "this request needs 'job'");
	bad("{\"request\": \"totals\", \"job\": \"a:b\", \"since\": 1}",
	    "unknown key 'since' in this request");
	bad("{\"request\": \"begin\", \"name\": \"x\"}", "this request needs 'job'");
	bad("{\"request\": \"watch\", \"name\": \"x\"}", "this request needs 'command'");
	bad("{\"request\": \"watch\", \"command\": \"x\"}", "this request needs 'name'");
	bad("{\"request\": \"watch\", \"name\": \"x\", \"command\": \"x\", \"pid\": 1}",
	    "unknown key 'pid' in this request");
	bad("{\"request\": \"watch\", \"name\": \"x\", \"command\": \"x\", \"uid\": 0}",
	    "unknown key 'uid' in this request");
	bad("{\"request\": \"done\", \"job\": \"a:b\"}", "unknown key 'job' in this request");
	bad("{\"request\": \"end\", \"job\": \"a:b\", \"command\": \"x\"}",
	    "unknown key 'command' in this request");
}

static void test_wrong_values(void **state)
{
	static const char name[] = "'job' must be a text of 1 to 255 bytes";
	static const char command[] = "'command' must be a text of 1 to 1024 bytes";
	static const char since[] = "'since' must be the number of an interval";
	char text[2048];

	bad("{\"request\": \"watch\", \"name\": \"x\", \"command\": \"a\\u001b[2J\"}", command);
	snprintf(text, sizeof(text),
		 "{\"request\": \"watch\", \"name\": \"x\", \"command\": \"%01025d\"}", 0);
	bad(text, command);
	bad("{\"request\": \"snapshot\", \"job\": \"a:b\", \"since\": -1}", since);
	bad("{\"request\": \"snapshot\", \"job\": \"a:b\", \"since\": 0.5}", since);
	bad("{\"request\": \"snapshot\", \"job\": \"a:b\", \"since\": 1e300}", since);
	bad("{\"request\": \"snapshot\", \"job\": \"a:b\", \"since\": \"1\"}", since);
	bad("{\"request\": \"end\", \"job\": 14}", name);
	bad("{\"request\": \"end\", \"job\": null}", name);
	bad("{\"request\": \"end\", \"job\": [\"a:b\"]}", name);
	bad("{\"request\": \"end\", \"job\": \"\"}", name);
	bad("{\"request\": \"end\", \"job\": \"a:\\u001b[2J\"}", name);
	bad("{\"request\": \"end\", \"job\": \"a:\\n\"}", name);
	bad("{\"request\": \"end\", \"job\": \"a:\xff\"}", name);
	bad("{\"request\": \"end\", \"job\": \"a:\xe2\x80\xae\"}", name); /* right to left */
	snprintf(text, sizeof(text), "{\"request\": \"end\", \"job\": \"a:%0254d\"}", 0);
	bad(text, name);
	bad("{\"request\": \"end\", \"job\": \"14\"}", "'job' must be KIND:NAME");
	bad("{\"request\": \"end\", \"job\": \":14\"}", "'job' must be KIND:NAME");
	bad("{\"request\": \"end\", \"job\": \"slurm:\"}", "'job' must be KIND:NAME");
}

static void test_users(void **state)
{
	static const char *const wrong[] = {"-1",    "1.5",  "4294967295", "1e300",
					    "\"1\"", "true", "null"};
	char text[256];
	struct node_request q;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		snprintf(text, sizeof(text),
			 "{\"request\": \"begin\", \"job\": \"a:b\", \"uid\": %s}", wrong[i]);
		bad(text, "'uid' must be a user's number");
	}
	good("{\"request\": \"begin\", \"job\": \"a:b\", \"uid\": 4294967294}", &q);
	assert_int_equal(q.uid, 4294967294);
	good("{\"request\": \"begin\", \"job\": \"a:b\", \"uid\": 0}", &q);
	assert_int_equal(q.uid, 0);
}

static void test_zeros_and_length(void **state)
{
	static const char zero[] = "{\"request\": \"hello\"}\0{}";
	char text[NODE_MESSAGE_MAX + 2];
	struct node_request q;
	struct errtext err;

	bad_bytes(zero, sizeof(zero) - 1, "a message contains the character 0");
	bad("{\"request\": \"end\", \"job\": \"a:b\\u0000c\"}",
	    "a message contains the character 0");
	memset(text, ' ', sizeof(text));
	memcpy(text, "{\"request\": \"hello\"}", 20);
	assert_int_equal(node_request_parse(text, NODE_MESSAGE_MAX, &q, &err), 0);
	bad_bytes(text, NODE_MESSAGE_MAX + 1, "a message has at most 4096 bytes");
	memset(text, '[', sizeof(text));
	bad_bytes(text, NODE_MESSAGE_MAX, "a request is one object in JSON");
}

static void test_who_may_see(void **state)
{
	const struct node_peer root = {.uid = 0, .admin = true}, alice = {.uid = 1000},
			       nobody = {.uid = 65534};

	assert_true(node_may_see(&root, 1000));
	assert_true(node_may_see(&root, -1));
	assert_true(node_may_see(&alice, 1000));
	assert_false(node_may_see(&alice, 1001));
	assert_false(node_may_see(&alice, 0));
	assert_false(node_may_see(&alice, -1));
	assert_false(node_may_see(&nobody, -1));
}

static void test_errors(void **state)
{
	char text[NODE_MESSAGE_MAX + 1];

	node_answer_error("no \"job\"", 0, text);
	assert_string_equal(text, "{\"error\":\"no \\\"job\\\"\"}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests),	 cmocka_unit_test(test_wrong_shapes),
		cmocka_unit_test(test_printed),		 cmocka_unit_test(test_wrong_keys),
		cmocka_unit_test(test_wrong_values),	 cmocka_unit_test(test_users),
		cmocka_unit_test(test_zeros_and_length), cmocka_unit_test(test_who_may_see),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
