/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "cachemon/access/paths.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/base/clock.h"
#include "cachemon/base/escape.h"
#include "cachemon/base/progress.h"
#include "advisor/rules/rule_set.h"
#include "cachemon/cmd/cmd.h"
#include "cachemon/cmd/watch_view.h"
#include "cachemon/job/command.h"
#include "cachemon/report/run/report.h"
#include "cachemon/store/store_wording.h"
#include "cachemon/watch/watch.h"

#define TICK_NS 50000000ULL /* interval between checks of the maps' fill level */
/* Names come one by one: waking for each would cost more than taking them. */
#define NAMES_NS 5000000ULL
/* After a sample for marks, no other one for this many times its duration: marks in between
 * share the next one. */
#define MARKS_PAUSE 20

struct loop {
	const struct watch_options *o;
	struct watch_run *run;
	struct watch_view *view; /* NULL: there is no view, or it has ended */
	struct signal_state signals;
	int signal_fd;
	struct watch_place place; /* place of the status line */
	bool live;		  /* stderr is a terminal: show the line */
	bool measuring;		  /* the run is not finished yet */
	bool stop;		  /* leave the loop, even if CMD still runs */
	bool ended;		  /* CMD has ended */
	bool broken;		  /* the loop itself failed */
	bool failed;		  /* the record is incomplete */
	int status;		  /* exit status of CMD */
	uint64_t start_ns, next_ns;
	uint64_t names_ns; /* names are not read before this time */
	uint64_t marks_ns; /* nor are marks before this one */
	bool marked;	   /* marks wait for a sample */
};

int watch_signals_open(void)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGQUIT);
	sigaddset(&set, SIGWINCH);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	/* Blocked while there is a line; otherwise it stops this process as usual. */
	sigaddset(&set, SIGTSTP);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

struct ended_run {
	const struct watch_options *o;
	const struct invoker *invoker;
	const char *db;
	int64_t run_id;
};

/* With a site's rules, as in report and advise. Their errors are printed; the report still
 * comes, and the status is the command's. */
static int write_report(void *arg, struct errtext *err)
{
	const struct ended_run *run = arg;
	struct progress_show *progress = progress_show_begin();
	struct rule_dirs dirs = {0};
	size_t problems = 0;
	struct report_options options = {.db = run->db,
					 .default_db = !run->o->db,
					 .run_id = run->run_id,
					 .files = REPORT_FILES_DEFAULT,
					 .rules = &dirs,
					 .out_path = run->o->report,
					 .on_problem = cmd_print_rule_problem,
					 .on_problem_arg = &problems,
					 .progress = progress_show_sink(progress)};
	int r = report_format_of_path(run->o->report, &options.format);

	if (!r)
		r = cmd_rules(run->invoker, run->o->rules, &dirs, err);
	if (!r)
		r = report_show(&options, NULL, err);
	rule_dirs_free(&dirs);
	progress_show_end(progress);
	return r;
}

/* Stores the heads of the report, so that a list of runs need not analyse each run. Without them
 * the list has a dash. */
static void keep_heads(void *arg, const struct job_head *heads, size_t nr)
{
	const struct store_config config = {.path = arg};
	struct errtext err = {""};

	if (store_put_heads(&config, heads, nr, &err))
		fprintf(stderr,
			"cachemon: 'cachemon runs' will show no grade and no finding for this run: "
			"%s\n",
			err.text);
}

/* NULL: the database that a later command of the user finds without its path. */
static const char *path_to_name(const struct ended_run *run)
{
	_cleanup_free_ char *usual = NULL;
	struct errtext ignored;

	/* sudo may have changed the environment, so a path that depends on it is named. */
	if (!run->o->db && !paths_default_db(run->invoker, NULL, NULL, &usual, &ignored) &&
	    !strcmp(usual, run->db))
		return NULL;
	return run->db;
}

static int print_summary(void *arg, struct errtext *err)
{
	const struct ended_run *run = arg;
	_cleanup_free_ char *again = report_again(NULL, run->run_id, NULL);
	struct rule_dirs dirs = {0};
	struct report_options options = {.db = run->db,
					 .run_id = run->run_id,
					 .brief = true,
					 .again_db = path_to_name(run),
					 .again = again,
					 .on_heads = keep_heads,
					 .on_heads_arg = (void *)run->db,
					 .rules = &dirs};
	int r = again ? cmd_rules(run->invoker, run->o->rules, &dirs, err)
		      : errtext_set(err, -ENOMEM, "out of memory");

	if (!r)
		r = report_show(&options, stderr, err);
	rule_dirs_free(&dirs);
	return r;
}

int watch_show_ended(const struct watch_options *o, const struct invoker *invoker, const char *db,
		     int64_t run_id)
{
	struct ended_run ended = {o, invoker, db, run_id};
	struct errtext err = {""};
	char shown[512];
	int r = 0;

	if (invoker_run(ended.invoker, print_summary, &ended, &err)) {
		fprintf(stderr, "cachemon: no summary: %s\n", err.text);
		r = -EIO;
	}
	if (o->report && invoker_run(ended.invoker, write_report, &ended, &err)) {
		fprintf(stderr, "cachemon: no report: %s\n", err.text);
		r = -EIO;
	} else if (o->report) {
		escape_inert_to(shown, sizeof(shown), o->report);
		fprintf(stderr, "report: %s\n", shown);
	}
	return r;
}

static void show_line(struct loop *l)
{
	struct watch_figures f;

	watch_run_figures(l->run, &f);
	watch_live_show(stderr, &l->place, &f);
}

static void set_stop_blocked(bool blocked)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTSTP);
	sigprocmask(blocked ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

/* Begins to show the line, if possible. */
static void begin_line(struct loop *l)
{
	l->live = watch_live_possible(stderr);
	if (!l->live)
		return;
	set_stop_blocked(true);
	show_line(l);
}

static void end_line(struct loop *l)
{
	if (!l->live)
		return;
	l->live = false;
	watch_live_clear(stderr, &l->place);
	set_stop_blocked(false);
}

/* Ctrl-Z: removes the line before the shell gets the terminal. The terminal itself stops CMD. */
static void stop_here(struct loop *l)
{
	end_line(l);
	/* Stopping has no effect in a session without a shell, or if the signal is ignored. */
	raise(SIGTSTP);
	begin_line(l);
}

static void end_view(struct loop *l)
{
	watch_view_end(l->view);
	l->view = NULL;
	if (l->measuring)
		begin_line(l);
}

static void finish_run(struct loop *l)
{
	if (!l->measuring)
		return;
	l->measuring = false;
	end_line(l);
	/* Final messages belong on the previous screen. */
	if (l->view)
		end_view(l);
	if (watch_run_finish(l->run, l->ended ? &l->status : NULL))
		l->failed = true;
	if (watch_show_ended(l->o, watch_run_invoker(l->run), watch_run_db(l->run),
			     watch_run_id(l->run)))
		l->failed = true;
	if (l->ended)
		watch_outlived_say(l->run);
}

static void on_signal(struct loop *l)
{
	struct signalfd_siginfo info;
	struct command *cmd = watch_run_command(l->run);

	while (read(l->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		struct signal_seen seen = {.signo = (int)info.ssi_signo,
					   .code = info.ssi_code,
					   .sender = (pid_t)info.ssi_pid};

		if (seen.signo == SIGWINCH && l->live)
			show_line(l);
		if (seen.signo == SIGTSTP && l->live)
			stop_here(l);
		switch (command_signal_action(&seen, &l->signals)) {
		case SIGNAL_NOTE:
			break;
		case SIGNAL_FORWARD:
			if (cmd)
				command_signal(cmd, seen.signo);
			break;
		case SIGNAL_FINISH:
		case SIGNAL_ABANDON:
			l->stop = true;
			break;
		}
	}
}

static void sampled_marks(struct loop *l, uint64_t since)
{
	uint64_t now = clock_now_ns();

	if (l->marked)
		l->marks_ns = now + (now - since) * MARKS_PAUSE;
	l->marked = false;
}

/* An endless stream of marks, or marks after the run, must not keep this process busy. */
static void on_marks(struct loop *l)
{
	l->marked = l->measuring && watch_run_marks_count(l->run);
	if (l->marked)
		return;
	watch_run_marks_drop(l->run);
	l->marks_ns = clock_now_ns() + NAMES_NS;
}

static void on_time(struct loop *l)
{
	uint64_t now = clock_now_ns(), slice = watch_run_slice_due(l->run),
		 part = watch_run_part_due(l->run);

	watch_run_marks_look(l->run);
	watch_run_names(l->run);
	watch_run_look(l->run);
	watch_run_budget(l->run);
	/* References arrive without waking the process. */
	watch_run_names(l->run);
	if (slice && now >= slice)
		watch_run_slice(l->run);
	if (now >= l->next_ns || l->marked || watch_run_pressed(l->run) || (part && now >= part)) {
		watch_run_sample(l->run, false);
		sampled_marks(l, now);
		if (now >= l->next_ns) {
			/* A late tick does not speed up the next ones. */
			l->next_ns += watch_run_interval_ns(l->run);
			if (l->next_ns <= now)
				l->next_ns = now + watch_run_interval_ns(l->run);
			if (l->live)
				show_line(l);
		}
	}
	if (l->o->duration_ns && now - l->start_ns >= l->o->duration_ns) {
		finish_run(l);
		if (!watch_run_command(l->run))
			l->stop = true;
	}
}

static int timeout_ms(const struct loop *l)
{
	uint64_t now = clock_now_ns(), due = l->next_ns, slice = watch_run_slice_due(l->run),
		 part = watch_run_part_due(l->run);

	if (!l->measuring)
		return l->marks_ns > now ? (int)((l->marks_ns - now) / 1000000) + 1 : -1;
	if (l->marks_ns > now && l->marks_ns < due)
		due = l->marks_ns;
	if (l->names_ns > now && l->names_ns < due)
		due = l->names_ns;
	if (watch_run_look_due(l->run) < due)
		due = watch_run_look_due(l->run);
	if (slice && slice < due)
		due = slice;
	if (part && part < due)
		due = part;
	if (l->o->duration_ns && l->start_ns + l->o->duration_ns < due)
		due = l->start_ns + l->o->duration_ns;
	if (due > now + TICK_NS)
		due = now + TICK_NS;
	return due <= now ? 0 : (int)((due - now + 999999) / 1000000);
}

/* The run ends when the watched process or cgroup is gone. */
static bool job_is_over(const struct loop *l)
{
	const struct selector *s = watch_run_selector(l->run);
	char shown[512];

	if (s->kind == SELECTED_PIDS)
		return watch_run_job_ended(l->run);
	if (s->kind == SELECTED_CGROUP && !cgroup_exists(&s->cgroup)) {
		escape_inert_to(shown, sizeof(shown), s->cgroup.path);
		fprintf(stderr, "%scachemon: the cgroup %s is gone; the run ends here\n",
			l->live ? "\r\033[K" : "", shown);
		return true;
	}
	return false;
}

enum waited { SIGNALS, COMMAND, NAMES, MARKS, VIEW, INPUT, WAITED_COUNT };

/* ready: the readable descriptors. -1 on error. */
static int wait_for(struct loop *l, bool ready[WAITED_COUNT])
{
	struct command *cmd = watch_run_command(l->run);
	const int from[WAITED_COUNT] = {
		[SIGNALS] = l->signal_fd,
		[COMMAND] = cmd ? command_pidfd(cmd) : -1,
		[NAMES] = l->measuring && clock_now_ns() >= l->names_ns ? watch_run_names_fd(l->run)
									: -1,
		[MARKS] = clock_now_ns() >= l->marks_ns ? watch_run_marks_fd(l->run) : -1,
		[VIEW] = watch_view_fd(l->view),
		[INPUT] = l->o->until_eof ? STDIN_FILENO : -1,
	};
	struct pollfd fds[WAITED_COUNT];
	enum waited which[WAITED_COUNT];
	nfds_t n = 0;

	/*
	 * Passes only valid descriptors: poll counts entries against RLIMIT_NOFILE, which another
	 * process can lower.
	 */
	for (enum waited w = 0; w < WAITED_COUNT; w++) {
		ready[w] = false;
		if (from[w] < 0)
			continue;
		fds[n] = (struct pollfd){.fd = from[w], .events = POLLIN};
		which[n++] = w;
	}
	if (poll(fds, n, timeout_ms(l)) < 0)
		return errno == EINTR ? 0 : -1;
	for (nfds_t i = 0; i < n; i++)
		ready[which[i]] = fds[i].revents;
	return 0;
}

/* Earlier signals are not meant for watch. */
static bool input_ended(void)
{
	char ignored[4096];
	ssize_t n = read(STDIN_FILENO, ignored, sizeof(ignored));

	return !n || (n < 0 && errno != EINTR && errno != EAGAIN);
}

static void loop_once(struct loop *l)
{
	struct command *cmd = watch_run_command(l->run);
	bool ready[WAITED_COUNT];

	if (wait_for(l, ready)) {
		l->stop = l->broken = true;
		return;
	}
	if (ready[SIGNALS])
		on_signal(l);
	if (ready[NAMES]) {
		watch_run_names(l->run);
		l->names_ns = clock_now_ns() + NAMES_NS;
	}
	if (ready[MARKS])
		on_marks(l);
	if (ready[VIEW])
		end_view(l);
	if (ready[INPUT] && input_ended())
		l->stop = true;
	if (cmd && ready[COMMAND] && !command_reap(cmd, &l->status)) {
		l->ended = true;
		l->stop = true;
	}
	if (l->measuring && !l->stop) {
		on_time(l);
		if (!cmd && l->measuring && job_is_over(l))
			l->stop = true;
	}
}

/* The view, the line, or neither. */
static void begin_showing(struct loop *l)
{
	struct errtext err = {0};

	if (l->o->live && watch_view_begin(l->run, &l->view, &err))
		fprintf(stderr, "cachemon: %s\n", err.text);
	l->place.shared = watch_run_command(l->run) != NULL;
	if (!l->view)
		begin_line(l);
}

/* CMD's own failure matters most to the caller. */
int watch_status(int status, bool failed)
{
	if (status || !failed)
		return status;
	fprintf(stderr,
		"cachemon: the command succeeded, but its record is incomplete (status %d)\n",
		WATCH_INCOMPLETE);
	return WATCH_INCOMPLETE;
}

/* A viewer waits for its first rows. */
static uint64_t first_interval_ns(const struct loop *l)
{
	uint64_t ns = watch_run_interval_ns(l->run);

	return l->o->until_eof && ns > WATCH_FINE_NS ? WATCH_FINE_NS : ns;
}

int watch_loop(const struct watch_options *o, struct watch_run *run, int signal_fd)
{
	struct command *cmd = watch_run_command(run);
	struct loop l = {.o = o, .run = run, .signal_fd = signal_fd, .measuring = true};

	l.signals.cmd = cmd ? command_pid(cmd) : 0;
	l.start_ns = clock_now_ns();
	l.next_ns = l.start_ns + first_interval_ns(&l);
	begin_showing(&l);
	while (!l.stop)
		loop_once(&l);
	finish_run(&l);
	if (l.ended)
		return watch_status(l.status, l.failed);
	/* Ctrl-C twice: CMD continues, and its status is unknown. */
	if (cmd) {
		fprintf(stderr, "cachemon: the command (process %d) continues unwatched\n",
			(int)command_pid(cmd));
		return l.broken ? COMMAND_FAILED : 128 + SIGINT;
	}
	return l.failed || l.broken ? EXIT_FAILED : EXIT_DONE;
}
