/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/cmd/node_args.h"

#include <cjson/cJSON.h>
#include <errno.h>

#include "cachemon/daemon/node_config.h"

int node_args_ask(const char *socket, const char *request, struct node_reply *ret,
		  struct errtext *err)
{
	struct node_config config;
	int r = node_config_parse("", "", 0, &config, err);

	if (!r)
		r = node_client_ask(socket ?: config.socket.path, request, ret, err);
	node_config_free(&config);
	return r;
}

static int ask_snapshot(const char *socket, const char *job, struct node_reply *ret,
			struct errtext *err)
{
	cJSON *request = cJSON_CreateObject();
	char *text = NULL;
	int r = -ENOMEM;

	if (cJSON_AddStringToObject(request, "request", "snapshot") &&
	    cJSON_AddStringToObject(request, "job", job))
		text = cJSON_PrintUnformatted(request);
	cJSON_Delete(request);
	r = text ? node_args_ask(socket, text, ret, err) : errtext_set(err, r, "out of memory");
	cJSON_free(text);
	return r;
}

int node_args_rows(const char *socket, const char *job, struct db_image *ret, struct errtext *err)
{
	struct node_reply reply;
	int r = ask_snapshot(socket, job, &reply, err);

	if (!r && reply.fd < 0)
		r = errtext_set(err, -EBADMSG, "the daemon's answer has no rows");
	return r ? r : node_client_map(reply.fd, ret, err);
}
