/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/base/progress.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cachemon/base/clock.h"
#include "cachemon/base/terminal.h"

#define SECOND_NS 1000000000ULL

enum { SIGN_NS = 80000000, EVERY_NS = 250000000 };

/* Short work needs no figures, and a pace takes time to show. */
static const uint64_t FIGURES_NS = 2 * SECOND_NS, PACE_NS = SECOND_NS / 2;

void progress_at(const struct progress_sink *sink, const char *what, uint64_t done, uint64_t total)
{
	if (sink)
		sink->at(sink->arg, what, done, total);
}

void progress_over(const struct progress_sink *sink)
{
	progress_at(sink, NULL, 0, 0);
}

void progress_begin(struct progress *p, uint64_t now_ns)
{
	*p = (struct progress){.began_ns = now_ns, .part_began_ns = now_ns};
}

void progress_note(struct progress *p, uint64_t now_ns, const char *what, uint64_t done,
		   uint64_t total)
{
	if (!p->what || strcmp(p->what, what) != 0)
		p->part_began_ns = now_ns;
	p->what = what;
	p->done = done;
	p->total = total;
}

uint64_t progress_due_ns(const struct progress *p)
{
	uint64_t figures_ns = p->began_ns + FIGURES_NS;

	if (!p->shown_ns)
		return p->began_ns + SIGN_NS;
	return p->shown_ns < figures_ns ? figures_ns : p->shown_ns + EVERY_NS;
}

int64_t progress_left_ns(const struct progress *p, uint64_t now_ns)
{
	uint64_t spent = now_ns - p->part_began_ns;
	double left;

	if (!p->total || !p->done || p->done > p->total || spent < PACE_NS)
		return -1;
	left = (double)spent / (double)p->done * (double)(p->total - p->done);
	return left < (double)INT64_MAX ? (int64_t)left : -1;
}

/* Rounded so that it does not jump; the estimate is not more precise. */
static void put_left(char *ret, size_t size, int64_t left_ns)
{
	int64_t s = left_ns / (int64_t)SECOND_NS + 1;

	if (s < 100)
		snprintf(ret, size, ", about %" PRId64 " s left", s);
	else if (s < 100 * 60)
		snprintf(ret, size, ", about %" PRId64 " min left", (s + 30) / 60);
	else
		snprintf(ret, size, ", about %" PRId64 " h left", (s + 1800) / 3600);
}

/* The last column stays free: some terminals wrap when it is written. */
static void cut_line(char *line, size_t columns)
{
	if (strlen(line) + 1 > columns)
		line[columns ? columns - 1 : 0] = 0;
}

void progress_line(const struct progress *p, uint64_t now_ns, size_t columns, char *ret,
		   size_t size)
{
	uint64_t spent_s = (now_ns - p->began_ns) / SECOND_NS;
	int64_t left_ns = progress_left_ns(p, now_ns);
	const char *what = p->what ? p->what : "working";
	char amount[64] = "", left[64] = "";

	if (now_ns - p->began_ns < FIGURES_NS) {
		snprintf(ret, size, "%s ...", what);
		cut_line(ret, columns);
		return;
	}
	if (p->total && p->done <= p->total)
		snprintf(amount, sizeof(amount), ": %" PRIu64 " of %" PRIu64, p->done, p->total);
	if (left_ns >= 0)
		put_left(left, sizeof(left), left_ns);
	snprintf(ret, size, "%s%s, %" PRIu64 " s so far%s", what, amount, spent_s, left);
	cut_line(ret, columns);
}

struct progress_show {
	pthread_t thread;
	pthread_mutex_t lock; /* protects everything below */
	pthread_cond_t wake;
	bool over; /* nothing is shown any more */
	bool ended;
	struct progress now;
	struct progress_sink sink;
};

static void hide_line(struct progress_show *s)
{
	if (s->now.shown_ns && !s->over)
		terminal_clear_line(stderr);
	s->over = true;
}

static void note_progress(void *arg, const char *what, uint64_t done, uint64_t total)
{
	struct progress_show *s = arg;

	pthread_mutex_lock(&s->lock);
	if (what)
		progress_note(&s->now, clock_now_ns(), what, done, total);
	else
		hide_line(s);
	pthread_mutex_unlock(&s->lock);
}

static void show_line(struct progress_show *s)
{
	char line[256];

	s->now.shown_ns = clock_now_ns();
	progress_line(&s->now, s->now.shown_ns, terminal_columns(stderr), line, sizeof(line));
	fprintf(stderr, "\r\033[K%s", line);
	fflush(stderr);
}

static void *show_until_over(void *arg)
{
	struct progress_show *s = arg;

	pthread_mutex_lock(&s->lock);
	while (!s->ended) {
		uint64_t due = progress_due_ns(&s->now);
		struct timespec t = {.tv_sec = (time_t)(due / 1000000000),
				     .tv_nsec = (long)(due % 1000000000)};

		if (s->over)
			pthread_cond_wait(&s->wake, &s->lock);
		else if (clock_now_ns() >= due)
			show_line(s);
		else
			pthread_cond_timedwait(&s->wake, &s->lock, &t);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* Signals are for the working thread. */
static int start_thread(struct progress_show *s)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&s->thread, NULL, show_until_over, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}

struct progress_show *progress_show_begin(void)
{
	struct progress_show *s = NULL;
	pthread_condattr_t attr;

	if (terminal_rewrites(stderr))
		s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->sink = (struct progress_sink){note_progress, s};
	progress_begin(&s->now, clock_now_ns());
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->wake, &attr);
	pthread_condattr_destroy(&attr);
	if (start_thread(s) == 0)
		return s;
	free(s);
	return NULL;
}

const struct progress_sink *progress_show_sink(const struct progress_show *s)
{
	return s ? &s->sink : NULL;
}

void progress_show_pause(struct progress_show *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	if (s->now.shown_ns && !s->over) {
		terminal_clear_line(stderr);
		s->now.shown_ns = clock_now_ns();
	}
	pthread_mutex_unlock(&s->lock);
}

void progress_show_end(struct progress_show *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	hide_line(s);
	s->ended = true;
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	pthread_cond_destroy(&s->wake);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
