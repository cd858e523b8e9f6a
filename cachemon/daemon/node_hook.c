/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/daemon/node_hook.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cachemon/base/clock.h"

#define NS_PER_MS UINT64_C(1000000)
enum { TRY_MS = 50 };

int node_hook_init(struct node_hook *h, const char *socket, const char *job, unsigned int wait_ms)
{
	if (strlen(job) > NODE_NAME_MAX)
		return -ENAMETOOLONG;
	*h = (struct node_hook){
		.socket = socket,
		.request.uid = -1,
		.until_ns = clock_now_ns() + wait_ms * NS_PER_MS,
	};
	strcpy(h->request.job, job);
	return 0;
}

int node_hook_ask(struct node_hook *h, enum node_verb verb, struct node_reply *ret,
		  struct errtext *err)
{
	uint64_t now_ns = clock_now_ns();
	char text[NODE_MESSAGE_MAX + 1];
	struct node_reply unused;
	int e;

	ret = ret ?: &unused;
	h->request.verb = verb;
	if (now_ns >= h->until_ns)
		return errtext_set(err, -ETIMEDOUT, "no answer from the daemon in time");
	if (node_request_print(&h->request, text))
		return errtext_set(err, -ENOMEM, "out of memory");
	e = node_client_ask(h->socket, text, (unsigned int)((h->until_ns - now_ns) / NS_PER_MS),
			    ret, err);
	if (!e && ret->fd >= 0)
		close(ret->fd);
	return e;
}

bool node_hook_refused(int e)
{
	return e == -EREMOTEIO;
}

/* The answer to NODE_SAMPLE has the sums before the sample. */
static int64_t counted_before(const char *answer)
{
	struct node_totals before;

	return node_totals_parse(answer, &before) ? -1 : before.duration_ns;
}

int node_hook_totals(struct node_hook *h, enum node_verb verb, struct node_totals *ret,
		     bool *ret_all, struct errtext *err)
{
	const struct timespec pause = {.tv_nsec = TRY_MS * (long)NS_PER_MS};
	struct node_reply reply;
	int64_t before_ns = -1;
	int e = node_hook_ask(h, verb, &reply, err);

	if (e && !node_hook_refused(e))
		return e;
	if (!e && verb == NODE_SAMPLE)
		before_ns = counted_before(reply.text);
	for (;;) {
		e = node_hook_ask(h, NODE_TOTALS, &reply, err);
		if (e && !node_hook_refused(e))
			return e;
		if (!e && node_totals_parse(reply.text, ret))
			return errtext_set(err, -EBADMSG, "the daemon's answer has no figures");
		*ret_all =
			!e && (ret->ended || (verb == NODE_SAMPLE && ret->duration_ns > before_ns));
		if (*ret_all || clock_now_ns() + 2 * TRY_MS * NS_PER_MS > h->until_ns)
			return e;
		nanosleep(&pause, NULL);
	}
}
