/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cachemon/access/access.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/base/clock.h"
#include "cachemon/cmd/cmd.h"
#include "cachemon/cmd/usage.h"
#include "cachemon/watch/marks.h"

enum { OPT_NO_WAIT = 256 };

struct options {
	const char *text;
	bool no_wait;
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case OPT_NO_WAIT:
		o->no_wait = true;
		return 0;
	case ARGP_KEY_ARG:
		if (o->text)
			usage_error(state, "give only one text, in quotes: \"epoch 3\"");
		if (!*arg || strchr(arg, '\n') || strlen(arg) > MARK_TEXT_MAX)
			usage_error(state, "the text of a mark must be one line of 1 to %d bytes",
				    MARK_TEXT_MAX);
		o->text = arg;
		return 0;
	case ARGP_KEY_END:
		if (!o->text)
			usage_error(state, "the text is missing, as in: cachemon mark \"epoch 3\"");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct option_spec options[] = {
	OPTION("no-wait", OPT_NO_WAIT, NULL, VALUE_NONE,
	       "Return without waiting; what the job does meanwhile may be counted on either side "
	       "of the mark"),
	OPTIONS_END,
};

static const struct example examples[] = {
	{"cachemon mark \"epoch 3\"",
	 "Mark the start of epoch 3, in a script that cachemon watches"},
	{0},
};

const struct verb_spec mark_spec = {
	.name = "mark",
	.help = "mark a moment of the running job, such as the start of an epoch",
	.operands = "TEXT",
	.operand = VALUE_TEXT,
	.examples = examples,
	.options = options,
	.notes = "Call it from a command that 'cachemon watch -- CMD' runs. The report has a table "
		 "with a row for the time between two marks, and its charts have a line at each "
		 "mark.\n\nA program can also write the text and a newline to the FIFO that "
		 "$" MARKS_VARIABLE
		 " names. If it does not wait until the FIFO is empty, what it does next "
		 "may be counted before the mark, and the report gives the largest delay; "
		 "examples/cachemon_marks.py waits. A run keeps 4,096 marks; later ones are only "
		 "counted.",
	.run = cmd_mark,
};

/* Waits until a sample was taken for the mark. The mark is recorded in any case, so that a
 * script with 'set -e' continues. */
static void wait_taken(int fd)
{
	uint64_t end = clock_now_ns() + MARK_WAIT_NS;
	int left = 0;

	do {
		if (ioctl(fd, FIONREAD, &left) || !left)
			return;
		poll(NULL, 0, 1);
	} while (clock_now_ns() < end);
	cmd_say("cachemon watch did not read the mark within a second: what the command does next "
		"may be counted before the mark");
}

static int send_mark(const char *path, const struct options *o)
{
	_cleanup_close_ int fd = access_open(AT_FDCWD, path, O_RDWR | O_NONBLOCK, 0, ACCESS_STREAM);
	char line[MARK_TEXT_MAX + 3];
	int n = snprintf(line, sizeof(line), "%s%s\n",
			 o->no_wait ? "" : (const char[]){MARK_ASKS, '\0'}, o->text);

	if (fd < 0)
		return fd;
	/* At most PIPE_BUF bytes, so that the write is atomic. */
	if (write(fd, line, (size_t)n) < 0)
		return -errno;
	if (!o->no_wait)
		wait_taken(fd);
	return 0;
}

int cmd_mark(int argc, char **argv)
{
	const char *path = getenv(MARKS_VARIABLE);
	struct options o = {.text = NULL};
	int r;

	usage_parse(&mark_spec, parse_option, argc, argv, 0, &o);
	if (!path || !*path) {
		cmd_say("no run to mark: $" MARKS_VARIABLE
			" is not set. Call 'cachemon mark' from a "
			"command that 'cachemon watch -- CMD' runs");
		return EXIT_FAILED;
	}
	r = send_mark(path, &o);
	if (!r)
		return EXIT_DONE;
	if (r == -ENOENT)
		cmd_say("the run has ended: the FIFO that $" MARKS_VARIABLE " names is gone");
	else if (r == -EAGAIN)
		cmd_say("the FIFO that $" MARKS_VARIABLE " names is full: cachemon watch does not "
			"read it");
	else
		fprintf(stderr, "cachemon: cannot write to the FIFO that $%s names: %s\n",
			MARKS_VARIABLE, access_strerror(r));
	return EXIT_FAILED;
}
