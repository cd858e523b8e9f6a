/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cachemon/base/escape.h"
#include "cachemon/top/paint.h"
#include "cachemon/base/human.h"

/* Minimum height for a sparkline in the head, and rows that a table keeps next to the detail. */
enum { ROWS_WITH_SPARK = 14, TABLE_ROWS_LEAST = 2, NAME_LEAST = 10, TEXT = 256, GAP = 2 };
/* Below jobs, on a narrow screen. */
enum { FILES_LEAST = 3 };
/* Room for the id of a process and most of its command. */
enum { PROCESS_NAME_LEAST = 20 };

/* Below the files, one line in this many is for processes, at least this many, with a heading. */
enum { PROCESSES_SHARE = 3, PROCESSES_LEAST = 4 };

/* The share of a line for paths, which are longer than names of jobs. */
enum { PATH_SHARE = 3 };

/* A table: its rows, and the columns of the screen that it has. */
struct pane {
	int at, width;
	int name; /* minimum columns for a path */
	enum top_level level;
	enum top_column sort;
	bool reversed;
	const struct top_frame_row *rows;
	size_t nr_rows;
	const struct top_row *all; /* before the filter */
	size_t nr_all;
};

struct layout {
	int spark; /* line of it, or -1 */
	int heading;
	int table_rows;
	int detail, detail_rows; /* 0: none */
};

static struct layout lay_out(const struct top_view *v, const struct top_paper *paper)
{
	struct layout l = {.spark = paper->rows >= ROWS_WITH_SPARK ? 2 : -1};
	int left;

	l.heading = l.spark < 0 ? 2 : 3;
	left = paper->rows - l.heading - 1 - (paper->keys ? 1 : 0);
	if (left < 0)
		left = 0;
	if (v->detail && v->level != TOP_PROCESSES && left > TABLE_ROWS_LEAST) {
		l.detail_rows = top_detail_rows(paper->columns);
		if (l.detail_rows > left - TABLE_ROWS_LEAST)
			l.detail_rows = left - TABLE_ROWS_LEAST;
	}
	l.table_rows = left - l.detail_rows;
	l.detail = l.heading + 1 + l.table_rows;
	return l;
}

int top_paint_page(const struct top_view *v, const struct top_paper *paper)
{
	int rows = lay_out(v, paper).table_rows;

	return rows > 1 ? rows - 1 : 1;
}

/* h:mm:ss, as it can be typed to go there. */
static void show_elapsed(int64_t ns, char *ret, size_t size)
{
	int64_t s = ns / 1000000000;

	snprintf(ret, size, "%" PRId64 ":%02d:%02d", s / 3600, (int)(s / 60 % 60), (int)(s % 60));
}

static void wall_clock(const struct top_moment *m, const char *format, char *ret, size_t size)
{
	struct opt_i64 started = m->model.run.started_ns;
	int64_t ns = 0;
	time_t s;
	struct tm tm;

	*ret = '\0';
	if (!started.known || __builtin_add_overflow(started.value, top_moment_end_ns(m), &ns))
		return;
	s = (time_t)(ns / 1000000000);
	if (localtime_r(&s, &tm))
		strftime(ret, size, format, &tm);
}

static void put_title(struct top_canvas *c, const struct top_frame *f)
{
	static const char *const clocks[] = {"%Y-%m-%d %H:%M:%S  ", "%H:%M:%S  ", ""};
	const struct model_run *run = &f->moment->model.run;
	const struct top_row *job = top_moment_job(f->moment);
	char name[TEXT] = "", host[TEXT] = "", left[3 * TEXT], right[64], time[32], clock[32];
	int width, at = 0;

	if (job && job->name.data)
		escape_inert_to(name, sizeof(name), job->name.data);
	if (run->host.data)
		escape_inert_to(host, sizeof(host), run->host.data);
	snprintf(left, sizeof(left), "run %" PRId64 "  %s on %s", run->id, name, host);
	show_elapsed(top_moment_end_ns(f->moment), time, sizeof(time));
	do {
		wall_clock(f->moment, clocks[at], clock, sizeof(clock));
		snprintf(right, sizeof(right), "%s%s", clock, time);
		width = top_text_width(c, left) + 2 + (int)strlen(right);
	} while (width > c->columns && ++at < 2);
	top_put_right(c, 0, 0, c->columns, TOP_PLAIN, right);
	top_put(c, 0, 0, c->columns - (int)strlen(right) - 2, TOP_STRONG, left);
}

static enum top_look look_of(enum top_column column, struct opt_f64 v)
{
	if (!v.known)
		return TOP_FAINT;
	if (column != TOP_HITS && column != TOP_ACCURACY)
		return TOP_PLAIN;
	return v.value >= 0.9 ? TOP_GOOD : v.value >= 0.5 ? TOP_POOR : TOP_BAD;
}

/* The figures of the job, as many as fit. */
static void put_job(struct top_canvas *c, const struct top_frame *f)
{
	const struct top_row *job = top_moment_job(f->moment);
	int64_t page_size = f->moment->model.run.page_size_bytes.value;
	int at = 0;

	for (enum top_column k = TOP_HITS; job && k <= TOP_CPU; k++) {
		const struct top_column_info *info = top_column_info(k);
		struct top_figure figure =
			top_column_figure(k, job, f->moment->duration_ns, page_size);
		int wide = (int)strlen(info->heading) + 1 + (int)strlen(figure.shown.s);

		if (at + wide > c->columns)
			return;
		at += top_put(c, 1, at, c->columns - at, TOP_FAINT, info->heading) + 1;
		at += top_put(c, 1, at, c->columns - at, look_of(k, figure.value), figure.shown.s);
		at += 2;
	}
}

struct chosen_columns {
	enum top_column list[TOP_NR_COLUMNS];
	int nr;
};

/* Whether rows of this level have values in this column. */
static bool column_fits(enum top_column k, enum top_level level)
{
	if (level == TOP_PROCESSES)
		return k == TOP_WAITED || k == TOP_READ || k == TOP_WAITS || k == TOP_CALLS;
	return k < TOP_WAITS && (k != TOP_CPU || level <= TOP_JOBS);
}

/* The most important columns that leave room for the name, and always the sorted one: otherwise
 * the order of the rows would be unexplained. */
static struct chosen_columns choose_columns(const struct pane *v)
{
	int columns = v->width;
	int name = v->name;
	int room = columns - (v->level == TOP_JOBS || name < NAME_LEAST ? NAME_LEAST : name);
	struct chosen_columns chosen = {.nr = 0};
	bool full = false;

	if (v->sort != TOP_NAME)
		room -= top_column_info(v->sort)->width + 1;
	for (enum top_column k = TOP_HITS; k < TOP_NR_COLUMNS; k++) {
		int wide = top_column_info(k)->width + 1;

		if (k == v->sort) {
			chosen.list[chosen.nr++] = k;
			continue;
		}
		if (!column_fits(k, v->level))
			continue;
		/* None after a column that did not fit, because the order of columns should stay
		 * the same. */
		full = full || room < wide;
		if (full)
			continue;
		room -= wide;
		chosen.list[chosen.nr++] = k;
	}
	return chosen;
}

static bool has_rest(const struct pane *p)
{
	for (size_t i = 0; i < p->nr_all; i++)
		if (!p->all[i].id)
			return true;
	return false;
}

/* The kind of rows. If there is room, also says that an interval does not keep all files. */
static const char *heading_of(const struct pane *p, int room)
{
	static const char *const names[] = {"JOB", "JOB", "DIRECTORY", "FILE", "PROCESS"};
	static const char *const parts[][2] = {
		[TOP_RUNS] = {"JOB (the newest runs, each as a whole)", "JOB (whole runs)"},
		[TOP_DIRECTORIES] = {"DIRECTORY (those with the most misses)",
				     "DIRECTORY (top 64)"},
		[TOP_FILES] = {"FILE (those with the most misses)", "FILE (top 256)"},
		[TOP_PROCESSES] = {"PROCESS (those that waited longest)", "PROCESS (top 64)"},
	};
	bool noted = p->level == TOP_RUNS || (p->level > TOP_JOBS && p->nr_all > 1 && has_rest(p));

	for (int i = 0; noted && i < 2; i++)
		if ((int)strlen(parts[p->level][i]) <= room)
			return parts[p->level][i];
	return names[p->level];
}

static void put_heading(struct top_canvas *c, const struct pane *p, int row,
			const struct chosen_columns *chosen)
{
	const char *down = c->utf8 ? "\u25be" : "v";
	const char *up = c->utf8 ? "\u25b4" : "^";
	bool descending = top_column_info(p->sort)->worst_is_least == p->reversed;
	char text[64];
	int at = 0;

	for (int k = 0; k <= chosen->nr; k++) {
		enum top_column column = k < chosen->nr ? chosen->list[k] : TOP_NAME;
		const struct top_column_info *info = top_column_info(column);

		snprintf(text, sizeof(text), "%s%s",
			 p->sort == column ? (descending ? down : up) : "",
			 info->heading ? info->heading : heading_of(p, p->width - at - 1));
		if (column == TOP_NAME)
			top_put(c, row, p->at + at, p->width - at, TOP_HEADING, text);
		else
			top_put_right(c, row, p->at + at, info->width, TOP_HEADING, text);
		at += info->width + 1;
	}
	top_look_cells(c, row, p->at, p->width, TOP_HEADING);
}

static void put_row(struct top_canvas *c, const struct top_frame *f, const struct pane *p,
		    const struct top_frame_row *r, int row, const struct chosen_columns *chosen)
{
	int64_t page_size = f->moment->model.run.page_size_bytes.value;
	int at = p->at, end = p->at + p->width;

	for (int k = 0; k < chosen->nr; k++) {
		enum top_column column = chosen->list[k];
		struct top_figure figure =
			top_column_figure(column, r->row, f->moment->duration_ns, page_size);
		int width = top_column_info(column)->width;

		top_put_right(c, row, at, width, look_of(column, figure.value), figure.shown.s);
		at += width + 1;
	}
	/* Cuts a path at its beginning, and fixed text at its end. */
	if (p->level <= TOP_JOBS || !r->row->name.data)
		top_put(c, row, at, end - at, TOP_PLAIN, r->name);
	else
		top_put_tail(c, row, at, end - at, TOP_PLAIN, r->name);
}

static void put_pane(struct top_canvas *c, const struct top_frame *f, const struct pane *p,
		     const struct layout *l, size_t first)
{
	struct chosen_columns chosen = choose_columns(p);

	put_heading(c, p, l->heading, &chosen);
	for (int i = 0; i < l->table_rows && first + (size_t)i < p->nr_rows; i++)
		put_row(c, f, p, &p->rows[first + (size_t)i], l->heading + 1 + i, &chosen);
}

/* No line is empty, because empty lines separate the frames of --batch. */
static int lines_of(size_t nr_rows, int most)
{
	return nr_rows < (size_t)most ? (int)nr_rows : most;
}

/* Files, by the time that tasks waited for them, and below them processes, by the time that they
 * waited. */
static void put_side(struct top_canvas *c, const struct top_frame *f, const struct layout *l,
		     int at)
{
	struct layout above = *l, below = *l;
	struct pane files = {.at = at,
			     .width = c->columns - at,
			     .name = (c->columns - at) / 2,
			     .level = f->moment->files_level,
			     .sort = TOP_WAITED,
			     .rows = f->files,
			     .nr_rows = f->nr_files,
			     .all = f->moment->files,
			     .nr_all = f->moment->nr_files};
	struct pane processes = files;

	below.table_rows = l->table_rows / PROCESSES_SHARE;
	/* Without a process of its own it would repeat the job. */
	if (f->nr_processes && f->processes[0].row->id && below.table_rows >= PROCESSES_LEAST) {
		below.table_rows = lines_of(f->nr_processes, below.table_rows - 1) + 1;
		above.table_rows = lines_of(f->nr_files, l->table_rows - below.table_rows);
		below.heading += 1 + above.table_rows;
		below.table_rows--;
		processes.level = TOP_PROCESSES;
		processes.name = PROCESS_NAME_LEAST;
		processes.rows = f->processes;
		processes.nr_rows = f->nr_processes;
		processes.all = f->moment->processes;
		processes.nr_all = f->moment->nr_processes;
		put_pane(c, f, &processes, &below, 0);
	}
	put_pane(c, f, &files, &above, 0);
}

/* Why a table has no rows. */
static const char *nothing_of(const struct top_frame *f, const struct top_view *v)
{
	const struct top_row *job = top_moment_job(f->moment);

	if (!f->moment->nr_history)
		return "No interval has been recorded yet.";
	if (f->nr_filtered)
		return "No row matches the filter.";
	if (v->level != TOP_PROCESSES)
		return "Nothing was read.";
	if (!job || !counts_get(&job->counts, C_stall_ns).known)
		return "Waiting was not measured.";
	return "No process waited.";
}

static void put_table(struct top_canvas *c, const struct top_frame *f, const struct top_view *v,
		      const struct layout *l, bool with_cursor)
{
	size_t room = l->table_rows > 0 ? (size_t)l->table_rows : 0;
	size_t first = f->cursor >= room ? f->cursor + 1 - room : 0;
	struct pane main = {
		.width = c->columns,
		.name = c->columns / PATH_SHARE,
		.level = v->level,
		.sort = top_view_order(v),
		.reversed = v->reversed,
		.rows = f->rows,
		.nr_rows = f->nr_rows,
		.all = f->moment->rows,
		.nr_all = f->moment->nr_rows,
	};

	if (f->files && v->wide) {
		main.width = (c->columns - GAP) / 2;
		main.name = main.width / PATH_SHARE;
		put_side(c, f, l, main.width + GAP);
	} else if (f->files) {
		struct layout below = *l;
		int above = lines_of(f->nr_rows, l->table_rows);

		below.heading += 1 + above;
		below.table_rows -= above + 1;
		if (below.table_rows >= FILES_LEAST)
			put_side(c, f, &below, 0);
	}
	put_pane(c, f, &main, l, first);
	if (with_cursor && f->nr_rows && room)
		top_look_cells(c, l->heading + 1 + (int)(f->cursor - first), 0, main.width,
			       TOP_CHOSEN);
	if (f->nr_rows || !room)
		return;
	top_put(c, l->heading + 1, 0, main.width, TOP_FAINT, nothing_of(f, v));
}

static const char *pace_of(const struct top_view *v, const struct top_paper *paper)
{
	static const char *const names[] = {"live", "held", "playing"};

	return v->pace == TOP_FOLLOW && paper->ended ? "ended" : names[v->pace];
}

/* As many complete items as fit, separated by two spaces. */
static int whole_hints(const char *hints, int room)
{
	int length = (int)strlen(hints);

	if (length <= room)
		return length;
	for (length = room < 0 ? 0 : room; length > 0; length--)
		if (strncmp(hints + length, "  ", 2) == 0)
			return length;
	return 0;
}

static void put_last_line(struct top_canvas *c, const struct top_view *v,
			  const struct top_paper *paper)
{
	static const char hints[] =
		"? help  q quit  Tab level  Enter detail  / filter  s order  p hold  g time";
	int row = c->rows - 1;
	int room = c->columns - (int)strlen(pace_of(v, paper)) - 1;
	char text[TOP_TYPED_MAX + 32];

	top_put_right(c, row, 0, c->columns, TOP_STRONG, pace_of(v, paper));
	if (v->typing != TOP_TYPING_NONE) {
		snprintf(text, sizeof(text), "%s%s_",
			 v->typing == TOP_TYPING_FILTER ? "/" : "go to: ", v->typed);
		top_put(c, row, 0, room, TOP_STRONG, text);
	} else if (v->complaint || paper->notice) {
		top_put(c, row, 0, room, TOP_STRONG, v->complaint ? v->complaint : paper->notice);
	} else if (*v->filter) {
		snprintf(text, sizeof(text), "only: %s  (Esc: %s)", v->filter,
			 v->nr_zooms && !strcmp(v->filter, v->zooms[v->nr_zooms - 1].into) ? "back"
											   : "all");
		top_put(c, row, 0, room, TOP_PLAIN, text);
	} else {
		snprintf(text, sizeof(text), "%.*s", whole_hints(hints, room), hints);
		top_put(c, row, 0, room, TOP_FAINT, text);
	}
}

int top_paint(const struct top_frame *f, const struct top_view *v, const struct top_paper *paper,
	      struct top_canvas *ret)
{
	struct layout l = lay_out(v, paper);
	int r = top_canvas_new(paper->columns, paper->rows, paper->utf8, ret);

	if (r)
		return r;
	if (v->help) {
		top_paint_help(ret, v->help_from);
		return 0;
	}
	put_title(ret, f);
	put_job(ret, f);
	if (l.spark >= 0 && f->job)
		top_paint_spark(ret, f, TOP_MISSES, f->job, l.spark, 0, ret->columns);
	put_table(ret, f, v, &l, paper->keys);
	if (l.detail_rows)
		top_paint_detail(ret, f, l.detail, l.detail_rows);
	if (paper->keys)
		put_last_line(ret, v, paper);
	return 0;
}
