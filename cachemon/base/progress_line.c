/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/base/progress_line.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "cachemon/base/terminal.h"
#include "cachemon/base/clock.h"

struct progress_show {
	pthread_t thread;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t wake;
	bool over; /* nothing is shown any more */
	bool ended;
	struct progress now;
	struct progress_sink sink;
};

static void hide(struct progress_show *s)
{
	if (s->now.shown_ns && !s->over)
		terminal_clear_line(stderr);
	s->over = true;
}

static void note(void *arg, const char *what, uint64_t done, uint64_t total)
{
	struct progress_show *s = arg;

	pthread_mutex_lock(&s->lock);
	if (what)
		progress_note(&s->now, clock_now_ns(), what, done, total);
	else
		hide(s);
	pthread_mutex_unlock(&s->lock);
}

static void show(struct progress_show *s)
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
			show(s);
		else
			pthread_cond_timedwait(&s->wake, &s->lock, &t);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* Signals are for those who work. */
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
	s->sink = (struct progress_sink){note, s};
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
	hide(s);
	s->ended = true;
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	pthread_cond_destroy(&s->wake);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
