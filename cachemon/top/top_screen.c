/* SPDX-License-Identifier: BSD-2-Clause */
/* The loop of the full screen: keys, time, signals. */
#include <errno.h>
#include <langinfo.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachemon/top/top.h"
#include "cachemon/base/clock.h"

/* How often the database is looked at, a replay goes on, and what is late is told. */
#define LOOK_NS 250000000ULL
#define PLAY_NS 1000000000ULL
#define LATE_NS 3000000000ULL

static volatile sig_atomic_t seen;

static void on_end(int signo)
{
	seen = signo;
}

struct screen_loop {
	struct top_session *s;
	struct top_screen *screen;
	struct top_capture *capture;
	const char *about; /* the run, for as long as nothing else is to be said */
	struct top_paper paper;
	const char *told; /* the notice on the screen */
	char notice[160];
	uint64_t fresh_ns, play_ns; /* when there was something new; when a replay goes on */
	bool ended;
};

/* Signals come while the loop waits, and at no other time; that of a new size is for ncurses. */
static void take_signals(sigset_t *ret_waiting)
{
	struct sigaction action = {.sa_handler = on_end};
	sigset_t resize;

	top_signals_set(ret_waiting);
	sigemptyset(&action.sa_mask);
	for (int signo = 1; signo < NSIG; signo++)
		if (sigismember(ret_waiting, signo) == 1)
			sigaction(signo, &action, NULL);
	sigemptyset(&resize);
	sigaddset(&resize, SIGWINCH);
	seen = 0;
	sigprocmask(SIG_BLOCK, &resize, NULL);
	sigemptyset(ret_waiting);
}

static void tell(struct screen_loop *l)
{
	const struct top_session *s = l->s;
	uint64_t late_ns = clock_now_ns() - l->fresh_ns;
	int64_t interval_ns = s->moment.model.run.interval_ns.value;

	l->paper.notice = NULL;
	l->paper.ended = s->replay || top_session_ended(s);
	if (*l->notice)
		l->paper.notice = l->notice;
	else if (l->ended)
		l->paper.notice = "the capture has ended; q leaves";
	else if (*l->about)
		l->paper.notice = l->about;
	else if (!l->paper.ended && s->view.pace == TOP_FOLLOW &&
		 late_ns > LATE_NS + 2 * (uint64_t)interval_ns)
		l->paper.notice = "nothing new is being written: is the watch still there?";
}

static int draw(struct screen_loop *l)
{
	struct top_canvas canvas;
	int r;

	top_screen_size(l->screen, &l->paper.columns, &l->paper.rows);
	tell(l);
	r = top_paint(&l->s->frame, &l->s->view, &l->paper, &canvas);
	if (r)
		return r;
	l->told = l->paper.notice;
	top_screen_draw(l->screen, &canvas);
	top_canvas_free(&canvas);
	return 0;
}

/* A database that cannot be read now may be in a moment: what was shown stays. */
static void load(struct screen_loop *l)
{
	struct errtext err = {""};

	*l->notice = '\0';
	if (top_session_load(l->s, &err))
		snprintf(l->notice, sizeof(l->notice), "%.*s", (int)sizeof(l->notice) - 1,
			 err.text);
}

/* Whether the viewer leaves. */
static bool take_keys(struct screen_loop *l, bool *changed)
{
	struct top_around around;
	uint32_t key;

	while ((key = top_screen_key(l->screen)) != TOP_KEY_NONE) {
		if (key != TOP_KEY_RESIZE)
			l->about = "";
		*changed = true;
		top_session_around(l->s, &l->paper, &around);
		if (top_view_key(&l->s->view, key, &around))
			return true;
		/* The next key is pressed in front of what this one made. */
		load(l);
	}
	return false;
}

static void take_time(struct screen_loop *l, bool *changed)
{
	uint64_t now = clock_now_ns();
	struct top_session *s = l->s;

	if (l->capture && !l->ended && top_capture_ended(l->capture))
		l->ended = *changed = true;
	if (s->view.pace == TOP_PLAY && now >= l->play_ns) {
		s->view.steps = 1;
		l->play_ns = now + PLAY_NS;
		load(l);
		*changed = true;
	} else if (top_session_stale(s)) {
		l->fresh_ns = now;
		load(l);
		*changed = true;
	}
	tell(l);
	if (l->paper.notice != l->told)
		*changed = true;
}

static int run_loop(struct screen_loop *l, const sigset_t *waiting)
{
	const struct timespec look = {.tv_nsec = LOOK_NS};
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	int r = draw(l);

	while (!r && !seen) {
		bool changed = false;

		if (ppoll(&input, 1, &look, waiting) < 0 && errno != EINTR)
			return -errno;
		if (seen || input.revents & (POLLHUP | POLLERR | POLLNVAL))
			break;
		/* Also where nothing was typed: a new size is told as a key. */
		if (take_keys(l, &changed))
			break;
		take_time(l, &changed);
		if (changed)
			r = draw(l);
	}
	return r;
}

int top_watch_screen(struct top_session *s, const struct top_options *o,
		     struct top_capture *capture, const char *about, int *ret_signal,
		     struct errtext *err)
{
	const char *no_color = getenv("NO_COLOR");
	struct screen_loop l = {.s = s, .capture = capture, .about = about};
	sigset_t waiting;
	int r = top_session_load(s, err);

	if (r)
		return r;
	l.paper.keys = true;
	l.paper.utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	l.fresh_ns = clock_now_ns();
	take_signals(&waiting);
	r = top_screen_open(!no_color || !*no_color, &l.screen);
	if (r)
		return errtext_set(err, r, "cannot use this terminal: %s", strerror(-r));
	r = run_loop(&l, &waiting);
	top_screen_close(l.screen);
	*ret_signal = seen;
	return r ? errtext_set(err, r, "%s", strerror(-r)) : 0;
}
