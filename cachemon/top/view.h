/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The viewer's choices: level, order, filter, row, moment. Owns this state and the function that a
 * key applies to it. Independent of terminal and database.
 */
#ifndef TOP_VIEW_H
#define TOP_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* TOP_RUNS: the jobs of all runs, each over its whole run. */
enum top_level {
	TOP_RUNS,
	TOP_JOBS,
	TOP_DIRECTORIES,
	TOP_FILES,
	TOP_PROCESSES, /* of the job, by waiting time; their only other figure is reads */
	TOP_NR_LEVELS
};

enum top_column {
	TOP_NAME,
	TOP_HITS,
	TOP_MISSES,
	TOP_LOOKUPS,
	TOP_WAITED,
	TOP_PREFETCHED,
	TOP_EVICTED,
	TOP_ACCURACY,
	TOP_WASTED,
	TOP_READ,
	TOP_REFAULTS,
	TOP_CPU,
	TOP_WAITS,
	TOP_CALLS,
	TOP_NR_COLUMNS
};

/* Which moment is shown: always the newest, a fixed one, or one after the other. */
enum top_pace { TOP_FOLLOW, TOP_HOLD, TOP_PLAY };

enum top_typing { TOP_TYPING_NONE, TOP_TYPING_FILTER, TOP_TYPING_TIME };

enum { TOP_TYPED_MAX = 255, TOP_NEWEST = -1, TOP_NO_ROW = -1, TOP_NO_RUN = -1 };

/* The zoomed item and where it was: going back restores the same rows. */
struct top_zoom {
	enum top_level level;
	int64_t run_id;
	int64_t id; /* of the item */
	size_t cursor;
	char filter[TOP_TYPED_MAX + 1]; /* before it */
	char into[TOP_TYPED_MAX + 1];	/* filter set by it */
};

struct top_view {
	struct top_zoom zooms[TOP_NR_LEVELS - 1]; /* the last one innermost */
	int nr_zooms;
	enum top_level level;
	enum top_column sort;
	bool reversed;
	char filter[TOP_TYPED_MAX + 1];
	size_t cursor;	/* the selected row, by place; unlimited, frames limit it */
	int64_t pinned; /* the selected row, by id, while its detail is shown; else TOP_NO_ROW */
	bool detail, help;
	bool wide; /* there is room for files next to jobs or directories; else they are below jobs
		    */
	size_t help_from; /* the first line of the help that is shown */
	enum top_pace pace;
	int64_t at_ns;	/* the moment: the newest that begins by then; or TOP_NEWEST */
	int steps;	/* intervals still to move, forward or back */
	int64_t run_id; /* run to move to; or TOP_NO_RUN */
	int run_steps;	/* runs still to move, forward or back */
	bool worst;	/* still to move to the moment with the most misses */
	enum top_typing typing;
	char typed[TOP_TYPED_MAX + 1];
	const char *complaint; /* about the input; NULL: none */
};

/* The state in which a key is pressed. */
struct top_around {
	size_t nr_rows, cursor, page;
	size_t help_end;	       /* the last line at which the help may start; 0: all of it is
					* visible */
	int64_t cursor_id;	       /* TOP_NO_ROW: no row */
	const char *cursor_name;       /* as displayed; NULL: no row */
	int64_t run_id, cursor_run_id; /* the displayed run; the run of the row, or TOP_NO_RUN */
	int64_t begin_ns;	       /* where the moment begins */
	int64_t started_ns;	       /* wall-clock time of the start; 0: unknown */
	bool replay; /* no new data will come: a held view continues as a replay */
};

/* Characters are themselves (code points); the others are beyond Unicode. */
enum top_key {
	TOP_KEY_NONE,
	TOP_KEY_TAB = '\t',
	TOP_KEY_ENTER = '\n',
	TOP_KEY_ESCAPE = 27,
	TOP_KEY_UP = 0x110000,
	TOP_KEY_DOWN,
	TOP_KEY_LEFT,
	TOP_KEY_RIGHT,
	TOP_KEY_PAGE_UP,
	TOP_KEY_PAGE_DOWN,
	TOP_KEY_HOME,
	TOP_KEY_END,
	TOP_KEY_BACKSPACE,
	TOP_KEY_BACK_TAB,
	TOP_KEY_RESIZE
};

struct top_view top_view_new(void);
/* The column that orders the rows: processes have few. */
enum top_column top_view_order(const struct top_view *v);
/* Files and processes are shown with the rows of this level, sorted by waiting time. */
bool top_view_with_files(const struct top_view *v);
/* The directory that was zoomed into; 0: none. */
int64_t top_view_directory(const struct top_view *v);
/* Whether the viewer wants to leave. */
bool top_view_key(struct top_view *v, uint32_t key, const struct top_around *around);
/* A name of a column, as for --sort; -EINVAL. */
int top_view_sort(struct top_view *v, const char *name);
/* A time since the start: "90", "1500ms", "2m", "1:05:00"; relative to the moment: "+30", "-2m";
 * by the clock, on the day of the moment: "@14:05", "@14:05:30". -EINVAL. */
int top_view_time(const char *text, const struct top_around *around, int64_t *ret_ns);

#endif
