/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "cachemon/base/terminal.h"
#include "cachemon/cmd/watch_view.h"
#include "cachemon/base/human.h"

/* Columns from which on the elapsed time and spaces have room. */
enum { WIDE = 104 };

/* What CMD writes to the same terminal does not stick to the line, where there is room. Nor must
 * the ^C of a terminal that shows it wrap the line: without room after the line it goes over its
 * beginning, as the figures of an estimate need all of the usual 80 columns. */
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

/* A field that has no room is left out, and all after it. */
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

/* One line, rewritten in place and never wrapped; '~' marks an estimate, '-' what is not known.
 * Fields keep their places while the figures change. */
void watch_live_show(FILE *out, const struct watch_figures *f)
{
	const char *mark = f->estimated ? "~" : "";
	size_t columns = terminal_columns(out);
	struct line l = {.wide = columns >= WIDE};

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
	/* Before what a narrow terminal has no room for. */
	if (f->over_budget)
		put_share(&l, "over budget", f->own_share, "");
	put_share(&l, "prefetch", f->prefetch_accuracy, "");
	put_rate(&l, "evict", f->evictions_per_s, "");
	if (!f->over_budget)
		put_share(&l, "own", f->own_share, "");
	while (l.length && l.text[l.length - 1] == ' ')
		l.text[--l.length] = 0;
	fprintf(out, "\r\033[K%s%s", l.text, after_line(&l));
	fflush(out);
}

void watch_live_note(FILE *out, const char *text)
{
	fprintf(out, "\r\033[K%.*s", (int)(terminal_columns(out) - 1), text);
	fflush(out);
}

void watch_live_clear(FILE *out)
{
	terminal_clear_line(out);
}
