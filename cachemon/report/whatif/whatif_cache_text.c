/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/whatif/whatif_cache.h"

#include <math.h>
#include <string.h>

#include "cachemon/base/human.h"
#include "cachemon/base/terminal.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/figures/show.h"

enum { TABLE_ROWS = 12 };

enum { PLOT_COLUMNS = 68, LABEL_COLUMNS = 7, ROWS = 21, ROWS_A_LABEL = 5 };

/* Columns of the legend on one line. */
enum { LEGEND = 76 };

enum glyph { G_NONE, G_BAND, G_OPT, G_CEILING, G_CURVE, G_MEASURED, G_NR };

struct plot {
	enum glyph cell[ROWS][PLOT_COLUMNS];
	int columns;
	double pages_max; /* at the right edge */
};

static const char *const ascii[G_NR] = {" ", ":", "o", "-", "#", "M"};
static const char *const fancy[G_NR] = {" ", "░", "·", "─", "█", "M"};

static int row_of(double hit_ratio)
{
	int row = (int)lround((1 - hit_ratio) * (ROWS - 1));

	return row < 0 ? 0 : row >= ROWS ? ROWS - 1 : row;
}

static int column_of(const struct plot *p, double pages)
{
	int column = (int)(pages / p->pages_max * p->columns);

	return column >= p->columns ? p->columns - 1 : column;
}

static void fill_cells(struct plot *p, int column, int top, int bottom, enum glyph glyph)
{
	for (int row = top; row <= bottom; row++)
		p->cell[row][column] = glyph;
}

static void draw_column(struct plot *p, const struct job_curve *c, int column, int *before)
{
	double pages = (column + 0.5) / p->columns * p->pages_max;
	struct curve_point at;
	int row = 0;

	curve_at(&c->curve, pages, &at);
	row = row_of(1 - at.miss);
	fill_cells(p, column, row_of(1 - at.low), row_of(1 - at.high), G_BAND);
	p->cell[row_of(1 - c->curve.first_touch)][column] = G_CEILING;
	p->cell[row_of(1 - at.opt)][column] = G_OPT;
	/* A cliff is one vertical line. */
	if (*before > row + 1)
		fill_cells(p, column, row, *before - 1, G_CURVE);
	p->cell[row][column] = G_CURVE;
	*before = row;
}

static void draw_plot(struct plot *p, const struct job_curve *c)
{
	const struct curve_counted *counted = &c->facts.counted;
	int before = ROWS;

	for (int i = 0; i < p->columns; i++)
		draw_column(p, c, i, &before);
	if (c->verdict.compared && counted->present_pages <= p->pages_max)
		p->cell[row_of(1 - counted->miss_low)][column_of(p, counted->present_pages)] =
			G_MEASURED;
}

/* Marks that would overlap share one line. */
static int free_column(const char *line, int columns, int column)
{
	while (line[column] != ' ' && column + 1 < columns)
		column++;
	while (line[column] != ' ' && column > 0)
		column--;
	return column;
}

static void put_axis(FILE *out, const struct plot *p, const struct job_curve *c, bool unicode)
{
	struct curve_mark marks[CURVE_MARKS];
	char line[PLOT_COLUMNS + 1];
	struct human max = human_bytes((uint64_t)(p->pages_max * c->facts.page_size_bytes));

	fprintf(out, "      %s", unicode ? "└" : "+");
	for (int i = 0; i < p->columns; i++)
		fputs(unicode ? "─" : "-", out);
	memset(line, ' ', (size_t)p->columns);
	line[p->columns] = '\0';
	curve_marks(c, marks);
	for (int i = 0; i < CURVE_MARKS; i++)
		if (marks[i].pages >= 0 && marks[i].pages <= p->pages_max)
			line[free_column(line, p->columns, column_of(p, marks[i].pages))] =
				marks[i].letter;
	for (int i = p->columns; i-- > 0 && line[i] == ' ';)
		line[i] = '\0';
	fprintf(out, "\n       %s\n       0%*s\n\n", line, p->columns - 1, max.text);
}

/* As wide as the text, at most 80 columns; unicode: else ASCII only. */
static void put_plot(FILE *out, const struct job_curve *c, bool unicode)
{
	const char *const *glyphs = unicode ? fancy : ascii;
	int width = terminal_text_width(out), room = width - LABEL_COLUMNS;
	struct plot p = {.columns = room < PLOT_COLUMNS ? room : PLOT_COLUMNS,
			 .pages_max = whatif_cache_range(c)};

	draw_plot(&p, c);
	for (int row = 0; row < ROWS; row++) {
		int end = p.columns;

		if (row % ROWS_A_LABEL == 0)
			fprintf(out, "%3d %% %s", 100 - 100 * row / (ROWS - 1),
				unicode ? "┤" : "+");
		else
			fprintf(out, "      %s", unicode ? "│" : "|");
		while (end && p.cell[row][end - 1] == G_NONE)
			end--;
		for (int i = 0; i < end; i++)
			fputs(glyphs[p.cell[row][i]], out);
		putc('\n', out);
	}
	put_axis(out, &p, c, unicode);
	fprintf(out, "  %s hit ratio   %s its band   %s best possible%s%s without first reads\n",
		glyphs[G_CURVE], glyphs[G_BAND], glyphs[G_OPT], width < LEGEND ? "\n  " : "   ",
		glyphs[G_CEILING]);
	if (c->verdict.compared)
		fputs("  M measured at the actual cache size\n", out);
	putc('\n', out);
}

static struct human size_text(const struct job_curve *c, double pages)
{
	return human_bytes((uint64_t)llround(pages * c->facts.page_size_bytes));
}

static struct shown ratio_text(double ratio)
{
	return show_ratio((struct opt_f64){.value = ratio < 0 ? 0 : ratio, .known = true}, false);
}

/* Band of a size, in brackets; "": it has no width. */
static const char *band_text(const struct job_curve *c, const struct curve_need *need, char *text,
			     size_t size)
{
	*text = '\0';
	if (need->pages_high < 0)
		snprintf(text, size, " (%s or more)", size_text(c, need->pages_low).text);
	else if (need->pages_high > need->pages_low)
		snprintf(text, size, " (%s to %s)", size_text(c, need->pages_low).text,
			 size_text(c, need->pages_high).text);
	return text;
}

/* Without a size that gives it. */
static int print_ceiling(const struct job_curve *c, const char *has, char **ret)
{
	double ceiling = 1 - c->curve.lru.miss[c->curve.lru.size_max];
	bool again = c->curve.removed_again > 0, uncertain = c->verdict.uncertain;

	return text_print(
		ret,
		"No cache size gives a hit ratio of 90 %%: %s of the lookups are first "
		"reads%s%s%s, so %s is the most. Only staging or reading ahead helps with "
		"those. %s%s%s",
		ratio_text(c->curve.first_touch).s, again ? " and " : "",
		again ? ratio_text(c->curve.removed_again).s : "",
		again ? " are reads of pages that advice or truncation had removed" : "",
		ratio_text(ceiling).s, has,
		uncertain ? " What smaller sizes give is uncertain. " : "",
		uncertain ? c->verdict.reason : "");
}

char *whatif_cache_answer(const struct job_curve *c)
{
	static const char unknown[] = "The cache size for a hit ratio of 90 % is not known";
	double has_pages = c->facts.counted.present_pages;
	struct curve_need need = {-1, -1, -1};
	char has[64], band[96], *ret = NULL;

	if (has_pages >= 0)
		snprintf(has, sizeof(has), "The job has %s.", size_text(c, has_pages).text);
	else
		snprintf(has, sizeof(has), "The job's present size is not known.");
	if (!c->there) {
		text_print(&ret, "%s: there is no curve. %s %s", unknown, c->absent, has);
		return ret;
	}
	curve_need(&c->curve, 0.9, &need);
	/* First reads miss at every size, whichever pages the kernel evicts. */
	if (c->verdict.uncertain && (c->verdict.outside || need.pages_low >= 0))
		text_print(&ret, "%s: the curve is uncertain beyond the present size. %s %s",
			   unknown, c->verdict.reason, has);
	else if (need.pages < 0)
		print_ceiling(c, has, &ret);
	else
		text_print(&ret,
			   "For a hit ratio of 90 %%, the job needs %s of cache%s; it has %s.",
			   size_text(c, need.pages).text, band_text(c, &need, band, sizeof(band)),
			   has_pages >= 0 ? size_text(c, has_pages).text : "an unknown size");
	return ret;
}

static void say_sample(struct doc *d, const struct job_curve *c)
{
	const struct estimate *e = &c->curve.estimate;

	doc_para(d,
		 "Sample: all %s lookups of %s of the %s%s pages that the job looked up (%s); "
		 "there were %s lookups in total. A page counts as missed if it comes from the "
		 "device, whether read directly or by readahead.",
		 human_count((uint64_t)e->sampled_lookups).text, human_count(e->nr_pages).text,
		 e->distinct_error > 0 || e->by_threshold ? "about " : "",
		 human_count((uint64_t)e->distinct_pages).text, ratio_text(e->rate).s,
		 human_count((uint64_t)c->sampled_lookups).text);
	if (e->by_threshold)
		doc_para(d, "The number of distinct pages was not counted, so sizes are scaled by "
			    "the sampling rate.");
	if (c->broken)
		doc_para(d,
			 "The sample ends before the run does: %s. The curve describes the run up "
			 "to "
			 "that point.",
			 *c->why_broken ? c->why_broken : "the reason was not recorded");
}

static void put_row(struct doc_table *t, const struct job_curve *c, const struct curve_point *p,
		    const char *name)
{
	doc_cell(t, "%s", size_text(c, p->cache_pages).text);
	doc_cell_shown(t, ratio_text(1 - p->miss));
	doc_cell(t, "%s to %s", ratio_text(1 - p->high).s, ratio_text(1 - p->low).s);
	doc_cell_shown(t, ratio_text(1 - p->opt));
	doc_cell(t, "%s", name);
}

static void put_table(struct doc *d, const struct job_curve *c)
{
	static const struct doc_column columns[] = {
		{"CACHE", DOC_RIGHT},	      {"HIT RATIO", DOC_RIGHT}, {"BAND", DOC_RIGHT},
		{"BEST POSSIBLE", DOC_RIGHT}, {"", DOC_WRAP},
	};
	struct doc_table t = DOC_TABLE(NULL, columns);
	struct curve_mark marks[CURVE_MARKS];
	double distinct = c->curve.estimate.distinct_pages;

	for (int i = 1; i <= TABLE_ROWS; i++) {
		struct curve_point p;

		/* Steps of an eighth less, then halves: the interesting sizes are near the top. */
		curve_at(&c->curve, distinct * exp2((i - TABLE_ROWS) / 2.0), &p);
		put_row(&t, c, &p, i == TABLE_ROWS ? "all that the job read" : "");
	}
	curve_marks(c, marks);
	for (int i = 0; i < CURVE_MARKS; i++) {
		struct curve_point p;
		char name[96];

		if (marks[i].pages < 0)
			continue;
		snprintf(name, sizeof(name), "%c: %s", marks[i].letter, marks[i].name);
		curve_at(&c->curve, marks[i].pages, &p);
		put_row(&t, c, &p, name);
	}
	doc_put_table(d, &t);
}

static void say_model(struct doc *d, const struct job_curve *c)
{
	const struct curve_shape *s = &c->curve.shape;

	doc_para(d,
		 "The curve assumes an LRU cache. In tests the kernel's hit ratio was within %.2f "
		 "of it.%s%s",
		 CURVE_MODEL_ERROR,
		 s->kernel_better_up_to > 0
			 ? " This job reads the same pages in a different order each time: the "
			   "kernel's hit ratio may be up to 0.1 higher."
			 : "",
		 s->kernel_worse_up_to > 0 ? " The most-read pages of this job change over time: "
					     "the kernel's hit ratio may be up to 0.15 lower."
					   : "");
}

static void say_check(struct doc *d, const struct job_curve *c)
{
	const struct curve_verdict *v = &c->verdict;

	if (!v->compared)
		doc_para(d, "The curve could not be compared with the measured hit ratio: the "
			    "job's cache size or the fate of its pages is not known.");
	else if (!v->outside)
		doc_para(d,
			 "The measured hit ratio with %s in the cache is %s. The curve predicts %s "
			 "to %s at this size, allowing for the kernel's differences from LRU.",
			 size_text(c, c->facts.counted.present_pages).text,
			 ratio_text(1 - c->facts.counted.miss_low).s,
			 ratio_text(1 - v->expected_high).s, ratio_text(1 - v->expected_low).s);
	if (v->refaults == OPINION_SAME)
		doc_para(d,
			 "Refault distances agree: pages were read again after %s evictions on "
			 "average; the curve predicts %s.",
			 human_count((uint64_t)c->facts.counted.refault_distance).text,
			 human_count((uint64_t)v->refault_distance).text);
	else if (v->refaults == OPINION_WEAK)
		doc_para(d, "Refault distances neither confirm nor contradict the curve: they are "
			    "recorded per 64 neighbouring pages, which is too coarse for "
			    "single-page reads.");
}

void whatif_cache_text(struct doc *d, const struct model_job *job, const struct job_curve *c)
{
	doc_heading(d, 2, "Job %.*s", (int)(job->name.len > 200 ? 200 : job->name.len),
		    job->name.data ? job->name.data : "");
	doc_para_text(d, whatif_cache_answer(c));
	if (!c->there)
		return;
	say_sample(d, c);
	put_plot(d->out, c, terminal_locale_is_utf8());
	put_table(d, c);
	say_check(d, c);
	say_model(d, c);
}
