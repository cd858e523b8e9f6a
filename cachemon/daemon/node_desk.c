/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/daemon/node_desk.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cachemon/access/process_user.h"
#include "cachemon/base/clock.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/daemon/node_server.h"
#include "cachemon/daemon/snapshots.h"
#include "cachemon/db/db_open.h"
#include "cachemon/figures/counters.h"
#include "cachemon/store/store_copy.h"

/* Of users without privileges; other jobs need slots, too. */
enum { WATCHES_OF_USER = 8, WATCHES_OF_USERS = 64 };

#define WATCH_RETRY_NS UINT64_C(100000000)

/* A command that is counted as long as its connection is open. */
struct watch {
	unsigned int place;
	uint32_t job; /* of the node; 0: free */
	uid_t uid;
	bool done;	   /* its rows are due */
	uint64_t retry_ns; /* not before this */
};

struct node_desk {
	struct node *node;
	const char *db;
	struct snapshots *snapshots;
	struct node_server *server;
	struct watch watches[NODE_JOBS_MAX];
};

/* A job of the database: one that runs, or one that has ended. */
struct seen_job {
	const char *job, *name, *user, *state;
	int64_t run_id, started_ns, uid;
};

/* Whether to go on. */
typedef bool job_fn(void *arg, const struct seen_job *row);

#define JOB_KEY "j.kind || ':' || j.external_id || coalesce('.' || j.step, '')"
/* Users know containers and pods by names, which one after another may have. Names of Slurm's jobs
 * are any text of any user, so they name no job. */
#define IS_NAME "j.kind IN ('container', 'pod') AND j.kind || ':' || j.job_name = ?1"

static struct seen_job row_of(sqlite3_stmt *stmt)
{
	return (struct seen_job){
		.job = (const char *)sqlite3_column_text(stmt, 0),
		.name = (const char *)sqlite3_column_text(stmt, 1),
		.user = (const char *)sqlite3_column_text(stmt, 2),
		.state = (const char *)sqlite3_column_text(stmt, 3),
		.run_id = sqlite3_column_int64(stmt, 4),
		.started_ns = sqlite3_column_int64(stmt, 5),
		.uid = sqlite3_column_type(stmt, 6) == SQLITE_NULL ? -1
								   : sqlite3_column_int64(stmt, 6),
	};
}

/* The jobs that the peer may see: those that run, then the newest. job: NULL: all of
 * them; a job by its identity comes before those of this name. */
static int each_job(const struct node_desk *d, const struct node_peer *peer, const char *job,
		    job_fn *fn, void *arg)
{
	static const char sql[] =
		"SELECT " JOB_KEY ", coalesce(j.job_name, j.name), r.user, r.state, r.id, "
		"r.started_ns, j.uid FROM job j JOIN run r ON r.id = j.run_id WHERE j.slot = 1 "
		"AND j.kind IS NOT NULL AND (?1 IS NULL OR " JOB_KEY " = ?1 OR (" IS_NAME ")) "
		"ORDER BY " JOB_KEY " = ?1 DESC, r.state = 'open' DESC, r.id DESC";
	sqlite3_stmt *stmt = NULL;
	bool more = true;
	sqlite3 *db;
	int rc = db_open(d->db, DB_READ, &db);

	if (!rc)
		rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
	if (!rc)
		rc = sqlite3_bind_text(stmt, 1, job, -1, SQLITE_STATIC);
	while (!rc && more && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct seen_job row = row_of(stmt);

		rc = SQLITE_OK;
		if (row.job && row.name && row.state && node_may_see(peer, row.uid))
			more = fn(arg, &row);
	}
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return !rc || rc == SQLITE_DONE ? 0 : -EIO;
}

/* Prints root, which it frees; false: it does not fit, or there is no memory. */
static bool print(cJSON *root, char *to, size_t size)
{
	bool fits = root && cJSON_PrintPreallocated(root, to, (int)size, false);

	cJSON_Delete(root);
	return fits;
}

static void say_error(struct node_answer *ret, const char *text)
{
	node_answer_error(text, 0, ret->text);
}

static void say_hello(struct node_answer *ret)
{
	cJSON *root = cJSON_CreateObject();

	cJSON_AddStringToObject(root, "version", CACHEMON_VERSION);
	cJSON_AddNumberToObject(root, "protocol", NODE_PROTOCOL);
	if (!print(root, ret->text, sizeof(ret->text)))
		say_error(ret, "out of memory");
}

/* The end of the list, after the jobs that fit. */
#define LIST_END "],\"more\":%" PRIu64 "}"
enum { LIST_END_MAX = 32 };

struct list {
	const struct node_desk *desk;
	char *text;
	size_t len;
	uint64_t jobs, more;
};

/* "running", "complete", or "cut": a daemon that was killed wrote it. */
static const char *state_of(const struct node *n, const struct seen_job *row)
{
	if (strcmp(row->state, "open") != 0)
		return row->state;
	return node_writes(n, row->run_id) ? "running" : "cut";
}

/* cJSON's numbers have 53 bits. */
static void add_number(cJSON *root, const char *key, int64_t v)
{
	char number[24];

	snprintf(number, sizeof(number), "%" PRId64, v);
	cJSON_AddRawToObject(root, key, number);
}

static cJSON *describe(const struct node *n, const struct seen_job *row)
{
	cJSON *o = cJSON_CreateObject();

	cJSON_AddStringToObject(o, "job", row->job);
	cJSON_AddStringToObject(o, "name", row->name);
	if (row->user)
		cJSON_AddStringToObject(o, "user", row->user);
	else
		cJSON_AddNullToObject(o, "user");
	cJSON_AddStringToObject(o, "state", state_of(n, row));
	add_number(o, "started_ns", row->started_ns);
	add_number(o, "run", row->run_id);
	return o;
}

static bool add_job(void *arg, const struct seen_job *row)
{
	struct list *l = arg;
	size_t comma = l->jobs > 0, room = NODE_MESSAGE_MAX - LIST_END_MAX - l->len - comma;

	if (!print(describe(l->desk->node, row), l->text + l->len + comma, room)) {
		l->more++;
		return true;
	}
	if (comma)
		l->text[l->len] = ',';
	l->len += comma + strlen(l->text + l->len + comma);
	l->jobs++;
	return true;
}

static void say_jobs(const struct node_desk *d, const struct node_peer *peer,
		     struct node_answer *ret)
{
	struct list l = {.desk = d, .text = ret->text};

	l.len = (size_t)snprintf(ret->text, sizeof(ret->text), "{\"jobs\":[");
	if (each_job(d, peer, NULL, add_job, &l))
		say_error(ret, "cannot read the database of this node");
	else
		snprintf(ret->text + l.len, LIST_END_MAX, LIST_END, l.more);
}

struct found {
	const struct node *node;
	int64_t run_id;
	char state[16];
};

static bool take_run(void *arg, const struct seen_job *row)
{
	struct found *f = arg;

	f->run_id = row->run_id;
	snprintf(f->state, sizeof(f->state), "%s", state_of(f->node, row));
	return false;
}

/* Neither the words nor the order of the checks show whether another user has such a job. */
static int find_run(const struct node_desk *d, const struct node_peer *peer, const char *job,
		    struct found *ret, struct errtext *err)
{
	*ret = (struct found){.node = d->node};
	if (each_job(d, peer, job, take_run, ret))
		return errtext_set(err, -EIO, "cannot read the database of this node");
	return ret->run_id ? 0 : errtext_set(err, -ENOENT, "you have no such job on this node");
}

#define HITS SQL_hits("j.")

/* The columns are the numbers of the answer. */
static const char totals_sql[] =
	"SELECT " HITS " AS hits, j.misses, j.lookups, j.read_calls, j.read_bytes, j.stall_ns, "
	"r.duration_ns, r.page_size_bytes FROM job j JOIN run r ON r.id = j.run_id "
	"WHERE j.slot = 1 AND r.id = ?";

static int add_totals(const struct node_desk *d, int64_t run_id, cJSON *root)
{
	sqlite3_stmt *stmt = NULL;
	sqlite3 *db;
	int rc = db_open(d->db, DB_READ, &db);

	if (!rc)
		rc = sqlite3_prepare_v2(db, totals_sql, -1, &stmt, NULL);
	if (!rc)
		rc = sqlite3_bind_int64(stmt, 1, run_id);
	if (!rc)
		rc = sqlite3_step(stmt);
	for (int i = 0; rc == SQLITE_ROW && i < sqlite3_column_count(stmt); i++) {
		const char *key = sqlite3_column_name(stmt, i);

		if (sqlite3_column_type(stmt, i) == SQLITE_NULL)
			cJSON_AddNullToObject(root, key);
		else
			add_number(root, key, sqlite3_column_int64(stmt, i));
	}
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return rc == SQLITE_ROW ? 0 : -EIO;
}

static void say_totals(const struct node_desk *d, const struct node_peer *peer, const char *job,
		       struct node_answer *ret)
{
	struct found found = {.run_id = 0};
	struct errtext err;
	cJSON *root;

	if (find_run(d, peer, job, &found, &err)) {
		say_error(ret, err.text);
		return;
	}
	root = cJSON_CreateObject();
	add_number(root, "run", found.run_id);
	cJSON_AddStringToObject(root, "state", found.state);
	if (add_totals(d, found.run_id, root)) {
		cJSON_Delete(root);
		say_error(ret, "cannot read the database of this node");
	} else if (!print(root, ret->text, sizeof(ret->text))) {
		say_error(ret, "out of memory");
	}
}

/* Users do not pay for what else the machine does. since < 0: all of its rows. *ret_fd stays if
 * there are no newer ones. */
static int copy_run(struct node_desk *d, uid_t uid, int64_t run_id, int64_t since, int *ret_fd,
		    uint64_t *ret_cpu_ns, struct errtext *err)
{
	uint64_t from_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	struct errtext why;
	int fd = -1, r = since < 0 ? store_copy_run(d->db, run_id, &fd, &why)
				   : store_copy_new(d->db, run_id, since, &fd, &why);

	*ret_cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - from_ns;
	snapshots_pay(d->snapshots, uid, *ret_cpu_ns, clock_now_ns());
	if (!r && fd >= 0)
		r = snapshots_add(d->snapshots, uid, fd, ret_fd);
	return r ? errtext_set(err, r, "cannot copy the rows of this job: %s", strerror(-r)) : 0;
}

/* Returns the CPU time of copying. */
static uint64_t give_snapshot(struct node_desk *d, const struct node_peer *peer,
			      const struct node_request *request, struct node_answer *ret)
{
	uint64_t cpu_ns = 0;
	struct found found = {.run_id = 0};
	struct errtext err;
	uint64_t retry_s;
	int r = snapshots_check(d->snapshots, peer->uid, clock_now_ns(), &retry_s, &err);

	if (!r)
		r = find_run(d, peer, request->job, &found, &err);
	if (!r)
		r = copy_run(d, peer->uid, found.run_id, request->since, &ret->fd, &cpu_ns, &err);
	if (r)
		node_answer_error(err.text, retry_s, ret->text);
	else
		snprintf(ret->text, sizeof(ret->text), "{\"run\":%" PRId64 ",\"state\":\"%s\"}",
			 found.run_id, found.state);
	return cpu_ns;
}

static void begin_job(struct node_desk *d, const struct node_request *request,
		      struct node_answer *ret)
{
	struct errtext err;

	if (node_announce(d->node, request, &err))
		say_error(ret, err.text);
	else
		strcpy(ret->text, "{}");
}

static void end_job(struct node_desk *d, const char *job, struct node_answer *ret)
{
	if (node_end_named(d->node, job))
		strcpy(ret->text, "{}");
	else
		say_error(ret, "no such job is watched");
}

/* The sums so far, by which root recognizes later ones. */
static void sample_job(struct node_desk *d, const struct node_peer *peer, const char *job,
		       struct node_answer *ret)
{
	node_hurry(d->node, job);
	say_totals(d, peer, job, ret);
}

/* Each looks among all jobs of the database. Root is not refused: its hooks keep jobs waiting. */
static void read_rows(struct node_desk *d, const struct node_peer *peer,
		      const struct node_request *request, struct node_answer *ret)
{
	uint64_t from_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID), retry_s, copied_ns = 0;
	struct errtext err;

	if (peer->uid &&
	    snapshots_check_read(d->snapshots, peer->uid, clock_now_ns(), &retry_s, &err)) {
		node_answer_error(err.text, retry_s, ret->text);
		return;
	}
	if (request->verb == NODE_JOBS)
		say_jobs(d, peer, ret);
	else if (request->verb == NODE_TOTALS)
		say_totals(d, peer, request->job, ret);
	else
		copied_ns = give_snapshot(d, peer, request, ret);
	if (peer->uid)
		snapshots_pay_read(d->snapshots, peer->uid,
				   clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - from_ns - copied_ns,
				   clock_now_ns());
}

static struct watch *find_watch(struct node_desk *d, unsigned int place)
{
	for (size_t i = 0; i < NODE_JOBS_MAX; i++)
		if (d->watches[i].job && d->watches[i].place == place)
			return &d->watches[i];
	return NULL;
}

/* A free entry, if the user may have another one. */
static int take_watch(struct node_desk *d, uid_t uid, struct watch **ret, struct errtext *err)
{
	unsigned int own = 0, all = 0;

	*ret = NULL;
	for (size_t i = 0; i < NODE_JOBS_MAX; i++) {
		struct watch *w = &d->watches[i];

		if (!w->job)
			*ret = w;
		own += w->job && w->uid == uid;
		all += w->job && w->uid;
	}
	if (uid && !node_trees_leave(d->node))
		return errtext_set(err, -ENOTSUP,
				   "this kernel does not show which programs give privileges, so "
				   "only root's commands are counted");
	if (uid && own >= WATCHES_OF_USER)
		return errtext_set(err, -EBUSY,
				   "%u commands of this user are counted already: no "
				   "more at once",
				   own);
	if (!*ret || (uid && all >= WATCHES_OF_USERS))
		return errtext_set(err, -EBUSY, "too many commands are counted; try again later");
	return 0;
}

/* A command of that user, under the name that they gave it. 0 or -ENOMEM. */
static int describe_command(const struct node_peer *peer, const struct node_request *q,
			    struct selector *ret)
{
	struct selector s = {.kind = SELECTED_COMMAND,
			     .identity.kind = "command",
			     .cgroup.fd = -1,
			     .pid = peer->pid,
			     .uid = peer->uid};
	int r = text_print(&s.text, "command: %s", q->command);

	if (!r)
		r = text_print(&s.name, "%s", q->name);
	if (!r)
		r = text_print(&s.identity.id, "%d", (int)peer->pid);
	if (r)
		selector_free(&s);
	else
		*ret = s;
	return r;
}

/* Becomes a job, and is then checked: a process that has ended may have left its number to another
 * one before. */
static int begin_tree(struct node_desk *d, const struct node_peer *peer, struct selector *selector,
		      uint32_t *ret_job, struct errtext *err)
{
	struct mountinfo mounts;
	int r = mountinfo_read("/proc/self/mountinfo", &mounts);

	if (r) {
		selector_free(selector);
		return errtext_set(err, r, "cannot read /proc/self/mountinfo: %s", strerror(-r));
	}
	r = node_tree_begin(d->node, selector, !peer->uid, &mounts, ret_job, err);
	mountinfo_free(&mounts);
	if (r || !peer->uid || process_user_is("/proc", peer->pid, peer->uid))
		return r;
	node_tree_cancel(d->node, *ret_job);
	return errtext_set(err, -EPERM,
			   "the process that asked is not only its user's: it has ended, or has "
			   "privileges");
}

static int begin_watch(struct node_desk *d, const struct node_peer *peer,
		       const struct node_request *q, struct watch *w, struct errtext *err)
{
	struct selector selector;
	uint32_t job = 0;
	int r;

	if (peer->pid <= 0)
		return errtext_set(err, -ESRCH,
				   "the process is not in the pid namespace of the daemon");
	r = describe_command(peer, q, &selector);
	if (r)
		return errtext_set(err, r, "out of memory");
	r = begin_tree(d, peer, &selector, &job, err);
	if (!r)
		*w = (struct watch){.place = peer->place, .job = job, .uid = peer->uid};
	return r;
}

static void watch_command(struct node_desk *d, const struct node_peer *peer,
			  const struct node_request *q, struct node_answer *ret)
{
	struct errtext err;
	struct watch *w;
	int r = take_watch(d, peer->uid, &w, &err);

	if (!r)
		r = begin_watch(d, peer, q, w, &err);
	ret->keep = !r;
	if (r)
		say_error(ret, err.text);
	else
		snprintf(ret->text, sizeof(ret->text), "{\"job\":\"command:%d\"}", (int)peer->pid);
}

static void finish_watch(struct node_desk *d, unsigned int place, struct node_answer *ret)
{
	struct watch *w = find_watch(d, place);

	ret->keep = w && !w->done;
	if (!ret->keep)
		return;
	w->done = true;
	node_tree_end(d->node, w->job);
}

/* Its run ends too; what is written stays in the database of the node. */
static void lose_watch(void *desk, unsigned int place)
{
	struct node_desk *d = desk;
	struct watch *w = find_watch(d, place);

	if (!w)
		return;
	node_tree_forget(d->node, w->job);
	*w = (struct watch){.job = 0};
}

/* If the user has too many snapshots open, later. */
static void give_rows(struct node_desk *d, struct watch *w, int64_t run_id, uint64_t now_ns)
{
	struct node_answer a = {.fd = -1};
	struct errtext err;
	uint64_t retry_s, cpu_ns;

	if (snapshots_check(d->snapshots, w->uid, now_ns, &retry_s, &err)) {
		w->retry_ns = now_ns + WATCH_RETRY_NS;
		return;
	}
	if (copy_run(d, w->uid, run_id, -1, &a.fd, &cpu_ns, &err))
		say_error(&a, err.text);
	else
		snprintf(a.text, sizeof(a.text), "{\"run\":%" PRId64 ",\"state\":\"complete\"}",
			 run_id);
	node_server_tell(d->server, w->place, &a);
	node_tree_forget(d->node, w->job);
	*w = (struct watch){.job = 0};
}

/* Returns when to call it again at the latest. The caller's loop goes round after each sample. */
static uint64_t work_watches(struct node_desk *d)
{
	uint64_t now_ns = clock_now_ns(), due_ns = UINT64_MAX;

	for (size_t i = 0; i < NODE_JOBS_MAX; i++) {
		struct watch *w = &d->watches[i];
		int64_t run_id = w->job && w->done ? node_tree_written(d->node, w->job) : 0;

		if (run_id && w->retry_ns <= now_ns)
			give_rows(d, w, run_id, now_ns);
		if (w->job && w->retry_ns > now_ns && w->retry_ns < due_ns)
			due_ns = w->retry_ns;
	}
	return due_ns;
}

static void answer(void *desk, const struct node_peer *peer, const struct node_request *request,
		   struct node_answer *ret)
{
	struct node_desk *d = desk;
	enum node_verb verb = request->verb;
	bool of_root = verb == NODE_BEGIN || verb == NODE_END || verb == NODE_SAMPLE;

	if (verb == NODE_DONE)
		finish_watch(d, peer->place, ret);
	else if (peer->kept)
		ret->keep = false;
	else if (of_root && peer->uid)
		say_error(ret, "only root may begin, sample and end jobs");
	else if (verb == NODE_HELLO)
		say_hello(ret);
	else if (verb == NODE_BEGIN)
		begin_job(d, request, ret);
	else if (verb == NODE_SAMPLE)
		sample_job(d, peer, request->job, ret);
	else if (verb == NODE_WATCH)
		watch_command(d, peer, request, ret);
	else if (verb == NODE_END)
		end_job(d, request->job, ret);
	else
		read_rows(d, peer, request, ret);
}

/* Everybody may pass through the directory of the socket. /run is empty after a boot. */
static int make_directory(const char *socket, struct errtext *err)
{
	const char *slash = strrchr(socket, '/'); /* the path is absolute */
	char path[PATH_MAX] = "/";
	mode_t mask;
	int r;

	if (slash != socket)
		snprintf(path, sizeof(path), "%.*s", (int)(slash - socket), socket);
	mask = umask(022);
	r = mkdir(path, 0755);
	umask(mask);
	if (r && errno != EEXIST)
		return errtext_set(err, -errno, "cannot make the socket's directory %s: %s", path,
				   strerror(errno));
	return node_config_directory("socket.path", path, err);
}

static int find_group(const char *name, gid_t *ret, struct errtext *err)
{
	const struct group *g = name ? getgrnam(name) : NULL;

	if (name && !g)
		return errtext_set(err, -ENOENT,
				   "no group '%s'. Make it, or change socket.admin_group", name);
	*ret = g ? g->gr_gid : (gid_t)-1;
	return 0;
}

static int listen_at(struct node_desk *d, const struct node_config *config, struct errtext *err)
{
	struct node_server_config server = {
		.path = config->socket.path, .answer = answer, .gone = lose_watch, .context = d};
	int r = find_group(config->socket.admin_group, &server.admin_group, err);

	if (!r)
		r = make_directory(server.path, err);
	return r ? r : node_server_new(&server, &d->server, err);
}

int node_desk_new(struct node *n, const char *db, const struct node_config *config,
		  struct node_desk **ret, struct errtext *err)
{
	struct node_desk *d = calloc(1, sizeof(*d));
	int r = 0;

	if (d) {
		d->node = n;
		d->db = db;
		r = snapshots_new(&d->snapshots, err);
	} else {
		r = errtext_set(err, -ENOMEM, "out of memory");
	}
	if (!r)
		r = listen_at(d, config, err);
	if (r)
		node_desk_free(d);
	else
		*ret = d;
	return r;
}

void node_desk_free(struct node_desk *d)
{
	if (!d)
		return;
	node_server_free(d->server);
	snapshots_free(d->snapshots);
	free(d);
}

int node_desk_admit(struct node_desk *d, const struct node_config *config, struct errtext *err)
{
	gid_t group = (gid_t)-1;
	int r = find_group(config->socket.admin_group, &group, err);

	if (!r)
		node_server_admit(d->server, group);
	return r;
}

int node_desk_fd(const struct node_desk *d)
{
	return node_server_fd(d->server);
}

uint64_t node_desk_work(struct node_desk *d)
{
	uint64_t due_ns, watches_ns;

	node_server_work(d->server, clock_now_ns());
	watches_ns = work_watches(d);
	due_ns = node_server_due(d->server) ?: UINT64_MAX;
	return due_ns < watches_ns ? due_ns : watches_ns;
}
