/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/daemon/node_feed.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachemon/base/clock.h"
#include "cachemon/db/db_rows.h"

#define MS UINT64_C(1000000)

/* The time between two requests: while jobs have no rows yet, then, and when the daemon is away. */
#define FILL_NS (250 * MS)
#define PACE_NS (1000 * MS)
#define AWAY_NS (2000 * MS)
#define LIST_NS (10000 * MS)

#define ANSWER_NS (NODE_CLIENT_WAIT_MS * MS)

/* The daemon's queue of connections may be full. A user's part of a second is more than the first
 * jobs. */
enum { CONNECT_MS = 200, FIRST_JOBS = 3, DB_MAX_MB = 64 };

struct followed {
	char job[NODE_NAME_MAX + 1];
	int64_t run_id, previous; /* 0: none */
	int64_t newest;		  /* interval that was received; 0: none */
	char state[16];		  /* as the daemon says it */
	bool received, refused;
};

struct node_feed {
	char *socket;
	bool listed; /* the jobs are those that the daemon lists */
	struct followed of[NODE_FEED_JOBS];
	size_t nr, next, others;
	uint64_t due_ns, list_ns;
	int asked;		/* an answer is awaited there; < 0: none is */
	struct followed *about; /* NULL: the list */
	uint64_t late_ns;
	bool away, replace;
	sqlite3 *db;
	struct errtext said;
};

static int64_t whole_number(const cJSON *o, const char *key)
{
	double v = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(o, key));

	return v > 0 && v <= (double)(INT64_C(1) << 53) ? (int64_t)v : 0;
}

static const char *text_of(const cJSON *o, const char *key)
{
	return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, key)) ?: "";
}

static void take_state(struct followed *j, const char *answer)
{
	cJSON *root = cJSON_Parse(answer);
	int64_t run_id;

	run_id = whole_number(root, "run");
	if (j->run_id != run_id)
		j->previous = j->run_id;
	j->run_id = run_id;
	j->received = true;
	snprintf(j->state, sizeof(j->state), "%s", text_of(root, "state"));
	cJSON_Delete(root);
}

/* The rows of an answer. */
static int take_rows(struct node_feed *f, int fd, struct errtext *err)
{
	struct db_image image;
	sqlite3 *db = NULL;
	int r = node_client_map(fd, &image, err);

	if (r)
		return r;
	if (f->db && !f->replace) {
		r = db_read_add(f->db, &image, "the daemon's rows", err);
	} else {
		r = db_read_copy(&image, "the daemon's rows", &db, err);
		if (!r) {
			sqlite3_close(f->db);
			f->db = db;
			f->replace = false;
		}
	}
	node_client_unmap(&image);
	return r;
}

/* query: a constant that ends before the number of the run. */
static int64_t first(sqlite3 *db, const char *query, int64_t run_id)
{
	char sql[128];
	int64_t value = 0;

	snprintf(sql, sizeof(sql), "%s %" PRId64, query, run_id);
	rows_first(db, sql, &value);
	return value;
}

/* From the start: what it has may be of a database that is not there any more, or too much. */
static void renew(struct node_feed *f)
{
	f->replace = true;
	for (size_t i = 0; i < f->nr; i++) {
		f->of[i].newest = 0;
		f->of[i].received = false;
	}
}

static bool is_large(const struct node_feed *f)
{
	sqlite3_int64 bytes = 0;

	sqlite3_serialize(f->db, "main", &bytes, SQLITE_SERIALIZE_NOCOPY);
	return bytes >> 20 >= DB_MAX_MB;
}

static bool is_running(const struct followed *j)
{
	return !strcmp(j->state, "running");
}

/* A run's last interval comes before its end. */
static void note_newest(struct node_feed *f, struct followed *j)
{
	bool open = first(f->db, "SELECT state = 'open' FROM run WHERE id =", j->run_id);

	j->newest =
		first(f->db, "SELECT id, max(start_ns) FROM interval WHERE run_id =", j->run_id);
	if (open && !is_running(j) && strcmp(j->state, "cut") != 0)
		j->newest = 0;
}

static int take_job(struct node_feed *f, struct followed *j, const struct node_reply *reply,
		    struct errtext *err)
{
	int r = 0;

	take_state(j, reply->text);
	if (reply->fd >= 0)
		r = take_rows(f, reply->fd, err);
	if (!r && f->db)
		note_newest(f, j);
	if (r || (f->db && is_large(f)))
		renew(f);
	return r;
}

static struct followed *find(struct node_feed *f, const char *job)
{
	for (size_t i = 0; i < f->nr; i++)
		if (!strcmp(f->of[i].job, job))
			return &f->of[i];
	return NULL;
}

/* A place for another job; NULL: all are of jobs that run. */
static struct followed *place(struct node_feed *f)
{
	if (f->nr < NODE_FEED_JOBS)
		return &f->of[f->nr++];
	for (size_t i = 0; i < f->nr; i++)
		if (!is_running(&f->of[i]))
			return &f->of[i];
	return NULL;
}

static void follow(struct node_feed *f, const char *job)
{
	struct followed *j = find(f, job) ? NULL : place(f);

	if (!j)
		return;
	*j = (struct followed){.state = "running"};
	snprintf(j->job, sizeof(j->job), "%s", job);
}

static void take_list(struct node_feed *f, const struct node_reply *reply)
{
	cJSON *root = cJSON_Parse(reply->text);
	const cJSON *job;

	if (reply->fd >= 0)
		close(reply->fd);
	f->others = 0;
	cJSON_ArrayForEach(job, cJSON_GetObjectItemCaseSensitive(root, "jobs"))
	{
		if (strcmp(text_of(job, "state"), "running") != 0)
			continue;
		follow(f, text_of(job, "job"));
		f->others += !find(f, text_of(job, "job"));
	}
	cJSON_Delete(root);
	f->list_ns = clock_now_ns() + LIST_NS;
}

/* j: NULL: the list of jobs. */
static int print_request(const struct followed *j, char text[NODE_MESSAGE_MAX + 1],
			 struct errtext *err)
{
	struct node_request q = {.verb = NODE_JOBS, .uid = -1, .since = -1};

	if (j) {
		q.verb = NODE_SNAPSHOT;
		q.since = j->newest;
		strcpy(q.job, j->job);
	}
	return node_request_print(&q, text) ? errtext_set(err, -ENOMEM, "out of memory") : 0;
}

static int take_answer(struct node_feed *f, struct followed *j, const struct node_reply *reply,
		       struct errtext *err)
{
	if (j)
		return take_job(f, j, reply, err);
	take_list(f, reply);
	return 0;
}

static int ask_now(struct node_feed *f, struct followed *j, struct errtext *err)
{
	char text[NODE_MESSAGE_MAX + 1];
	struct node_reply reply;
	int r = print_request(j, text, err);

	if (!r)
		r = node_client_ask(f->socket, text, NODE_CLIENT_WAIT_MS, &reply, err);
	return r ? r : take_answer(f, j, &reply, err);
}

static bool lacks_rows(const struct followed *j)
{
	return !j->received && !j->refused;
}

/* Jobs without rows first, of these the one that is shown; then one after the other. */
static struct followed *choose(struct node_feed *f, int64_t run_id)
{
	struct followed *lacks = NULL;

	for (size_t i = 0; i < f->nr; i++)
		if (lacks_rows(&f->of[i]) && (!lacks || f->of[i].run_id == run_id))
			lacks = &f->of[i];
	f->next = (f->next + 1) % f->nr;
	return lacks ?: &f->of[f->next];
}

static bool is_full(const struct node_feed *f)
{
	for (size_t i = 0; i < f->nr; i++)
		if (lacks_rows(&f->of[i]))
			return false;
	return true;
}

static int ask_first(struct node_feed *f, const char *job, struct errtext *err)
{
	int r = 0;

	if (job)
		follow(f, job);
	else
		r = ask_now(f, NULL, err);
	if (!r && !f->nr)
		r = errtext_set(err, -ENODATA, "no job of yours runs on this node");
	for (size_t i = 0; i < f->nr && i < FIRST_JOBS && !r; i++)
		r = ask_now(f, &f->of[i], err);
	/* One job is enough to begin with. */
	return f->db ? 0 : r ?: errtext_set(err, -EBADMSG, "the daemon's answer has no rows");
}

int node_feed_new(const char *socket, const char *job, struct node_feed **ret, struct errtext *err)
{
	struct node_feed *f = calloc(1, sizeof(*f));
	int r = 0;

	if (f)
		f->asked = -1;
	if (job && strlen(job) > NODE_NAME_MAX)
		r = errtext_set(err, -ENAMETOOLONG, "the name of the job is too long");
	else if (!f || !(f->socket = strdup(socket)))
		r = errtext_set(err, -ENOMEM, "out of memory");
	if (!r) {
		f->listed = !job;
		r = ask_first(f, job, err);
	}
	if (r) {
		node_feed_free(f);
		return r;
	}
	f->due_ns = clock_now_ns() + FILL_NS;
	*ret = f;
	return 0;
}

void node_feed_free(struct node_feed *f)
{
	if (!f)
		return;
	if (f->asked >= 0)
		close(f->asked);
	sqlite3_close(f->db);
	free(f->socket);
	free(f);
}

/* After an answer, or in place of one. */
static void answered(struct node_feed *f, int r)
{
	f->asked = -1;
	if (!r)
		*f->said.text = '\0';
	if (f->about)
		f->about->refused = r == -EREMOTEIO;
	if (!r && f->away)
		renew(f); /* another daemon, perhaps with another database */
	f->away = r && r != -EREMOTEIO;
	f->due_ns = clock_now_ns() + (r ? AWAY_NS : is_full(f) ? PACE_NS : FILL_NS);
}

static void send_next(struct node_feed *f, int64_t run_id, uint64_t now_ns)
{
	char text[NODE_MESSAGE_MAX + 1];
	int r;

	f->about = f->listed && now_ns >= f->list_ns ? NULL : choose(f, run_id);
	f->late_ns = now_ns + ANSWER_NS;
	r = print_request(f->about, text, &f->said);
	if (!r)
		r = node_client_send(f->socket, text, CONNECT_MS, &f->asked, &f->said);
	if (r)
		answered(f, r);
}

static void poll_answer(struct node_feed *f, uint64_t now_ns)
{
	struct pollfd p = {.fd = f->asked, .events = POLLIN};
	struct node_reply reply;
	int r;

	if (poll(&p, 1, 0) > 0) {
		r = node_client_receive(f->socket, f->asked, &reply, &f->said);
		answered(f, r ? r : take_answer(f, f->about, &reply, &f->said));
	} else if (now_ns >= f->late_ns) {
		close(f->asked);
		answered(f, -ETIMEDOUT);
	}
}

const char *node_feed_work(struct node_feed *f, int64_t run_id)
{
	uint64_t now_ns = clock_now_ns();

	if (f->asked >= 0)
		poll_answer(f, now_ns);
	else if (now_ns >= f->due_ns)
		send_next(f, run_id, now_ns);
	if (f->away)
		return "the daemon does not answer; trying again";
	if (*f->said.text)
		return f->said.text;
	for (size_t i = 0; i < f->nr; i++)
		if (f->of[i].run_id == run_id && !strcmp(f->of[i].state, "cut"))
			return "the daemon was stopped; waiting until it counts this job again";
	return NULL;
}

sqlite3 *node_feed_db(const struct node_feed *f)
{
	return f->db;
}

int64_t node_feed_newest(const struct node_feed *f, int64_t run_id)
{
	for (size_t i = 0; i < f->nr; i++)
		if (f->of[i].previous == run_id)
			return f->of[i].run_id;
	return run_id;
}

size_t node_feed_jobs(const struct node_feed *f, size_t *ret_others)
{
	*ret_others = f->others;
	return f->nr;
}
