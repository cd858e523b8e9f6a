/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/cmd/watch_shared.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "cachemon/access/invoker.h"
#include "cachemon/access/paths.h"
#include "cachemon/access/publish.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/base/clock.h"
#include "cachemon/base/escape.h"
#include "cachemon/cmd/cmd.h"
#include "cachemon/cmd/watch_view.h"
#include "cachemon/daemon/node_client.h"
#include "cachemon/job/command.h"
#include "cachemon/store/store_import.h"

/* The daemon may be writing, or copying rows for others. */
enum { ROWS_WAIT_MS = 60000, BEGIN_WAIT_S = 10 };

struct shared {
	const struct watch_options *o;
	const char *socket;
	struct invoker invoker;
	struct command *command;
	struct store *store;
	char *db;
	int fd; /* connection of the command's process; -1: it counts no more */
	int signal_fd;
	struct signal_state signals;
	uint64_t until_ns; /* of --duration */
	bool ended, stop, failed;
	int status;
};

/* The first option that the daemon cannot honour; NULL: none. */
static const char *beyond(const struct watch_options *o)
{
	return o->level_given	   ? "--level"
	       : o->overhead_given ? "--max-overhead"
	       : o->advice_calls   ? "--advice calls"
	       : o->live	   ? "--live"
	       : o->interval_ns	   ? "--interval"
	       : o->metrics_file   ? "--metrics-file"
	       : o->block_entries  ? "--block-entries"
	       : o->row_entries	   ? "--row-entries"
				   : NULL;
}

/* Text of at most max bytes, cut between characters. */
static void cut_text(char *to, size_t max, const char *text)
{
	size_t len = strlen(text), at = 0;
	uint32_t cp;

	for (size_t n; at < len && at < max; at += n) {
		n = escape_decode(text + at, len - at, &cp);
		if (!n || at + n > max)
			break;
	}
	snprintf(to, max + 1, "%.*s", (int)at, text);
}

static int print_request(const struct watch_options *o, char ret[NODE_MESSAGE_MAX + 1])
{
	struct node_request q = {.verb = NODE_WATCH, .uid = -1, .since = -1};
	struct selector s;
	int r = selector_command(o->command, &s);

	if (r)
		return r;
	cut_text(q.name, NODE_NAME_MAX, o->job ?: s.name);
	cut_text(q.command, NODE_COMMAND_MAX, s.text + strlen("command: "));
	selector_free(&s);
	return node_request_print(&q, ret);
}

/* Holds the command, and asks the daemon to count its process. */
static int ask_once(struct shared *s, const char *request, unsigned int *ret_retry_s,
		    struct errtext *err)
{
	struct node_reply reply = {.fd = -1};
	int r = command_prepare(s->o->command, &s->invoker, NULL, s->socket, &s->command, err);

	*ret_retry_s = 0;
	if (r)
		return r;
	s->fd = command_meeting(s->command);
	if (s->fd < 0)
		return errtext_set(err, s->fd, "cannot reach the daemon at %s: %s", s->socket,
				   strerror(-s->fd));
	r = node_client_talk(s->socket, s->fd, request, NODE_CLIENT_WAIT_MS, &reply, err);
	if (reply.fd >= 0)
		close(reply.fd);
	*ret_retry_s = r == -EREMOTEIO ? reply.retry_s : 0;
	return r;
}

static void let_go(struct shared *s)
{
	command_free(s->command);
	s->command = NULL;
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

/* A user may start more commands in a second than the daemon answers. */
static int hold_command(struct shared *s, struct errtext *err)
{
	char request[NODE_MESSAGE_MAX + 1];
	unsigned int left_s = BEGIN_WAIT_S, retry_s;
	int r = print_request(s->o, request);

	if (r)
		return errtext_set(err, r, "out of memory");
	while ((r = ask_once(s, request, &retry_s, err)) && retry_s && retry_s <= left_s) {
		let_go(s);
		left_s -= retry_s;
		sleep(retry_s);
	}
	return r;
}

/* Fails before the command begins. */
static int open_files(struct shared *s, struct errtext *err)
{
	struct store_config config = {.as = NULL};
	int r = invoker_become(err);

	if (!r && s->o->report)
		r = publish_place(s->o->report, err);
	if (!r && s->o->db)
		s->db = strdup(s->o->db);
	else if (!r)
		r = paths_default_db(&s->invoker, getenv("CACHEMON_DB"), getenv("XDG_STATE_HOME"),
				     &s->db, err);
	if (!r && !s->db)
		r = errtext_set(err, -ENOMEM, "out of memory");
	if (!r && !s->o->db)
		r = paths_make_parents(s->db, &s->invoker, err);
	config.path = s->db;
	return r ? r : store_open(&config, &s->store, err);
}

static int import(struct shared *s, struct errtext *err)
{
	struct node_reply reply = {.fd = -1};
	struct db_image rows = {0};
	int r = node_client_talk(s->socket, s->fd, "{\"request\":\"done\"}", ROWS_WAIT_MS, &reply,
				 err);

	if (!r && reply.fd < 0)
		r = errtext_set(err, -EBADMSG, "the daemon's answer has no rows");
	if (!r)
		r = node_client_map(reply.fd, &rows, err);
	if (!r)
		r = store_import(s->store, &rows, "the daemon's answer",
				 s->ended ? &s->status : NULL, err);
	node_client_unmap(&rows);
	return r;
}

/* Its rows, in the user's database. */
static bool take_rows(struct shared *s)
{
	struct errtext err;
	int r;

	if (s->fd < 0)
		return false;
	r = import(s, &err);
	close(s->fd);
	s->fd = -1;
	s->failed |= r;
	if (r)
		fprintf(stderr, "cachemon: this run is not in your database: %s\n", err.text);
	return !r;
}

static void finish(struct shared *s)
{
	int64_t run;

	if (!take_rows(s))
		return;
	run = store_run_id(s->store);
	store_close(s->store);
	s->store = NULL;
	if (watch_show_ended(s->o, &s->invoker, s->db, run))
		s->failed = true;
}

static void on_signal(struct shared *s)
{
	struct signalfd_siginfo info;

	while (read(s->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		struct signal_seen seen = {.signo = (int)info.ssi_signo,
					   .code = info.ssi_code,
					   .sender = (pid_t)info.ssi_pid};
		enum signal_action action = command_signal_action(&seen, &s->signals);

		if (action == SIGNAL_FORWARD)
			command_signal(s->command, seen.signo);
		else if (action != SIGNAL_NOTE)
			s->stop = true;
	}
}

/* The daemon sends nothing before the end. */
static void lose_daemon(struct shared *s)
{
	fprintf(stderr, "cachemon: the daemon of this node has gone, so there will be no record of "
			"this run; the command goes on\n");
	close(s->fd);
	s->fd = -1;
	s->failed = true;
}

static void loop_once(struct shared *s)
{
	struct pollfd p[] = {{.fd = s->signal_fd, .events = POLLIN},
			     {.fd = command_pidfd(s->command), .events = POLLIN},
			     {.fd = s->fd, .events = POLLIN}};
	uint64_t now = clock_now_ns();
	int wait = s->until_ns <= now ? 0 : (int)((s->until_ns - now) / 1000000) + 1;

	if (poll(p, 3, s->until_ns ? wait : -1) < 0 && errno != EINTR)
		s->stop = s->failed = true;
	if (p[0].revents)
		on_signal(s);
	if (p[1].revents && !command_reap(s->command, &s->status))
		s->ended = s->stop = true;
	else if (p[2].revents)
		lose_daemon(s);
	if (s->until_ns && !s->stop && clock_now_ns() >= s->until_ns) {
		s->until_ns = 0;
		finish(s);
	}
}

static int run_command(struct shared *s)
{
	s->signals.cmd = command_pid(s->command);
	if (s->o->duration_ns)
		s->until_ns = clock_now_ns() + s->o->duration_ns;
	while (!s->stop)
		loop_once(s);
	finish(s);
	if (s->ended)
		return watch_status(s->status, s->failed);
	fprintf(stderr, "cachemon: the command (process %d) continues unwatched\n",
		(int)command_pid(s->command));
	return 128 + SIGINT;
}

/* As in a shell. */
static int not_started(struct shared *s, const struct errtext *err)
{
	fprintf(stderr, "cachemon: %s\n", err->text);
	s->ended = !command_reap(s->command, &s->status);
	if (!s->ended || s->status < 126)
		s->status = COMMAND_FAILED;
	if (s->ended)
		take_rows(s);
	return s->status;
}

/* The daemon counts it. */
static int run_counted(struct shared *s)
{
	struct errtext err;

	if (open_files(s, &err)) {
		fprintf(stderr, "cachemon: %s\n", err.text);
		return COMMAND_FAILED;
	}
	return command_go(s->command, &err) ? not_started(s, &err) : run_command(s);
}

/* Whether the command is to be counted by programs of its own; says why. */
static bool give_up(struct shared *s, int r, const struct errtext *err, int *ret_status)
{
	bool absent = r == -ENOENT || r == -ECONNREFUSED;

	if (!absent || s->o->socket)
		fprintf(stderr, "cachemon: %s\n", err->text);
	*ret_status = COMMAND_FAILED;
	return !s->o->socket;
}

bool watch_shared(const struct watch_options *o, int signal_fd, int *ret_status)
{
	struct shared s = {
		.o = o, .socket = o->socket ?: NODE_SOCKET, .fd = -1, .signal_fd = signal_fd};
	const char *option = beyond(o);
	struct errtext err;
	bool done = true;
	int r;

	if (o->own || !o->command)
		return false;
	if (option && (o->socket || !access(s.socket, F_OK)))
		fprintf(stderr,
			"cachemon: the daemon of this node does not count with %s, so this "
			"command is counted by programs of its own\n",
			option);
	if (option)
		return false;
	r = invoker_current(&s.invoker, &err);
	if (!r)
		r = hold_command(&s, &err);
	if (r)
		done = !give_up(&s, r, &err, ret_status);
	else
		*ret_status = run_counted(&s);
	let_go(&s);
	store_close(s.store);
	free(s.db);
	invoker_free(&s.invoker);
	return done;
}
