/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/doc_ops.h"

#include <stdlib.h>
#include <string.h>

#include "report/svg.h"

/* No script, nothing fetched: the policy forbids all but the style below. */
static const char head_start[] =
	"<!DOCTYPE html>\n"
	"<html lang=\"en\">\n"
	"<head>\n"
	"<meta charset=\"utf-8\">\n"
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	"style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n"
	"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	"<meta name=\"color-scheme\" content=\"light dark\">\n"
	"<meta name=\"referrer\" content=\"no-referrer\">\n";

static const char style[] =
	"<style>\n"
	":root{--bg:#fff;--fg:#1c2126;--soft:#59636e;--line:#d5dae0;--band:#f5f7f9;"
	"--hit:#1a7f5a;--miss:#c2410c;--ahead:#2563b0}\n"
	"@media (prefers-color-scheme:dark){:root{--bg:#14181c;--fg:#e4e8ec;--soft:#9aa5b1;"
	"--line:#343c45;--band:#1c2228;--hit:#4cc38a;--miss:#ff8f5c;--ahead:#6fa8f5}}\n"
	"*{box-sizing:border-box}\n"
	"body{margin:0 auto;padding:2rem 1.25rem 4rem;max-width:80rem;background:var(--bg);"
	"color:var(--fg);font:1rem/1.55 system-ui,sans-serif}\n"
	"h1{font-size:1.6rem;line-height:1.25;margin:0 0 1rem;overflow-wrap:anywhere}\n"
	"h2{font-size:1.25rem;margin:2.5rem 0 .75rem;padding-top:1rem;"
	"border-top:1px solid var(--line);overflow-wrap:anywhere}\n"
	"h3{font-size:1.05rem;margin:1.75rem 0 .5rem}\n"
	"p{margin:.5rem 0 1rem;max-width:46rem;overflow-wrap:anywhere}\n"
	"h1+p{font-size:1.15rem;line-height:1.5}\n"
	".scroll{overflow-x:auto;margin:.5rem 0 1.25rem}\n"
	"table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}\n"
	"caption{text-align:left;color:var(--soft);padding:0 0 .35rem}\n"
	"th,td{padding:.3rem .9rem .3rem 0;text-align:left;vertical-align:top;"
	"border-bottom:1px solid var(--line)}\n"
	"th{font-weight:600;color:var(--soft);white-space:nowrap}\n"
	"td{white-space:nowrap}\n"
	"tbody th{font-weight:400;color:var(--fg);white-space:normal}\n"
	".r{text-align:right}\n"
	".w{white-space:normal;overflow-wrap:anywhere;min-width:14rem}\n"
	"td.bar{width:14rem;min-width:8rem}\n"
	"td.bar span{display:block;height:.7rem;margin-top:.4rem;background:var(--ahead);"
	"border-radius:2px;min-width:1px}\n"
	"figure{margin:.5rem 0 1.25rem}figcaption{color:var(--soft);font-size:.9rem}\n"
	".chart p{display:flex;justify-content:space-between;max-width:none;margin:.4rem 0 .2rem;"
	"font-size:.8rem;color:var(--soft)}.chart b{color:var(--fg)}\n"
	"svg{display:block;width:100%;height:4rem;border-bottom:1px solid var(--line)}\n"
	"svg .s0{fill:var(--hit)}svg .s1{fill:var(--miss)}svg .s2{fill:var(--ahead)}\n"
	"svg .gap{fill:var(--band)}\n"
	"details{margin:.5rem 0 1.25rem}summary{cursor:pointer;color:var(--soft)}\n"
	"pre{margin:.5rem 0 1rem;padding:.6rem .8rem;background:var(--band);overflow-x:auto;"
	"font-size:.85rem;line-height:1.45}\n"
	"@media (max-width:40rem){body{padding:1rem .75rem 3rem}th,td{padding-right:.6rem}"
	".w{min-width:6.5rem}tbody th.w{min-width:10rem}td.bar{width:5rem;min-width:4rem}}\n"
	"@media print{body{max-width:none;padding:0}details{display:none}"
	".scroll{overflow:visible}}\n"
	"</style>\n";

void html_text(FILE *out, const char *s)
{
	for (; *s; s++) {
		switch (*s) {
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
			putc(*s, out);
		}
	}
}

static void html_element(struct doc *d, const char *name, const char *text)
{
	fprintf(d->out, "<%s>", name);
	html_text(d->out, text);
	fprintf(d->out, "</%s>\n", name);
}

static void html_begin(struct doc *d, const char *title)
{
	fputs(head_start, d->out);
	html_element(d, "title", title);
	fputs(style, d->out);
	fputs("</head>\n<body>\n<main>\n", d->out);
	html_element(d, "h1", title);
}

static void html_heading(struct doc *d, int level, const char *text)
{
	static const char *const names[] = {"h1", "h2", "h3"};

	html_element(d, names[level < 3 ? level - 1 : 2], text);
}

static void html_para(struct doc *d, const char *text)
{
	html_element(d, "p", text);
}

static void html_code(struct doc *d, const char *language, const char *text)
{
	fputs("<pre><code>", d->out);
	html_text(d->out, text);
	fputs("</code></pre>\n", d->out);
}

static const char *cell_class(enum doc_align align)
{
	switch (align) {
	case DOC_RIGHT:
		return " class=\"r\"";
	case DOC_WRAP:
	case DOC_OWN_LINE:
		return " class=\"w\"";
	case DOC_BAR:
		return " class=\"bar\"";
	default:
		return "";
	}
}

static void put_cell(FILE *out, enum doc_align align, bool first, const char *text)
{
	double share = align == DOC_BAR ? strtod(text, NULL) * 100 : 0;

	/* What a row is about heads it for who hears the table. */
	fprintf(out, first ? "<th scope=\"row\"%s>" : "<td%s>", cell_class(align));
	if (align != DOC_BAR)
		html_text(out, text);
	else if (share > 0)
		fprintf(out, "<span style=\"width:%.2f%%\"></span>", share);
	fputs(first ? "</th>" : "</td>", out);
}

static void html_table(struct doc *d, const struct doc_table *t)
{
	fputs("<div class=\"scroll\"><table>\n", d->out);
	if (t->caption)
		html_element(d, "caption", t->caption);
	fputs("<thead><tr>", d->out);
	for (size_t c = 0; c < t->nr_columns; c++) {
		fprintf(d->out, "<th scope=\"col\"%s>", cell_class(t->columns[c].align));
		html_text(d->out, t->columns[c].name);
		fputs("</th>", d->out);
	}
	fputs("</tr></thead>\n<tbody>\n", d->out);
	for (size_t row = 0; row + t->nr_columns <= t->nr_cells; row += t->nr_columns) {
		fputs("<tr>", d->out);
		for (size_t c = 0; c < t->nr_columns; c++)
			put_cell(d->out, t->columns[c].align, c == 0, t->cells[row + c]);
		fputs("</tr>\n", d->out);
	}
	fputs("</tbody></table></div>\n", d->out);
}

static void html_end(struct doc *d)
{
	fputs("</main>\n</body>\n</html>\n", d->out);
}

struct doc doc_html(FILE *out)
{
	static const struct doc_ops ops = {
		.begin = html_begin,
		.heading = html_heading,
		.para = html_para,
		.code = html_code,
		.table = html_table,
		.timeline = svg_timeline,
		.end = html_end,
	};

	return (struct doc){.ops = &ops, .out = out};
}
