/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <langinfo.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/text_builder.h"
#include "cachemon/top/top.h"
#include "cachemon/base/parse.h"

enum { COLUMNS_DEFAULT = 80, LINES_DEFAULT = 24, SIZE_MAX_CHARS = 10000, LOOK_MS = 100 };

/* What a shell or the caller says of the size of what is written. */
static int size_of(const char *variable, int otherwise)
{
	const char *text = getenv(variable);
	uint64_t n = 0;

	if (!text || parse_u64(text, &n) || n < 1 || n > SIZE_MAX_CHARS)
		return otherwise;
	return (int)n;
}

/* Without the empty lines at its end, and one behind it. */
static int write_frame(const struct top_session *s, FILE *out)
{
	struct top_paper paper = {
		.columns = size_of("COLUMNS", COLUMNS_DEFAULT),
		.rows = size_of("LINES", LINES_DEFAULT),
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

/* Until there is something new to read, never will be, or a signal came. */
static bool wait_for_more(struct top_session *s, struct top_capture *capture, int *ret_signal)
{
	while (!top_session_stale(s)) {
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
	/* As a program ends that has nobody to write to. */
	if (r == -EPIPE)
		*ret_signal = SIGPIPE;
	return errtext_set(err, r, "cannot write: %s", strerror(-r));
}

int top_batch(struct top_session *s, const struct top_options *o, struct top_capture *capture,
	      FILE *out, int *ret_signal, struct errtext *err)
{
	bool first = true;
	uint64_t written = 0;

	/* From the first interval on, or from the newest; after it none is left out. */
	s->view.pace = TOP_HOLD;
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
