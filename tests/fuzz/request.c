/* SPDX-License-Identifier: BSD-2-Clause */
/* Any bytes as a request to a node's daemon: its names are text for people, or there is a one-line
 * error, which the answer holds. */
#include "fuzz.h"

#include <errno.h>

#include "cachemon/base/escape.h"
#include "cachemon/daemon/node_protocol.h"

static void check_name(const char *s, size_t max)
{
	size_t len = strlen(s);
	uint32_t cp;

	MUST(len <= max);
	for (size_t n; len; s += n, len -= n) {
		n = escape_decode(s, len, &cp);
		MUST(n && !escape_is_unsafe(cp));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char answer[NODE_MESSAGE_MAX + 1];
	struct node_request q;
	struct errtext err = {""};
	int e = node_request_parse((const char *)data, size, &q, &err);

	MUST(e == 0 || e == -EINVAL);
	if (e) {
		MUST(*err.text && !strpbrk(err.text, "\n\r\x1b"));
		node_answer_error(err.text, 0, answer);
		MUST(!strncmp(answer, "{\"error\":\"", 10) && strlen(answer) <= NODE_MESSAGE_MAX);
		return 0;
	}
	MUST(size <= NODE_MESSAGE_MAX && q.verb < NODE_VERB_NR);
	MUST(q.uid >= -1 && q.uid < UINT32_MAX);
	MUST(!*q.job == (q.verb == NODE_HELLO || q.verb == NODE_JOBS || q.verb == NODE_WATCH ||
			 q.verb == NODE_DONE));
	MUST(!*q.job || strchr(q.job, ':'));
	MUST(q.verb == NODE_BEGIN || (!*q.partition && q.uid == -1));
	MUST(q.verb == NODE_BEGIN || !*q.name == (q.verb != NODE_WATCH));
	MUST(!*q.command == (q.verb != NODE_WATCH));
	check_name(q.job, NODE_NAME_MAX);
	check_name(q.name, NODE_NAME_MAX);
	check_name(q.partition, NODE_NAME_MAX);
	check_name(q.command, NODE_COMMAND_MAX);
	return 0;
}
