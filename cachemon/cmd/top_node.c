/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/cmd/top_node.h"

#include "cachemon/daemon/node_protocol.h"
#include "cachemon/store/store_copy.h"

_Static_assert((int)STORE_COPY_NEWEST >= (int)TOP_HISTORY, "a view begins with its whole history");

static const char *read_more(void *context, struct top_session *s)
{
	struct node_feed *feed = context;
	const char *said = node_feed_work(feed, s->run_id);

	if (s->db != node_feed_db(feed)) {
		s->db = node_feed_db(feed);
		s->version = -1;
	}
	if (s->run_id != node_feed_newest(feed, s->run_id)) {
		s->run_id = node_feed_newest(feed, s->run_id);
		s->view.at_ns = s->view.pace == TOP_FOLLOW ? TOP_NEWEST : 0;
		s->version = -1;
	}
	return said;
}

static void say_about(struct top_node *n)
{
	size_t others = 0, jobs = node_feed_jobs(n->feed, &others);

	*n->about = '\0';
	if (others)
		snprintf(n->about, sizeof(n->about),
			 "the newest %zu jobs; name one of the %zu others with --job", jobs,
			 others);
	else if (jobs > 1)
		snprintf(n->about, sizeof(n->about), "%zu jobs run; z shows the chosen one", jobs);
}

int top_node_begin(const char *socket, const char *job, struct top_node *ret, struct errtext *err)
{
	struct top_node n = {.source.work = read_more};
	bool open;
	int r = node_feed_new(socket ?: NODE_SOCKET, job, &n.feed, err);

	if (r)
		return r;
	r = top_session_find_run(node_feed_db(n.feed), &n.run_id, &open, err);
	if (r) {
		node_feed_free(n.feed);
		return r;
	}
	n.source.context = n.feed;
	say_about(&n);
	*ret = n;
	return 0;
}

void top_node_end(struct top_node *n)
{
	node_feed_free(n->feed);
}

bool top_node_many(const struct top_node *n)
{
	size_t others;

	return node_feed_jobs(n->feed, &others) > 1;
}
