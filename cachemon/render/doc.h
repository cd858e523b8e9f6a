/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A document for people, described once and written as plain text, Markdown or HTML: parts,
 * headings, paragraphs, tables, pictures. All texts given here may contain foreign names and are
 * escaped.
 */
#ifndef RENDER_DOC_H
#define RENDER_DOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "cachemon/render/picture.h"
#include "cachemon/base/arena.h"

enum doc_align {
	DOC_LEFT,
	DOC_RIGHT,
	DOC_WRAP,     /* text that may wrap; last column only */
	DOC_BAR,      /* a share, "0.25", drawn as a bar */
	DOC_LINK,     /* a link: relative target of letters, digits, '-', '.'; a blank; its text */
	DOC_OWN_LINE, /* plain text on its own line above the row's figures; first column only */
};

struct doc_column {
	const char *name;
	enum doc_align align;
};

struct doc_table {
	const char *caption;
	const struct doc_column *columns;
	size_t nr_columns;
	char **cells; /* row by row */
	size_t nr_cells, room;
	bool things; /* rows are items of one kind, which a reader may sort */
	bool failed;
};

/* A part of a document: id: letters and '-', unique. */
struct doc_entry {
	const char *id, *title;
};

/* A grade: a letter on a page. */
struct doc_grade {
	const char *name;   /* "prefetch" */
	const char *letter; /* NULL: no grade */
	const char *score;  /* "0.84" */
	const char *how;    /* the formula with its numbers, or the reason for no grade */
};

/* A fix. Evidence and actions come between its begin and its end. */
struct doc_card {
	const char *id;	      /* id of the finding: letters and '-' */
	const char *severity; /* "high" */
	const char *title, *subject;
	const char *gain, *gain_range; /* "about 4.2 s (model)", "2.8 to 6.3 s" or NULL */
	const char *text;
};

/* A value per part of something with equal parts, 0 to 1; NAN: unknown. */
struct doc_strip {
	const char *name; /* "read" */
	enum tone tone;
	const double *shares;
	size_t nr;
	const char *mark; /* mark of all its shares, as for a series */
};

/* Strips of one file, all with the same parts. */
struct doc_map {
	const char *name, *says;
	const struct doc_strip *strips;
	size_t nr_strips;
};

/*
 * Flows between the names of two sides, which a page draws as streams as wide as the amount. Text
 * and Markdown show nothing, because a table of the amounts follows.
 */
/* Maximum names of a side; the last one stands for the others. */
enum { FLOW_NAMES = 7 };

struct doc_stream {
	size_t from, to; /* indexes in names[0] and names[1] */
	enum tone tone;
	double amount; /* above 0 */
};

struct doc_flow {
	const char *title, *says;
	const char *names[2][FLOW_NAMES];
	size_t nr_names[2];
	const struct doc_stream *streams;
	size_t nr;
};

struct doc_ops;

struct doc {
	const struct doc_ops *ops;
	FILE *out;
	FILE *looks_like; /* its width and characters are used; NULL: those of out */
	bool plain_text;  /* follows the locale everywhere; other formats only on a terminal */
	FILE *terminal;	  /* the ASCII-only stream that out leads to; NULL: out is the last one */
	void *state;	  /* private to the renderer */
	long *step_ends;  /* texts set the position after each step here; NULL: nobody needs it */
	bool failed;
};

struct doc doc_text(FILE *out);
/* Text with as few lines as possible: no rule under a title, a blank line only between blocks of
 * different kinds. */
struct doc doc_screen(FILE *out);
struct doc doc_markdown(FILE *out);
struct doc doc_html(FILE *out);

void doc_begin(struct doc *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The parts that follow, for a page's navigation. */
void doc_put_contents(struct doc *d, const struct doc_entry *entries, size_t nr);
/* A part, under a heading of level 2. folded: closed on a page until the reader opens it. */
void doc_part_begin(struct doc *d, const char *id, bool folded, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void doc_part_end(struct doc *d);
/* Details that the reader may open. */
void doc_fold_begin(struct doc *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void doc_fold_end(struct doc *d);
/* Two blocks for comparison, each with its title: in two columns on a wide page, else one below
 * the other. */
void doc_pair_begin(struct doc *d, const char *title);
void doc_pair_next(struct doc *d, const char *title);
void doc_pair_end(struct doc *d);
void doc_heading(struct doc *d, int level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void doc_para(struct doc *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Takes the text from text_end(): NULL is -ENOMEM. An empty text makes no paragraph. */
void doc_para_text(struct doc *d, char *text);
/* A paragraph of a note: as in Markdown, code is between backticks. */
void doc_words(struct doc *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Verbatim lines of a program or a shell. */
void doc_code(struct doc *d, const char *language, const char *text);
struct doc_table doc_table(const char *caption, const struct doc_column *columns,
			   size_t nr_columns);
/* The columns are an array. */
#define DOC_TABLE(caption, columns)                                                                \
	doc_table((caption), (columns), sizeof(columns) / sizeof((columns)[0]))
void doc_cell(struct doc_table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void doc_cell_shown(struct doc_table *t, struct shown value);
/* Takes the text from text_end(): NULL is -ENOMEM. */
void doc_cell_text(struct doc_table *t, char *text);
/* A name from the database; absent if it has none. */
void doc_cell_name(struct doc_table *t, const struct bytes *name, const char *absent);
/* Writes the table, unless it is empty, and frees it. */
void doc_put_table(struct doc *d, struct doc_table *t);
/* The same, for a table of two columns: a name and its description. */
void doc_put_facts(struct doc *d, struct doc_table *t);
/* The same, as an ordered list of actions under the caption; columns: title, id, gain, text. */
void doc_put_steps(struct doc *d, struct doc_table *t);
/* The number of bytes so far, all flushed, in an output that has positions. */
long doc_position(struct doc *d);
/* The first grade is the overall one. */
void doc_put_grades(struct doc *d, const struct doc_grade *grades, size_t nr);
void doc_card_begin(struct doc *d, const struct doc_card *card);
void doc_card_end(struct doc *d);
void doc_put_map(struct doc *d, const struct doc_map *map);
/* Writes nothing without a stream. */
void doc_put_flow(struct doc *d, const struct doc_flow *flow);
/* Writes nothing without a point. */
void doc_put_picture(struct doc *d, const struct picture *p);
/* 0 or -errno; must always be called. */
int doc_end(struct doc *d);

#endif
