/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/cmd/node_args.h"

#include <errno.h>
#include <string.h>

#include "cachemon/daemon/node_protocol.h"

static int ask_snapshot(const char *socket, const char *job, struct node_reply *ret,
			struct errtext *err)
{
	struct node_request request = {.verb = NODE_SNAPSHOT, .uid = -1};
	char text[NODE_MESSAGE_MAX + 1];

	if (strlen(job) > NODE_NAME_MAX)
		return errtext_set(err, -ENAMETOOLONG, "the name of the job is too long");
	strcpy(request.job, job);
	if (node_request_print(&request, text))
		return errtext_set(err, -ENOMEM, "out of memory");
	return node_client_ask(socket ?: NODE_SOCKET, text, NODE_CLIENT_WAIT_MS, ret, err);
}

int node_args_rows(const char *socket, const char *job, struct db_image *ret, struct errtext *err)
{
	struct node_reply reply;
	int r = ask_snapshot(socket, job, &reply, err);

	if (!r && reply.fd < 0)
		r = errtext_set(err, -EBADMSG, "the daemon's answer has no rows");
	return r ? r : node_client_map(reply.fd, ret, err);
}
