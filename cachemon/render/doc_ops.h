/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interface between a document and its renderers for text, Markdown and HTML. Owns the table of
 * a renderer's functions and what renderers share. All functions are in doc_ops.c.
 */
#ifndef RENDER_DOC_OPS_H
#define RENDER_DOC_OPS_H

#include "cachemon/render/doc.h"

/* A renderer gets inert text (escape.h) and adds the escapes of its own markup. */
struct doc_ops {
	void (*begin)(struct doc *d, const char *title);
	void (*heading)(struct doc *d, int level, const char *text);
	void (*para)(struct doc *d, const char *text);
	/* A paragraph with code between backticks. */
	void (*words)(struct doc *d, const char *text);
	/* Lines, each ended; language may be NULL. */
	void (*code)(struct doc *d, const char *language, const char *text);
	void (*table)(struct doc *d, const struct doc_table *t);
	void (*facts)(struct doc *d, const struct doc_table *t);
	void (*steps)(struct doc *d, const struct doc_table *t);
	void (*contents)(struct doc *d, const struct doc_entry *entries, size_t nr);
	void (*part_begin)(struct doc *d, const char *id, bool folded, const char *title);
	void (*part_end)(struct doc *d);
	void (*fold_begin)(struct doc *d, const char *title);
	void (*fold_end)(struct doc *d);
	void (*pair_begin)(struct doc *d, const char *title);
	void (*pair_next)(struct doc *d, const char *title);
	void (*pair_end)(struct doc *d);
	void (*grades)(struct doc *d, const struct doc_grade *grades, size_t nr);
	void (*card_begin)(struct doc *d, const struct doc_card *card);
	void (*card_end)(struct doc *d);
	void (*map)(struct doc *d, const struct doc_map *map);
	void (*flow)(struct doc *d, const struct doc_flow *flow); /* NULL: its table suffices */
	void (*picture)(struct doc *d, const struct picture *p);
	void (*end)(struct doc *d);
};

/* The operations of renderers that write plain text from top to bottom. */
#define DOC_OPS_OF_TEXT                                                                            \
	.contents = doc_no_contents, .part_end = doc_nothing, .fold_end = doc_nothing,             \
	.pair_begin = doc_side, .pair_next = doc_side, .pair_end = doc_nothing,                    \
	.grades = doc_grades_table, .card_begin = doc_card_text, .card_end = doc_nothing

/* For renderers: one character per part, by share. */
void doc_strip_line(FILE *out, const struct doc_strip *strip);
/* Splits such a paragraph into text and the code between backticks. */
void doc_put_words(FILE *out, const char *text, void (*put)(FILE *out, const char *s),
		   void (*put_code)(FILE *out, const char *s));
/* For a renderer without a code style: the paragraph without backticks. */
void doc_plain_words(struct doc *d, const char *text);
void doc_nothing(struct doc *d);
/* A side of a pair. */
void doc_side(struct doc *d, const char *title);
void doc_no_contents(struct doc *d, const struct doc_entry *entries, size_t nr);
void doc_grades_table(struct doc *d, const struct doc_grade *grades, size_t nr);
void doc_card_text(struct doc *d, const struct doc_card *card);
/* Shows a picture with named points as a table: one row per point, with a bar if there is one
 * series. */
void doc_names_table(struct doc *d, const struct picture *p);
/* The marks on the axis of a picture, as a sentence; nothing without marks. */
void doc_marks_para(struct doc *d, const struct picture *p);

#endif
