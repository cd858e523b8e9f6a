/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/top/canvas.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/escape.h"

enum { CELLS_MAX = 1 << 22 };

/* The cells of a character: itself, or its replacement without UTF-8. */
struct glyph {
	wchar_t ch;
	char ascii[12]; /* instead; "": itself */
	int width;
};

int top_canvas_new(int columns, int rows, bool utf8, struct top_canvas *ret)
{
	struct top_canvas c = {.columns = columns, .rows = rows, .utf8 = utf8};

	if (columns < 1 || rows < 1 || columns > CELLS_MAX / rows)
		return -ENOMEM;
	c.cells = calloc((size_t)columns * (size_t)rows, sizeof(*c.cells));
	if (!c.cells)
		return -ENOMEM;
	for (size_t i = 0; i < (size_t)columns * (size_t)rows; i++)
		c.cells[i].ch[0] = L' ';
	*ret = c;
	return 0;
}

void top_canvas_free(struct top_canvas *c)
{
	free(c->cells);
	*c = (struct top_canvas){0};
}

static size_t next_glyph(const struct top_canvas *c, const char *text, struct glyph *ret)
{
	uint32_t cp = 0;
	size_t n = escape_decode(text, strlen(text), &cp);

	*ret = (struct glyph){.ch = L'?', .width = 1};
	if (!n)
		return 1;
	/* Names were escaped before; other characters are harmless. */
	if (escape_is_unsafe(cp))
		return n;
	ret->ch = (wchar_t)cp;
	if (cp < 0x80)
		return n;
	ret->width = c->utf8 ? wcwidth((wchar_t)cp) : -1;
	if (ret->width < 0) {
		snprintf(ret->ascii, sizeof(ret->ascii), cp < 0x10000 ? "\\u%04x" : "\\U%08x", cp);
		ret->width = (int)strlen(ret->ascii);
	}
	return n;
}

int top_text_width(const struct top_canvas *c, const char *text)
{
	int width = 0;

	while (*text) {
		struct glyph g;

		text += next_glyph(c, text, &g);
		width += g.width;
	}
	return width;
}

static struct top_cell *cell_at(struct top_canvas *c, int row, int column)
{
	if (row < 0 || row >= c->rows || column < 0 || column >= c->columns)
		return NULL;
	return &c->cells[(size_t)row * (size_t)c->columns + (size_t)column];
}

static void set_cell(struct top_canvas *c, int row, int column, enum top_look look, wchar_t ch)
{
	struct top_cell *cell = cell_at(c, row, column);

	if (cell)
		*cell = (struct top_cell){.ch = {ch}, .look = (unsigned char)look};
}

static void combine_with(struct top_canvas *c, int row, int column, wchar_t ch)
{
	struct top_cell *cell = cell_at(c, row, column);

	if (cell && !cell->ch[0])
		cell = cell_at(c, row, column - 1);
	if (cell && cell->ch[0])
		cell->ch[cell->ch[1] ? 2 : 1] = ch;
}

int top_put(struct top_canvas *c, int row, int column, int width, enum top_look look,
	    const char *text)
{
	int taken = 0;

	if (width > c->columns - column)
		width = c->columns - column;
	while (*text) {
		struct glyph g;

		text += next_glyph(c, text, &g);
		if (taken + g.width > width)
			break;
		if (!g.width && taken)
			combine_with(c, row, column + taken - 1, g.ch);
		for (int i = 0; i < g.width; i++)
			set_cell(c, row, column + taken + i, look,
				 *g.ascii ? (wchar_t)g.ascii[i]
				 : i	  ? 0
					  : g.ch);
		taken += g.width;
	}
	return taken;
}

int top_put_right(struct top_canvas *c, int row, int column, int width, enum top_look look,
		  const char *text)
{
	int wide = top_text_width(c, text);

	if (wide >= width)
		return top_put(c, row, column, width, look, text);
	top_put(c, row, column + width - wide, wide, look, text);
	return width;
}

int top_put_tail(struct top_canvas *c, int row, int column, int width, enum top_look look,
		 const char *text)
{
	const char *dots = c->utf8 ? "\u2026" : "...";
	int wide = top_text_width(c, text);
	int room = width - top_text_width(c, dots);

	if (wide <= width || room < 1)
		return top_put(c, row, column, width, look, text);
	while (wide > room) {
		struct glyph g;

		text += next_glyph(c, text, &g);
		wide -= g.width;
	}
	top_put(c, row, column, width, look, dots);
	return width - room + top_put(c, row, column + width - room, room, look, text);
}

void top_look_cells(struct top_canvas *c, int row, int column, int width, enum top_look look)
{
	for (int i = 0; i < width; i++) {
		struct top_cell *cell = cell_at(c, row, column + i);

		if (cell)
			cell->look = (unsigned char)look;
	}
}

void top_canvas_write(const struct top_canvas *c, FILE *out)
{
	for (int row = 0; row < c->rows; row++) {
		const struct top_cell *line = &c->cells[(size_t)row * (size_t)c->columns];
		int end = c->columns;

		while (end && line[end - 1].ch[0] == L' ' && !line[end - 1].ch[1])
			end--;
		for (int i = 0; i < end; i++)
			for (int k = 0; k < 3 && line[i].ch[k]; k++) {
				char utf8[5];

				escape_encode((uint32_t)line[i].ch[k], utf8);
				fputs(utf8, out);
			}
		fputc('\n', out);
	}
}
