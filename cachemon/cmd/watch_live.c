/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cachemon/base/terminal.h"
#include "cachemon/cmd/watch_view.h"
#include "cachemon/base/human.h"
#include "cachemon/base/process.h"

/* Minimum columns for the elapsed time and spaces. */
enum { WIDE = 104 };

/* A terminal that shows ^C must not wrap the line: if there is no room after the line, ^C goes
 * over its beginning, because the figures of an estimate need all of the usual 80 columns. */
#define APART "  "
#define BACK  "\r"

struct line {
	char text[256];
	size_t length, room;
	bool wide, full;
};

bool watch_live_possible(FILE *out)
{
	return terminal_rewrites(out);
}

/* Leaves out a field that does not fit, and all fields after it. */
static void put_field(struct line *l, const char *name, const char *value, int width)
{
	char field[80];
	int n = snprintf(field, sizeof(field), "%s%s%-*s", name, *name ? " " : "", width, value);
	size_t gap = !l->length ? 0 : l->wide ? 2 : 1;

	if (l->full || l->length + gap + (size_t)n > l->room) {
		l->full = true;
		return;
	}
	memset(l->text + l->length, ' ', gap);
	memcpy(l->text + l->length + gap, field, (size_t)n + 1);
	l->length += gap + (size_t)n;
}

static void put_share(struct line *l, const char *name, double share, const char *mark)
{
	const char *percent = l->wide ? " %" : "%";
	char value[24];

	if (share < 0)
		snprintf(value, sizeof(value), "-");
	else
		snprintf(value, sizeof(value), "%s%.*f%s", mark, share < 0.9995, share * 100,
			 percent);
	put_field(l, name, value, (l->wide ? 6 : 5) + (int)strlen(mark));
}

static bool over_budget(const struct watch_figures *f)
{
	return f->budget >= 0 && f->own_share > f->budget;
}

/* A share over the budget names the budget: "cost 14.9% (budget 5%)". */
static void put_cost(struct line *l, const struct watch_figures *f)
{
	const char *percent = l->wide ? " %" : "%";
	char value[48] = "-";
	int n = 0;

	if (f->own_share >= 0)
		n = snprintf(value, sizeof(value), "%.*f%s", f->own_share < 0.9995,
			     f->own_share * 100, percent);
	if (over_budget(f))
		snprintf(value + n, sizeof(value) - (size_t)n, " (budget %g%s)", f->budget * 100,
			 percent);
	put_field(l, "cost", value, l->wide ? 6 : 4);
}

static void put_rate(struct line *l, const char *name, double rate, const char *mark)
{
	char value[40];

	if (rate < 0)
		snprintf(value, sizeof(value), "-");
	else
		snprintf(value, sizeof(value), "%s%s/s", mark, human_count((uint64_t)rate).text);
	put_field(l, name, value, 7 + (int)strlen(mark));
}

static const char *after_line(const struct line *l)
{
	size_t with_c = l->length + strlen("^C");

	if (with_c + strlen(APART) <= l->room)
		return APART;
	return with_c <= l->room ? "" : BACK;
}

/*
 * The last row of a terminal that CMD writes to. The rows above it are a scrolling region
 * (DECSTBM), so that CMD's output and the line do not overwrite each other. CMD's cursor stays in
 * the region: each update saves and restores it (DECSC, DECRC) in one write(2), which the terminal
 * does not mix with CMD's.
 */
#define SAVE	"\0337"
#define RESTORE "\0338"
/* Moves down one row, which scrolls at the bottom, and back, so that the last row is free. */
#define DOWN "\033D"
#define UP   "\033[A"

/* All rows scroll again; the old line remains below CMD's cursor. */
#define FORGET SAVE "\033[r" RESTORE "\033[J"

enum { ROWS_LEAST = 4, APART_BYTES = 512 };

/* The last row is an ordinary one again. */
static int print_end(char *text, size_t size, unsigned int rows)
{
	return snprintf(text, size, SAVE "\033[r\033[%u;1H\033[0m\033[K" RESTORE, rows);
}

/*
 * A process that restores the terminal after the watch ends, even if it was killed or crashed. It
 * blocks the signals that end a watch.
 */
static void __attribute__((noreturn)) become_keeper(int from, int to, unsigned int rows)
{
	const int fds[] = {from, to};
	char text[APART_BYTES];
	ssize_t n;

	/* Closes the rest, because open probes would outlive the watch. */
	if (process_keep_only(fds, 2))
		_exit(1);
	/* The shell has the terminal by then. */
	signal(SIGTTOU, SIG_IGN);
	do
		n = read(0, text, 1);
	while (n < 0 && errno == EINTR);
	to = print_end(text, sizeof(text), rows);
	n = write(1, text, (size_t)to);
	_exit(n != to);
}

/* Without this process, a killed watch would leave the region. */
static void begin_keeper(FILE *out, struct watch_place *p)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return;
	p->keeper = fork();
	if (!p->keeper)
		become_keeper(ends[0], fileno(out), p->rows);
	close(ends[0]);
	p->alive = ends[1];
	if (p->keeper < 0) {
		p->keeper = 0;
		close(p->alive);
	}
}

/* The terminal now belongs to another job. */
static void end_keeper(struct watch_place *p)
{
	if (!p->keeper)
		return;
	kill(p->keeper, SIGKILL);
	while (waitpid(p->keeper, NULL, 0) < 0 && errno == EINTR)
		;
	close(p->alive);
	p->keeper = 0;
}

static void put_apart(FILE *out, struct watch_place *p, unsigned int rows, const char *text)
{
	char all[APART_BYTES];
	int n = 0;

	/* Another job may have set or reset the region. */
	if (p->rows && (p->lost || p->rows != rows))
		n = snprintf(all, sizeof(all), FORGET);
	if (p->lost || p->rows != rows)
		n += snprintf(all + n, sizeof(all) - (size_t)n, DOWN SAVE "\033[1;%ur" RESTORE UP,
			      rows - 1);
	n += snprintf(all + n, sizeof(all) - (size_t)n, SAVE "\033[%u;1H\033[0m\033[K%s" RESTORE,
		      rows, text);
	/* The process only knows the row from its start. */
	if (p->rows != rows)
		end_keeper(p);
	p->rows = rows;
	p->lost = false;
	fwrite(all, 1, (size_t)n, out);
	fflush(out);
	if (!p->keeper)
		begin_keeper(out, p);
}

/* One line, never wrapped; '~' marks an estimate, '-' an unknown value. Fields keep their
 * positions while the figures change. */
void watch_live_show(FILE *out, struct watch_place *place, const struct watch_figures *f)
{
	const char *mark = f->estimated ? "~" : "";
	size_t columns = terminal_columns(out), real = columns, rows = 0;
	struct line l = {.length = 0};

	if (terminal_in_background(out)) {
		place->lost = true;
		end_keeper(place);
		return;
	}
	if (place->shared && terminal_size(out, &real, &rows) && real < columns)
		columns = real;
	l.wide = columns >= WIDE;
	/* The last column stays free: some terminals wrap when it is written. */
	l.room = columns - 1 < sizeof(l.text) ? columns - 1 : sizeof(l.text) - 1;
	if (l.wide)
		put_field(&l, "", human_duration(f->elapsed_ns / 1000000000 * 1000000000).text, 6);
	if (f->mapped) {
		put_rate(&l, "major faults", f->major_faults_per_s, "");
		put_share(&l, "waiting", f->waiting, "");
	} else {
		put_share(&l, "hit", f->hit_ratio, mark);
		put_rate(&l, "lookups", f->lookups_per_s, mark);
		put_rate(&l, "miss", f->misses_per_s, "");
	}
	/* Comes before fields that a narrow terminal has no room for. */
	if (over_budget(f))
		put_cost(&l, f);
	put_share(&l, "prefetch", f->prefetch_accuracy, "");
	put_rate(&l, "evict", f->evictions_per_s, "");
	if (!over_budget(f))
		put_cost(&l, f);
	while (l.length && l.text[l.length - 1] == ' ')
		l.text[--l.length] = 0;
	if (rows >= ROWS_LEAST) {
		put_apart(out, place, (unsigned int)rows, l.text);
		return;
	}
	place->lost = false;
	fprintf(out, "\r\033[K%s%s", l.text, after_line(&l));
	fflush(out);
}

void watch_live_note(FILE *out, const char *text)
{
	if (terminal_in_background(out))
		return;
	fprintf(out, "\r\033[K%.*s", (int)(terminal_columns(out) - 1), text);
	fflush(out);
}

/* Moves the cursor to the left: otherwise the blanks would reach the next row. */
static void begin_row(FILE *out)
{
	size_t columns = 0, rows = 0;

	if (terminal_size(out, &columns, &rows))
		fprintf(out, "%*s\r\033[K", (int)columns, "");
	fflush(out);
}

void watch_live_clear(FILE *out, struct watch_place *place)
{
	char text[APART_BYTES];

	end_keeper(place);
	if (terminal_in_background(out))
		return;
	if (!place->rows) {
		/* Nothing has been written since another shell job used the terminal. */
		if (!place->lost)
			terminal_clear_line(out);
		return;
	}
	if (place->lost) {
		fputs(FORGET, out);
	} else {
		print_end(text, sizeof(text), place->rows);
		fputs(text, out);
	}
	begin_row(out);
	place->rows = 0;
}
