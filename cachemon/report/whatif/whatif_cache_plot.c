/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/whatif/whatif_cache.h"

#include <math.h>
#include <string.h>

#include "cachemon/base/human.h"

enum { COLUMNS = 68, ROWS = 21, ROWS_A_LABEL = 5 };

enum glyph { G_NONE, G_BAND, G_OPT, G_CEILING, G_CURVE, G_MEASURED, G_NR };

struct plot {
	enum glyph cell[ROWS][COLUMNS];
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
	int column = (int)(pages / p->pages_max * COLUMNS);

	return column >= COLUMNS ? COLUMNS - 1 : column;
}

static void fill(struct plot *p, int column, int top, int bottom, enum glyph glyph)
{
	for (int row = top; row <= bottom; row++)
		p->cell[row][column] = glyph;
}

static void draw_column(struct plot *p, const struct job_curve *c, int column, int *before)
{
	double pages = (column + 0.5) / COLUMNS * p->pages_max;
	struct curve_point at;
	int row = 0;

	curve_at(&c->curve, pages, &at);
	row = row_of(1 - at.miss);
	fill(p, column, row_of(1 - at.low), row_of(1 - at.high), G_BAND);
	p->cell[row_of(1 - c->curve.first_touch)][column] = G_CEILING;
	p->cell[row_of(1 - at.opt)][column] = G_OPT;
	/* A cliff is one line down. */
	if (*before > row + 1)
		fill(p, column, row, *before - 1, G_CURVE);
	p->cell[row][column] = G_CURVE;
	*before = row;
}

static void draw(struct plot *p, const struct job_curve *c)
{
	const struct curve_counted *counted = &c->facts.counted;
	int before = ROWS;

	for (int i = 0; i < COLUMNS; i++)
		draw_column(p, c, i, &before);
	if (c->verdict.compared && counted->present_pages <= p->pages_max)
		p->cell[row_of(1 - counted->miss_low)][column_of(p, counted->present_pages)] =
			G_MEASURED;
}

/* Marks that are too near to each other stand side by side. */
static int free_column(const char *line, int column)
{
	while (line[column] != ' ' && column + 1 < COLUMNS)
		column++;
	while (line[column] != ' ' && column > 0)
		column--;
	return column;
}

static void put_axis(FILE *out, const struct plot *p, const struct job_curve *c, bool unicode)
{
	struct curve_mark marks[CURVE_MARKS];
	char line[COLUMNS + 1];
	struct human max = human_bytes((uint64_t)(p->pages_max * c->facts.page_size_bytes));

	fprintf(out, "      %s", unicode ? "└" : "+");
	for (int i = 0; i < COLUMNS; i++)
		fputs(unicode ? "─" : "-", out);
	memset(line, ' ', COLUMNS);
	line[COLUMNS] = '\0';
	curve_marks(c, marks);
	for (int i = 0; i < CURVE_MARKS; i++)
		if (marks[i].pages >= 0 && marks[i].pages <= p->pages_max)
			line[free_column(line, column_of(p, marks[i].pages))] = marks[i].letter;
	for (int i = COLUMNS; i-- > 0 && line[i] == ' ';)
		line[i] = '\0';
	fprintf(out, "\n       %s\n       0%*s\n\n", line, COLUMNS - 1, max.text);
}

void whatif_cache_plot(FILE *out, const struct job_curve *c, bool unicode)
{
	const char *const *glyphs = unicode ? fancy : ascii;
	struct plot p = {.pages_max = whatif_cache_range(c)};

	draw(&p, c);
	for (int row = 0; row < ROWS; row++) {
		int end = COLUMNS;

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
	fprintf(out,
		"  %s hit ratio   %s its band   %s the best possible   %s all but first reads\n",
		glyphs[G_CURVE], glyphs[G_BAND], glyphs[G_OPT], glyphs[G_CEILING]);
	if (c->verdict.compared)
		fputs("  M measured at the size that was present\n", out);
	putc('\n', out);
}
