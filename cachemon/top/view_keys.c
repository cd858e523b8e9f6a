/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cachemon/base/escape.h"
#include "cachemon/top/columns.h"
#include "cachemon/top/view.h"

enum { BACKSPACE = 8, DELETE = 127, MANY_STEPS = 10 };

struct top_view top_view_new(void)
{
	return (struct top_view){
		.level = TOP_JOBS,
		.sort = TOP_MISSES,
		.pinned = TOP_NO_ROW,
		.run_id = TOP_NO_RUN,
		.at_ns = TOP_NEWEST,
	};
}

enum top_column top_view_order(const struct top_view *v)
{
	bool known = v->sort == TOP_NAME || v->sort == TOP_READ || v->sort >= TOP_WAITS;

	return v->level == TOP_PROCESSES && !known ? TOP_WAITED : v->sort;
}

bool top_view_with_files(const struct top_view *v)
{
	return v->level == TOP_JOBS || (v->wide && v->level == TOP_DIRECTORIES);
}

int64_t top_view_directory(const struct top_view *v)
{
	const struct top_zoom *z = v->nr_zooms ? &v->zooms[v->nr_zooms - 1] : NULL;

	return z && z->level == TOP_DIRECTORIES && v->level == TOP_FILES ? z->id : 0;
}

int top_view_sort(struct top_view *v, const char *name)
{
	for (enum top_column c = 0; c < TOP_NR_COLUMNS; c++) {
		if (strcmp(top_column_info(c)->option, name) != 0)
			continue;
		v->sort = c;
		v->reversed = false;
		return 0;
	}
	return -EINVAL;
}

static void choose_row(struct top_view *v, const struct top_around *around, size_t cursor)
{
	if (!around->nr_rows)
		return;
	v->cursor = cursor < around->nr_rows ? cursor : around->nr_rows - 1;
	/* The next frame finds the id of that row. */
	if (v->detail && v->cursor != around->cursor)
		v->pinned = TOP_NO_ROW;
}

static void show_level(struct top_view *v, enum top_level level)
{
	v->level = level;
	v->cursor = 0;
	v->pinned = TOP_NO_ROW;
}

/* A whole level: shows again what a zoom left out. */
static void change_level(struct top_view *v, enum top_level level)
{
	if (v->level == level)
		return;
	if (v->nr_zooms)
		strcpy(v->filter, v->zooms[0].filter);
	v->nr_zooms = 0;
	show_level(v, level);
}

static void follow_newest(struct top_view *v)
{
	v->pace = TOP_FOLLOW;
	v->at_ns = TOP_NEWEST;
	v->steps = 0;
}

/* Another run shows its newest moment, because this run's moments have no meaning there. */
static void go_to_run(struct top_view *v, int64_t run_id)
{
	follow_newest(v);
	v->run_id = run_id;
}

/* The content of the selected row: a job's directories, a directory's files. */
static void zoom_in(struct top_view *v, const struct top_around *around)
{
	bool directory = v->level == TOP_DIRECTORIES;
	struct top_zoom *z;

	if (v->level >= TOP_FILES || !around->cursor_name)
		return;
	if (directory && strlen(around->cursor_name) + 1 > TOP_TYPED_MAX) {
		v->complaint = "the name is too long to filter by";
		return;
	}
	z = &v->zooms[v->nr_zooms++];
	*z = (struct top_zoom){.level = v->level,
			       .run_id = around->run_id,
			       .id = around->cursor_id,
			       .cursor = around->cursor};
	strcpy(z->filter, v->filter);
	if (directory)
		snprintf(z->into, sizeof(z->into), "%s/", around->cursor_name);
	strcpy(v->filter, z->into);
	if (v->level == TOP_RUNS)
		go_to_run(v, around->cursor_run_id);
	show_level(v, v->level < TOP_DIRECTORIES ? TOP_DIRECTORIES : TOP_FILES);
}

static void zoom_out(struct top_view *v)
{
	const struct top_zoom *z;

	if (!v->nr_zooms)
		return;
	z = &v->zooms[--v->nr_zooms];
	if (z->level == TOP_RUNS)
		go_to_run(v, z->run_id);
	show_level(v, z->level);
	v->cursor = z->cursor;
	strcpy(v->filter, z->filter);
}

/* The name of the zoomed row, or none. */
static const char *filter_without_typing(const struct top_view *v)
{
	return v->nr_zooms ? v->zooms[v->nr_zooms - 1].into : "";
}

/* Closes the last thing that was opened: a detail or a filter, else a zoom. */
static void leave_one(struct top_view *v)
{
	const char *before = filter_without_typing(v);

	if (!v->detail && !strcmp(v->filter, before)) {
		zoom_out(v);
		return;
	}
	strcpy(v->filter, before);
	v->detail = false;
	v->pinned = TOP_NO_ROW;
}

static void hold_moment(struct top_view *v, const struct top_around *around, int steps)
{
	v->pace = TOP_HOLD;
	v->at_ns = around->begin_ns;
	v->steps += steps;
}

static void hold_or_go_on(struct top_view *v, const struct top_around *around)
{
	if (v->pace != TOP_HOLD)
		hold_moment(v, around, 0);
	else if (around->replay)
		v->pace = TOP_PLAY;
	else
		follow_newest(v);
}

static void begin_typing(struct top_view *v, enum top_typing what)
{
	v->typing = what;
	strcpy(v->typed, what == TOP_TYPING_FILTER ? v->filter : "");
}

static void typed_time(struct top_view *v, const struct top_around *around)
{
	int64_t at_ns = 0;

	if (!*v->typed)
		return;
	if (top_view_time(v->typed, around, &at_ns)) {
		v->complaint = "give a time such as 90, 2m, 1:05:00, +30, -2m or @14:05";
		return;
	}
	v->pace = TOP_HOLD;
	v->at_ns = at_ns;
	v->steps = 0;
}

static void end_typing(struct top_view *v, bool taken, const struct top_around *around)
{
	if (v->typing == TOP_TYPING_TIME && taken)
		typed_time(v, around);
	if (v->typing == TOP_TYPING_FILTER && !taken)
		strcpy(v->filter, filter_without_typing(v));
	v->typing = TOP_TYPING_NONE;
}

/* The last character, which may be of several bytes. */
static void rub_out(char *text)
{
	size_t n = strlen(text);

	while (n && ((unsigned char)text[n - 1] & 0xc0) == 0x80)
		n--;
	text[n ? n - 1 : 0] = '\0';
}

static void append_character(char *text, uint32_t cp)
{
	size_t n = strlen(text);
	char utf8[5];

	escape_encode(cp, utf8);
	if (n + strlen(utf8) <= TOP_TYPED_MAX)
		strcpy(text + n, utf8);
}

static void type_key(struct top_view *v, uint32_t key, const struct top_around *around)
{
	switch (key) {
	case TOP_KEY_ENTER:
		end_typing(v, true, around);
		return;
	case TOP_KEY_ESCAPE:
		end_typing(v, false, around);
		return;
	case TOP_KEY_BACKSPACE:
	case BACKSPACE:
	case DELETE:
		rub_out(v->typed);
		break;
	default:
		if (key < 0x20 || key >= TOP_KEY_UP)
			return;
		append_character(v->typed, key);
	}
	/* Input is applied while it is typed. */
	if (v->typing == TOP_TYPING_FILTER) {
		strcpy(v->filter, v->typed);
		v->cursor = 0;
		v->pinned = TOP_NO_ROW;
	}
}

static bool move_cursor(struct top_view *v, uint32_t key, const struct top_around *a)
{
	size_t page = a->page ? a->page : 1;

	switch (key) {
	case TOP_KEY_UP:
	case 'k':
		choose_row(v, a, a->cursor ? a->cursor - 1 : 0);
		return true;
	case TOP_KEY_DOWN:
	case 'j':
		choose_row(v, a, a->cursor + 1);
		return true;
	case TOP_KEY_PAGE_UP:
		choose_row(v, a, a->cursor > page ? a->cursor - page : 0);
		return true;
	case TOP_KEY_PAGE_DOWN:
		choose_row(v, a, a->cursor + page);
		return true;
	case TOP_KEY_HOME:
		choose_row(v, a, 0);
		return true;
	case TOP_KEY_END:
		choose_row(v, a, SIZE_MAX);
		return true;
	default:
		return false;
	}
}

static bool go_in_time(struct top_view *v, uint32_t key, const struct top_around *a)
{
	switch (key) {
	case TOP_KEY_LEFT:
		hold_moment(v, a, -1);
		return true;
	case TOP_KEY_RIGHT:
		hold_moment(v, a, 1);
		return true;
	case '[':
		hold_moment(v, a, -MANY_STEPS);
		return true;
	case ']':
		hold_moment(v, a, MANY_STEPS);
		return true;
	case 'p':
	case ' ':
		hold_or_go_on(v, a);
		return true;
	case 'l':
		follow_newest(v);
		return true;
	case 'm':
		hold_moment(v, a, 0);
		v->worst = true;
		return true;
	case '{':
	case '}':
		follow_newest(v);
		v->run_steps += key == '}' ? 1 : -1;
		return true;
	case 'g':
		begin_typing(v, TOP_TYPING_TIME);
		return true;
	default:
		return false;
	}
}

static void sort_by(struct top_view *v, int step)
{
	v->sort = (enum top_column)((v->sort + TOP_NR_COLUMNS + step) % TOP_NR_COLUMNS);
	v->reversed = false;
}

static void change_table(struct top_view *v, uint32_t key, const struct top_around *a)
{
	switch (key) {
	case TOP_KEY_TAB:
		change_level(v, (v->level + 1) % TOP_NR_LEVELS);
		break;
	case TOP_KEY_BACK_TAB:
		change_level(v, (v->level + TOP_NR_LEVELS - 1) % TOP_NR_LEVELS);
		break;
	case '0':
	case '1':
	case '2':
	case '3':
	case '4':
		change_level(v, (enum top_level)(key - '0'));
		break;
	case '<':
		sort_by(v, -1);
		break;
	case '>':
	case 's':
		sort_by(v, 1);
		break;
	case 'r':
		v->reversed = !v->reversed;
		break;
	case '/':
		begin_typing(v, TOP_TYPING_FILTER);
		break;
	case TOP_KEY_ENTER:
		if (v->level == TOP_PROCESSES) {
			v->complaint =
				"a process has no detail: only its waits and reads are recorded";
			break;
		}
		v->detail = !v->detail;
		v->pinned = v->detail ? a->cursor_id : TOP_NO_ROW;
		v->cursor = a->cursor;
		break;
	case 'z':
		zoom_in(v, a);
		break;
	case TOP_KEY_ESCAPE:
		leave_one(v);
		break;
	case TOP_KEY_BACKSPACE:
	case BACKSPACE:
	case DELETE:
		zoom_out(v);
		break;
	case '?':
	case 'h':
		v->help = true;
		v->help_from = 0;
		break;
	default:
		break;
	}
}

/* Any key closes it, except those that scroll in it if it is longer than the screen. */
static void read_help(struct top_view *v, uint32_t key, const struct top_around *a)
{
	if ((key == TOP_KEY_DOWN || key == TOP_KEY_PAGE_DOWN) && a->help_end)
		v->help_from += v->help_from < a->help_end;
	else if ((key == TOP_KEY_UP || key == TOP_KEY_PAGE_UP) && a->help_end)
		v->help_from -= v->help_from > 0;
	else
		v->help = false;
}

bool top_view_key(struct top_view *v, uint32_t key, const struct top_around *around)
{
	if (key == TOP_KEY_NONE || key == TOP_KEY_RESIZE)
		return false;
	v->complaint = NULL;
	if (v->typing != TOP_TYPING_NONE) {
		type_key(v, key, around);
		return false;
	}
	if (v->help) {
		read_help(v, key, around);
		return false;
	}
	if (key == 'q')
		return true;
	if (!move_cursor(v, key, around) && !go_in_time(v, key, around))
		change_table(v, key, around);
	return false;
}
