/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/render/doc_ops.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/text_builder.h"

void doc_side(struct doc *d, const char *title)
{
	d->ops->heading(d, 3, title);
}

void doc_put_words(FILE *out, const char *text, void (*put)(FILE *out, const char *s),
		   void (*put_code)(FILE *out, const char *s))
{
	char *copy = strdup(text);
	char *at = copy;

	while (at && *at) {
		char *begin = strchr(at, '`');
		char *end = begin ? strchr(begin + 1, '`') : NULL;

		/* An unpaired backtick is an ordinary character. */
		if (!end)
			break;
		*begin = '\0';
		*end = '\0';
		put(out, at);
		put_code(out, begin + 1);
		at = end + 1;
	}
	put(out, at ? at : text);
	free(copy);
}

static void put_plain(FILE *out, const char *s)
{
	fputs(s, out);
}

void doc_plain_words(struct doc *d, const char *text)
{
	struct text_builder b;
	char *plain;

	if (text_begin(&b))
		doc_put_words(b.out, text, put_plain, put_plain);
	plain = text_end(&b);
	if (!plain)
		d->failed = true;
	else
		d->ops->para(d, plain);
	free(plain);
}

void doc_strip_line(FILE *out, const struct doc_strip *strip)
{
	static const char *const steps[] = {"_", "░", "▒", "▓", "█"};

	for (size_t i = 0; i < strip->nr; i++) {
		double v = strip->shares[i];

		/* A little must not show as nothing, and nearly everything not as everything. */
		fputs(isnan(v) ? "?" : steps[v <= 0 ? 0 : v >= 1 ? 4 : 1 + (int)(v * 3)], out);
	}
}

void doc_nothing(struct doc *d)
{
}

void doc_no_contents(struct doc *d, const struct doc_entry *entries, size_t nr)
{
}

void doc_grades_table(struct doc *d, const struct doc_grade *grades, size_t nr)
{
	static const struct doc_column columns[] = {
		{"GRADE", DOC_LEFT},
		{"", DOC_LEFT},
		{"SCORE", DOC_RIGHT},
		{"HOW", DOC_WRAP},
	};
	struct doc_table t = DOC_TABLE(NULL, columns);

	for (size_t i = 0; i < nr; i++) {
		doc_cell(&t, "%s", grades[i].name);
		doc_cell(&t, "%s", grades[i].letter ? grades[i].letter : "-");
		doc_cell(&t, "%s", grades[i].score);
		doc_cell(&t, "%s", grades[i].how);
	}
	doc_put_table(d, &t);
}

/* Capitalises the first letter of a sentence, after its number. NULL: no memory. */
static char *as_sentence(struct doc *d, const char *text)
{
	char *ret = strdup(text);
	size_t number = strspn(text, "0123456789");
	size_t first = number && !strncmp(text + number, ". ", 2) ? number + 2 : 0;

	d->failed = d->failed || !ret;
	if (ret)
		ret[first] = (char)toupper((unsigned char)ret[first]);
	return ret;
}

void doc_card_text(struct doc *d, const struct doc_card *card)
{
	char *title = as_sentence(d, card->title);
	char *text = as_sentence(d, card->text);

	doc_heading(d, 3, "%s", title ? title : "");
	doc_para(d, "Gain: %s%s%s. %s, %s severity%s%s.", card->gain, card->gain_range ? ", " : "",
		 card->gain_range ? card->gain_range : "", card->id, card->severity,
		 card->subject ? ": " : "", card->subject ? card->subject : "");
	doc_para(d, "%s", text ? text : "");
	free(title);
	free(text);
}

enum { NAMES_COLUMNS = 8 };

/* A column with a unit in its heading shows pages as plain numbers. */
static enum picture_unit cell_unit(enum picture_unit unit)
{
	return unit == UNIT_PAGES ? UNIT_COUNT : unit;
}

static void put_point(struct doc_table *t, const struct picture *p, size_t at)
{
	size_t c = 1;

	doc_cell(t, "%s", p->axis.names[at]);
	for (size_t k = 0; k < p->nr_panels; k++)
		for (size_t i = 0; i < p->panels[k].nr_series && c < NAMES_COLUMNS; i++, c++)
			doc_cell_shown(t,
				       show_marked(picture_value(cell_unit(p->panels[k].unit),
								 p->panels[k].series[i].values[at]),
						   p->panels[k].series[i].mark));
}

void doc_names_table(struct doc *d, const struct picture *p)
{
	struct doc_column columns[NAMES_COLUMNS + 1] = {{p->axis.name, DOC_LEFT}};
	bool bar = p->nr_panels == 1 && p->panels[0].nr_series == 1;
	double top = picture_top(&p->panels[0], p->axis.nr);
	struct doc_table t;
	size_t nr = 1;

	for (size_t k = 0; k < p->nr_panels; k++)
		for (size_t i = 0; i < p->panels[k].nr_series && nr < NAMES_COLUMNS; i++)
			columns[nr++] = (struct doc_column){p->panels[k].series[i].name, DOC_RIGHT};
	if (bar)
		columns[nr++] = (struct doc_column){"", DOC_BAR};
	t = doc_table(p->title, columns, nr);
	for (size_t i = 0; i < p->axis.nr; i++) {
		put_point(&t, p, i);
		if (bar)
			doc_cell(&t, "%.4f",
				 top > 0 ? fmax(p->panels[0].series[0].values[i] / top, 0) : 0);
	}
	doc_put_table(d, &t);
	if (*p->says)
		doc_para(d, "%s", p->says);
}

void doc_marks_para(struct doc *d, const struct picture *p)
{
	struct text_builder b;
	FILE *out;

	if (!p->nr_marks)
		return;
	out = text_begin(&b);
	for (size_t i = 0; out && i < p->nr_marks; i++)
		fprintf(out, "%s%s%s", i ? "; " : "Marks: ", p->marks[i].name,
			i + 1 == p->nr_marks ? "." : "");
	doc_para_text(d, text_end(&b));
}
