/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/cmd/node_args.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cachemon/daemon/node_protocol.h"
#include "cachemon/job/selector.h"

bool node_args_finds(const char *job)
{
	enum selector_request request;
	struct errtext ignored;
	const char *name;

	return !selector_of_job(job, &request, &name, &ignored) &&
	       (request == SELECTOR_SLURM || request == SELECTOR_UNIT ||
		request == SELECTOR_CONTAINER || request == SELECTOR_POD || request == SELECTOR_VM);
}

static int ask_snapshot(const char *socket, const char *job, struct node_reply *ret,
			struct errtext *err)
{
	struct node_request request = {.verb = NODE_SNAPSHOT, .uid = -1, .since = -1};
	char text[NODE_MESSAGE_MAX + 1];

	if (strlen(job) > NODE_NAME_MAX)
		return errtext_set(err, -ENAMETOOLONG, "the name of the job is too long");
	strcpy(request.job, job);
	if (node_request_print(&request, text))
		return errtext_set(err, -ENOMEM, "out of memory");
	return node_client_ask(socket ?: NODE_SOCKET, text, NODE_CLIENT_WAIT_MS, ret, err);
}

/* At most a minute in all. */
int node_args_rows(const char *socket, const char *job, struct db_image *ret, struct errtext *err)
{
	unsigned int left_s = 60;
	struct node_reply reply = {.fd = -1};
	int r;

	while ((r = ask_snapshot(socket, job, &reply, err)) == -EREMOTEIO && reply.retry_s &&
	       reply.retry_s <= left_s) {
		fprintf(stderr, "cachemon: %.*s; waiting %u s\n", (int)strcspn(err->text, ";"),
			err->text, reply.retry_s);
		left_s -= reply.retry_s;
		sleep(reply.retry_s);
	}

	if (!r && reply.fd < 0)
		r = errtext_set(err, -EBADMSG, "the daemon's answer has no rows");
	return r ? r : node_client_map(reply.fd, ret, err);
}
