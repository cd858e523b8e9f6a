/* SPDX-License-Identifier: BSD-2-Clause */
/* Successive frames, on a full screen with keys or as text, and the signals that end them. */
#include <errno.h>
#include <langinfo.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cachemon/base/clock.h"
#include "cachemon/base/parse.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/top/top.h"

static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
enum { NR_ENDS = sizeof(ends) / sizeof(ends[0]) };

static void get_signals(sigset_t *ret)
{
	sigemptyset(ret);
	for (int i = 0; i < NR_ENDS; i++)
		sigaddset(ret, ends[i]);
}

void top_signals_hold(void)
{
	sigset_t set;

	get_signals(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	/* A reader that has gone is detected at the next write. */
	signal(SIGPIPE, SIG_IGN);
}

void top_signals_default(void)
{
	sigset_t none;

	for (int i = 0; i < NR_ENDS; i++)
		signal(ends[i], SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

int top_signals_wait(int ms)
{
	struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
	sigset_t set;
	int signo;

	get_signals(&set);
	signo = sigtimedwait(&set, NULL, &time);
	return signo > 0 ? signo : 0;
}

void top_signals_end_by(int signo)
{
	fflush(stdout);
	top_signals_default();
	raise(signo);
}

/* How often the database is read, how long a replay shows a moment, when data is late. */
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
	const char *about; /* shown while there is no other message */
	const char *said;  /* about the feed; NULL: nothing */
	struct top_paper paper;
	const char *shown; /* the notice on the screen */
	char notice[160];
	uint64_t fresh_ns, play_ns; /* time of the last new data; time of the replay's next step */
	bool ended;
};

/* Signals arrive only while the loop waits; the one for a new size is ncurses' own. */
static void take_signals(sigset_t *ret_waiting)
{
	struct sigaction action = {.sa_handler = on_end};
	sigset_t resize;

	get_signals(ret_waiting);
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

static void choose_notice(struct screen_loop *l)
{
	const struct top_session *s = l->s;
	uint64_t late_ns = clock_now_ns() - l->fresh_ns;
	int64_t interval_ns = s->moment.model.run.interval_ns.value;

	l->paper.notice = NULL;
	l->paper.ended = s->replay || top_session_ended(s);
	if (*l->notice)
		l->paper.notice = l->notice;
	else if (l->ended)
		l->paper.notice = "the recording has ended; q quits";
	else if (l->said)
		l->paper.notice = l->said;
	else if (*l->about)
		l->paper.notice = l->about;
	else if (!l->paper.ended && s->view.pace == TOP_FOLLOW &&
		 late_ns > LATE_NS + 2 * (uint64_t)interval_ns)
		l->paper.notice = s->feed ? "no new intervals from the daemon"
					  : "no new intervals: is cachemon watch still running?";
}

static int draw_screen(struct screen_loop *l)
{
	struct top_canvas canvas;
	int r;

	top_screen_size(l->screen, &l->paper.columns, &l->paper.rows);
	choose_notice(l);
	r = top_paint(&l->s->frame, &l->s->view, &l->paper, &canvas);
	if (r)
		return r;
	l->shown = l->paper.notice;
	top_screen_draw(l->screen, &canvas);
	top_canvas_free(&canvas);
	return 0;
}

/* A database that cannot be read now may be readable in a moment: the old frame stays. */
static void load_frame(struct screen_loop *l)
{
	struct errtext err = {""};

	top_screen_size(l->screen, &l->paper.columns, &l->paper.rows);
	l->s->view.wide = l->paper.columns >= TOP_WIDE;
	*l->notice = '\0';
	if (top_session_load(l->s, &err))
		snprintf(l->notice, sizeof(l->notice), "%.*s", (int)sizeof(l->notice) - 1,
			 err.text);
}

/* Whether the viewer wants to leave. */
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
		/* The next key applies to the new frame. */
		load_frame(l);
	}
	return false;
}

static void take_time(struct screen_loop *l, bool *changed)
{
	uint64_t now = clock_now_ns();
	struct top_session *s = l->s;

	if (s->feed)
		l->said = s->feed->work(s->feed->context, s);
	if (l->capture && !l->ended && top_capture_ended(l->capture))
		l->ended = *changed = true;
	if (s->view.pace == TOP_PLAY && now >= l->play_ns) {
		s->view.steps = 1;
		l->play_ns = now + PLAY_NS;
		load_frame(l);
		*changed = true;
	} else if (top_session_stale(s)) {
		l->fresh_ns = now;
		load_frame(l);
		*changed = true;
	}
	choose_notice(l);
	if (l->paper.notice != l->shown)
		*changed = true;
}

static int run_loop(struct screen_loop *l, const sigset_t *waiting)
{
	const struct timespec look = {.tv_nsec = LOOK_NS};
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	int r = draw_screen(l);

	while (!r && !seen) {
		bool changed = false;

		if (ppoll(&input, 1, &look, waiting) < 0 && errno != EINTR)
			return -errno;
		if (seen || input.revents & (POLLHUP | POLLERR | POLLNVAL))
			break;
		/* Even without input, because a new size arrives as a key. */
		if (take_keys(l, &changed))
			break;
		take_time(l, &changed);
		if (changed)
			r = draw_screen(l);
	}
	return r;
}

/* The first moment, then one after the other. */
static void play_from_start(struct top_session *s)
{
	s->view.pace = TOP_PLAY;
	s->view.at_ns = INT64_MAX;
	s->view.steps = -INT_MAX;
}

int top_watch_screen(struct top_session *s, const struct top_options *o,
		     struct top_capture *capture, const char *about, int *ret_signal,
		     struct errtext *err)
{
	const char *no_color = getenv("NO_COLOR");
	struct screen_loop l = {.s = s, .capture = capture, .about = about};
	sigset_t waiting;
	int r;

	if (s->replay)
		play_from_start(s);
	r = top_session_load(s, err);
	if (r)
		return r;
	l.paper.keys = true;
	l.paper.utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	l.fresh_ns = clock_now_ns();
	l.play_ns = l.fresh_ns + PLAY_NS;
	take_signals(&waiting);
	r = top_screen_open(!no_color || !*no_color, &l.screen);
	if (r)
		return errtext_set(err, r, "cannot use this terminal: %s", strerror(-r));
	load_frame(&l);
	r = run_loop(&l, &waiting);
	top_screen_close(l.screen);
	*ret_signal = seen;
	return r ? errtext_set(err, r, "%s", strerror(-r)) : 0;
}

enum { COLUMNS_DEFAULT = 80, LINES_DEFAULT = 24, SIZE_MAX_CHARS = 10000, LOOK_MS = 100 };

/* The size given by the shell or the caller. */
static int size_of_variable(const char *variable, int otherwise)
{
	const char *text = getenv(variable);
	uint64_t n = 0;

	if (!text || parse_u64(text, &n) || n < 1 || n > SIZE_MAX_CHARS)
		return otherwise;
	return (int)n;
}

/* Without the empty lines at its end, and one after it. */
static int write_frame(const struct top_session *s, FILE *out)
{
	struct top_paper paper = {
		.columns = size_of_variable("COLUMNS", COLUMNS_DEFAULT),
		.rows = size_of_variable("LINES", LINES_DEFAULT),
		.utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8"),
	};
	struct text_builder b;
	struct top_canvas canvas;
	char *text;
	int r = top_paint(&s->frame, &s->view, &paper, &canvas);

	if (r)
		return r;
	if (text_begin(&b))
		top_canvas_write(&canvas, b.out);
	top_canvas_free(&canvas);
	text = text_end(&b);
	if (!text)
		return -ENOMEM;
	while (b.len && text[b.len - 1] == '\n')
		text[--b.len] = '\0';
	fprintf(out, "%s\n\n", text);
	free(text);
	return fflush(out) ? -errno : 0;
}

/* Waits until there is new data, there can be none any more, or a signal came. */
static bool wait_for_more(struct top_session *s, struct top_capture *capture, int *ret_signal)
{
	const char *said = NULL, *before = NULL;

	while (!top_session_stale(s)) {
		if (s->feed)
			said = s->feed->work(s->feed->context, s);
		if (said && said != before)
			fprintf(stderr, "cachemon: %s\n", said);
		before = said;
		if (s->replay || top_session_ended(s) || (capture && top_capture_ended(capture)))
			return false;
		*ret_signal = top_signals_wait(LOOK_MS);
		if (*ret_signal)
			return false;
	}
	return true;
}

static int say_unwritten(int r, int *ret_signal, struct errtext *err)
{
	/* Ends like any program whose reader has left. */
	if (r == -EPIPE)
		*ret_signal = SIGPIPE;
	return errtext_set(err, r, "cannot write: %s", strerror(-r));
}

int top_batch(struct top_session *s, const struct top_options *o, struct top_capture *capture,
	      FILE *out, int *ret_signal, struct errtext *err)
{
	bool first = true;
	uint64_t written = 0;

	/* From the first interval, or from the newest; after it none is skipped. */
	s->view.pace = TOP_HOLD;
	s->view.wide = size_of_variable("COLUMNS", COLUMNS_DEFAULT) >= TOP_WIDE;
	if (s->replay || capture)
		s->view.steps = -INT_MAX;
	for (;;) {
		int64_t last_id = s->moment.nr_history ? s->moment.history[0].id : 0;
		int r = top_session_load(s, err);

		if (r)
			return r;
		if (s->moment.nr_history && (first || s->moment.history[0].id != last_id)) {
			first = false;
			s->view.at_ns = s->moment.history[0].start_ns;
			r = write_frame(s, out);
			if (r)
				return say_unwritten(r, ret_signal, err);
			if (o->frames && ++written >= o->frames)
				return 0;
		}
		*ret_signal = top_signals_wait(0);
		if (*ret_signal || (s->moment.newest && !wait_for_more(s, capture, ret_signal)))
			return 0;
		s->view.steps = first ? s->view.steps : 1;
	}
}

/* Signals that end the view: handled where it waits, so that its child can be ended too. */
