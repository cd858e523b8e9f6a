/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/doc_ops.h"

#include <stdlib.h>
#include <string.h>

#include "report/show.h"

/* Markup and what GitHub makes links of (://, www., @) as text. */
static void put_text(FILE *out, const char *s)
{
	for (const char *p = s; *p; p++) {
		if (*p == '<')
			fputs("&lt;", out);
		else if (*p == '>')
			fputs("&gt;", out);
		else if (*p == '&')
			fputs("&amp;", out);
		else if (*p == '@')
			fputs("&#64;", out);
		else if (*p == ':' && p[1] == '/')
			fputs("&#58;", out);
		else if (*p == '.' && p - s >= 3 && !strncasecmp(p - 3, "www", 3))
			fputs("&#46;", out);
		else if (strchr("\\`*_[]|~#$", *p) || (p == s && p[1] && strchr("+-=", *p)))
			fprintf(out, "\\%c", *p);
		else
			putc(*p, out);
	}
}

static void md_heading(struct doc *d, int level, const char *text)
{
	for (int i = 0; i < level; i++)
		putc('#', d->out);
	putc(' ', d->out);
	put_text(d->out, text);
	fputs("\n\n", d->out);
}

static void md_begin(struct doc *d, const char *title)
{
	md_heading(d, 1, title);
}

static void md_para(struct doc *d, const char *text)
{
	put_text(d->out, text);
	fputs("\n\n", d->out);
}

/* A fence that the text has not. */
static void md_code(struct doc *d, const char *language, const char *text)
{
	const char *fence = strstr(text, "```") ? "~~~~~~" : "```";

	fprintf(d->out, "%s%s\n%s%s\n\n", fence, language ? language : "", text, fence);
}

static void put_bar(FILE *out, const char *share)
{
	int n = (int)(strtod(share, NULL) * 20 + 0.5);

	for (int i = 0; i < n && i < 20; i++)
		fputs("█", out);
}

static void put_row(FILE *out, const struct doc_table *t, char *const cells[])
{
	for (size_t c = 0; c < t->nr_columns; c++) {
		fputs("| ", out);
		if (t->columns[c].align == DOC_BAR)
			put_bar(out, cells[c]);
		else
			put_text(out, cells[c]);
		putc(' ', out);
	}
	fputs("|\n", out);
}

static void md_table(struct doc *d, const struct doc_table *t)
{
	if (t->caption) {
		put_text(d->out, t->caption);
		fputs(":\n\n", d->out);
	}
	for (size_t c = 0; c < t->nr_columns; c++) {
		fputs("| ", d->out);
		put_text(d->out, t->columns[c].name);
		putc(' ', d->out);
	}
	fputs("|\n", d->out);
	for (size_t c = 0; c < t->nr_columns; c++)
		fputs(t->columns[c].align == DOC_RIGHT ? "| ---: " : "| --- ", d->out);
	fputs("|\n", d->out);
	for (size_t row = 0; row + t->nr_columns <= t->nr_cells; row += t->nr_columns)
		put_row(d->out, t, t->cells + row);
	putc('\n', d->out);
}

static void md_timeline(struct doc *d, const struct doc_timeline *t)
{
	fprintf(d->out, "Over time, 0 to %.1f s:\n\n| figure | | peak a second |\n|---|---|---:|\n",
		t->ends_s[t->nr_points - 1]);
	for (size_t i = 0; i < t->nr_series; i++) {
		fprintf(d->out, "| %s | `", t->series[i].name);
		doc_sparkline(d->out, t, &t->series[i], 60);
		fprintf(d->out, "` | %s |\n", show_rate(doc_series_top(t, &t->series[i])).s);
	}
	putc('\n', d->out);
}

static void md_end(struct doc *d)
{
}

struct doc doc_markdown(FILE *out)
{
	static const struct doc_ops ops = {
		.begin = md_begin,
		.heading = md_heading,
		.para = md_para,
		.code = md_code,
		.table = md_table,
		.timeline = md_timeline,
		.end = md_end,
	};

	return (struct doc){.ops = &ops, .out = out};
}
