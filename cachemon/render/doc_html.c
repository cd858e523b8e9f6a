/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/render/doc_ops.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "page.h"
#include "cachemon/base/human.h"
#include "cachemon/render/html.h"

/*
 * The page fetches nothing and runs only the one script and the one style, by their hashes: even
 * unescaped markup in a name would do nothing.
 */
static const char head_start[] =
	"<!DOCTYPE html>\n"
	"<html lang=\"en\">\n"
	"<head>\n"
	"<meta charset=\"utf-8\">\n"
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	"style-src " PAGE_HASH_style "; script-src " PAGE_HASH_script
	"; base-uri 'none'; form-action 'none'\">\n"
	"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	"<meta name=\"color-scheme\" content=\"light dark\">\n"
	"<meta name=\"referrer\" content=\"no-referrer\">\n";

static void put_char(FILE *out, char c)
{
	switch (c) {
	case '&':
		fputs("&amp;", out);
		break;
	case '<':
		fputs("&lt;", out);
		break;
	case '>':
		fputs("&gt;", out);
		break;
	case '"':
		fputs("&quot;", out);
		break;
	case '\'':
		fputs("&#39;", out);
		break;
	default:
		putc(c, out);
	}
}

void html_text(FILE *out, const char *s)
{
	for (; *s; s++)
		put_char(out, *s);
}

/* A character of a text with sentences. */
static void put_spoken(FILE *out, const char *s, const char *begin)
{
	if (*s == ' ' && s > begin && isdigit((unsigned char)s[-1]) && human_unit(s + 1))
		fputs("&nbsp;", out);
	else
		put_char(out, *s);
}

void html_sentence(FILE *out, const char *s)
{
	for (const char *begin = s; *s; s++)
		put_spoken(out, s, begin);
}

/* One path, up to a space or the end. It starts a new line rather than being broken after other
 * words. */
static const char *put_path(FILE *out, const char *s, bool behind)
{
	size_t len = strcspn(s, " \t\n");

	if (behind)
		fputs("<span class=\"path\">", out);
	for (size_t i = 0; i < len; i++) {
		put_char(out, s[i]);
		if (i && s[i] == '/' && i + 1 < len && s[i + 1] != '/')
			fputs("<wbr>", out);
	}
	if (behind)
		fputs("</span>", out);
	return s + len;
}

void html_wrapped(FILE *out, const char *s)
{
	const char *begin = s;

	while (*s) {
		bool word = s == begin || isspace((unsigned char)s[-1]);

		if (word && *s == '/')
			s = put_path(out, s, s != begin);
		else
			put_spoken(out, s++, begin);
	}
}

void html_caption(FILE *out, const char *title, const char *says)
{
	fputs("<figcaption><b>", out);
	html_text(out, title);
	fputs("</b> ", out);
	html_sentence(out, says);
	fputs("</figcaption>", out);
}

void html_label(FILE *out, const char *title, const char *says)
{
	fputs(" role=\"img\" aria-label=\"", out);
	html_text(out, title);
	fputs(": ", out);
	html_text(out, says);
	putc('"', out);
}

static void html_element(struct doc *d, const char *name, const char *text)
{
	fprintf(d->out, "<%s>", name);
	html_sentence(d->out, text);
	fprintf(d->out, "</%s>\n", name);
}

/* Patterns, for information that colours alone would show: stripes run along the axis, so that
 * zooming does not change them. */
static void put_patterns(FILE *out)
{
	static const struct {
		enum tone tone;
		int step, stripe;
	} patterns[] = {{TONE_MISS, 70, 18}, {TONE_LATE, 40, 10}, {TONE_WASTE, 30, 12}};

	fputs("<svg class=\"patterns\" aria-hidden=\"true\"><defs>\n", out);
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		const char *name = html_tone(patterns[i].tone);
		int step = patterns[i].step;

		fprintf(out,
			"<pattern id=\"p-%s\" width=\"12000\" height=\"%d\" "
			"patternUnits=\"userSpaceOnUse\"><rect class=\"f-%s\" width=\"12000\" "
			"height=\"%d\"/><rect class=\"stripe\" y=\"%d\" width=\"12000\" "
			"height=\"%d\"/></pattern>\n",
			name, step, name, step, step - patterns[i].stripe, patterns[i].stripe);
	}
	fputs("</defs></svg>\n", out);
}

static void html_begin(struct doc *d, const char *title)
{
	fputs(head_start, d->out);
	html_element(d, "title", title);
	fprintf(d->out, "<style>%s</style>\n</head>\n<body>\n", page_style);
	fputs("<a class=\"skip\" href=\"#main\">To the report</a>\n", d->out);
	put_patterns(d->out);
	fputs("<main id=\"main\">\n", d->out);
	html_element(d, "h1", title);
}

static void html_heading(struct doc *d, int level, const char *text)
{
	static const char *const names[] = {"h1", "h2", "h3", "h4"};

	html_element(d, names[level < 4 ? level - 1 : 3], text);
}

static void html_para(struct doc *d, const char *text)
{
	html_element(d, "p", text);
}

static void put_code(FILE *out, const char *s)
{
	fputs("<code>", out);
	html_text(out, s);
	fputs("</code>", out);
}

static void html_words(struct doc *d, const char *text)
{
	fputs("<p>", d->out);
	doc_put_words(d->out, text, html_sentence, put_code);
	fputs("</p>\n", d->out);
}

/* Focusable, so that keys can scroll it. */
static void html_code(struct doc *d, const char *language, const char *text)
{
	fputs("<div class=\"code\"><p>", d->out);
	html_text(d->out, language ? language : "text");
	fputs("</p><pre tabindex=\"0\"><code>", d->out);
	html_text(d->out, text);
	fputs("</code></pre></div>\n", d->out);
}

static void html_facts(struct doc *d, const struct doc_table *t)
{
	fputs("<dl class=\"facts\">\n", d->out);
	for (size_t i = 0; i + 2 <= t->nr_cells; i += 2) {
		fprintf(d->out, "<div><dt>%s</dt><dd>", t->cells[i]);
		html_sentence(d->out, t->cells[i + 1]);
		fputs("</dd></div>\n", d->out);
	}
	fputs("</dl>\n", d->out);
}

static void html_steps(struct doc *d, const struct doc_table *t)
{
	fprintf(d->out, "<div class=\"steps\"><p><b>%s</b></p><ol>\n", t->caption);
	for (size_t i = 0; i + 4 <= t->nr_cells; i += 4) {
		fputs("<li><b>", d->out);
		html_text(d->out, t->cells[i]);
		fputs("</b> ", d->out);
		put_code(d->out, t->cells[i + 1]);
		fputs("<br>Gain: <b>", d->out);
		html_sentence(d->out, t->cells[i + 2]);
		fputs("</b>. ", d->out);
		html_sentence(d->out, t->cells[i + 3]);
		fputs("</li>\n", d->out);
	}
	fputs("</ol></div>\n", d->out);
}

static void html_contents(struct doc *d, const struct doc_entry *entries, size_t nr)
{
	fputs("<nav aria-label=\"Parts of the report\"><ul>\n", d->out);
	for (size_t i = 0; i < nr; i++) {
		fprintf(d->out, "<li><a href=\"#%s\">", entries[i].id);
		html_text(d->out, entries[i].title);
		fputs("</a></li>\n", d->out);
	}
	fputs("</ul></nav>\n", d->out);
}

static void html_part_begin(struct doc *d, const char *id, bool folded, const char *title)
{
	fprintf(d->out,
		"<section id=\"%s\" aria-labelledby=\"%s-title\"><details%s>"
		"<summary><h2 id=\"%s-title\">",
		id, id, folded ? "" : " open", id);
	html_text(d->out, title);
	fputs("</h2></summary>\n", d->out);
}

static void html_part_end(struct doc *d)
{
	fputs("</details></section>\n", d->out);
}

static void html_fold_begin(struct doc *d, const char *title)
{
	fputs("<details class=\"fold\"><summary>", d->out);
	html_text(d->out, title);
	fputs("</summary>\n", d->out);
}

static void html_fold_end(struct doc *d)
{
	fputs("</details>\n", d->out);
}

static void html_pair_begin(struct doc *d, const char *title)
{
	fputs("<div class=\"pair\"><div>\n", d->out);
	html_element(d, "h3", title);
}

static void html_pair_next(struct doc *d, const char *title)
{
	fputs("</div><div>\n", d->out);
	html_element(d, "h3", title);
}

static void html_pair_end(struct doc *d)
{
	fputs("</div></div>\n", d->out);
}

/* A ring that shows the score. */
static void put_ring(FILE *out, const struct doc_grade *g)
{
	fputs("<svg class=\"ring\" viewBox=\"0 0 40 40\" aria-hidden=\"true\">"
	      "<circle cx=\"20\" cy=\"20\" r=\"17\"/>",
	      out);
	if (g->letter)
		fprintf(out,
			"<circle class=\"arc\" cx=\"20\" cy=\"20\" r=\"17\" pathLength=\"100\" "
			"stroke-dasharray=\"%.1f 100\" transform=\"rotate(-90 20 20)\"/>",
			strtod(g->score, NULL) * 100);
	fputs("</svg>", out);
}

static void html_grades(struct doc *d, const struct doc_grade *grades, size_t nr)
{
	fputs("<ul class=\"grades\">\n", d->out);
	for (size_t i = 0; i < nr; i++) {
		const struct doc_grade *g = &grades[i];

		fputs("<li class=\"g-", d->out);
		fprintf(d->out, g->letter ? "%c" : "none",
			g->letter ? tolower((unsigned char)*g->letter) : 0);
		fputs("\">", d->out);
		put_ring(d->out, g);
		fputs("<span>", d->out);
		html_text(d->out, g->name);
		if (g->letter)
			fprintf(d->out, "</span> <b>%s</b> <small>%s</small>", g->letter, g->score);
		else
			fputs("</span> <b>-</b> <small>none</small>", d->out);
		fputs("<details><summary>how</summary><p>", d->out);
		html_sentence(d->out, g->how);
		fputs("</p></details></li>\n", d->out);
	}
	fputs("</ul>\n", d->out);
}

/* "1. Title": the number is in front of all lines of the title. */
static void put_card_title(FILE *out, const char *title)
{
	size_t digits = strspn(title, "0123456789");

	fputs("<h3>", out);
	if (digits && title[digits] == '.' && title[digits + 1] == ' ') {
		fprintf(out, "<span class=\"nr\">%.*s. </span>", (int)digits, title);
		title += digits + 2;
	}
	fputs("<span class=\"title\">", out);
	html_text(out, title);
	fputs("</span></h3>\n", out);
}

static void html_card_begin(struct doc *d, const struct doc_card *card)
{
	fprintf(d->out, "<article class=\"card %s\">", card->severity);
	put_card_title(d->out, card->title);
	fputs("<p class=\"gain\">Gain: <b>", d->out);
	html_sentence(d->out, card->gain);
	fputs("</b>", d->out);
	if (card->gain_range) {
		fputs(", ", d->out);
		html_sentence(d->out, card->gain_range);
	}
	fprintf(d->out, "</p>\n<p class=\"what\"><b>%s severity</b>, %s", card->severity, card->id);
	if (card->subject) {
		fputs(": ", d->out);
		html_text(d->out, card->subject);
	}
	fputs("</p>\n<p class=\"says\">", d->out);
	html_sentence(d->out, card->text);
	fputs("</p>\n", d->out);
}

static void html_card_end(struct doc *d)
{
	fputs("</article>\n", d->out);
}

static void html_end(struct doc *d)
{
	fprintf(d->out, "</main>\n<script>%s</script>\n</body>\n</html>\n", page_script);
}

struct doc doc_html(FILE *out)
{
	static const struct doc_ops ops = {
		.begin = html_begin,
		.heading = html_heading,
		.para = html_para,
		.words = html_words,
		.code = html_code,
		.table = html_table,
		.facts = html_facts,
		.steps = html_steps,
		.contents = html_contents,
		.part_begin = html_part_begin,
		.part_end = html_part_end,
		.fold_begin = html_fold_begin,
		.fold_end = html_fold_end,
		.pair_begin = html_pair_begin,
		.pair_next = html_pair_next,
		.pair_end = html_pair_end,
		.grades = html_grades,
		.card_begin = html_card_begin,
		.card_end = html_card_end,
		.map = html_map,
		.flow = html_flow,
		.picture = html_picture,
		.end = html_end,
	};

	return (struct doc){.ops = &ops, .out = out};
}
