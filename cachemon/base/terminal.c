/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/base/terminal.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachemon/base/escape.h"
#include "cachemon/base/parse.h"

enum { COLUMNS_MIN = 40, COLUMNS_USUAL = 80, COLUMNS_MOST = 1000 };

bool terminal_rewrites(FILE *out)
{
	return isatty(fileno(out)) && strcmp(getenv("TERM") ?: "dumb", "dumb");
}

bool terminal_in_background(FILE *out)
{
	pid_t front = tcgetpgrp(fileno(out));

	return front >= 0 && front != getpgrp();
}

/* $COLUMNS; 0: unset, or not a usable width. */
static uint64_t columns_wanted(void)
{
	const char *text = getenv("COLUMNS");
	uint64_t n = 0;

	if (!text || parse_u64(text, &n) || n < COLUMNS_MIN || n > COLUMNS_MOST)
		return 0;
	return n;
}

size_t terminal_columns(FILE *out)
{
	uint64_t wanted = columns_wanted();
	struct winsize size;

	if (wanted)
		return wanted;
	/* A terminal that reports no width has the usual one. */
	if (ioctl(fileno(out), TIOCGWINSZ, &size) || !size.ws_col)
		return COLUMNS_USUAL;
	return size.ws_col;
}

bool terminal_size(FILE *out, size_t *ret_columns, size_t *ret_rows)
{
	struct winsize size;

	if (ioctl(fileno(out), TIOCGWINSZ, &size) || !size.ws_col)
		return false;
	*ret_columns = size.ws_col;
	*ret_rows = size.ws_row;
	return true;
}

/* A stream in memory counts as a file. */
static bool is_file(FILE *out)
{
	struct stat st;

	return fileno(out) < 0 || fstat(fileno(out), &st) || S_ISREG(st.st_mode);
}

int terminal_text_width(FILE *out)
{
	uint64_t wanted = is_file(out) ? 0 : columns_wanted();
	size_t columns = COLUMNS_USUAL, rows;

	if (wanted)
		return (int)wanted;
	if (terminal_size(out, &columns, &rows))
		columns = columns < COLUMNS_MIN	   ? COLUMNS_MIN
			  : columns > COLUMNS_MOST ? COLUMNS_MOST
						   : columns;
	return (int)columns;
}

bool terminal_locale_is_utf8(void)
{
	locale_t l = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
	bool ret = l && strcmp(nl_langinfo_l(CODESET, l), "UTF-8") == 0;

	if (l)
		freelocale(l);
	return ret;
}

bool terminal_is_ascii(FILE *out)
{
	return fileno(out) >= 0 && isatty(fileno(out)) && !terminal_locale_is_utf8();
}

bool terminal_text_is_ascii(FILE *out)
{
	return fileno(out) >= 0 && !terminal_locale_is_utf8();
}

void terminal_plain(uint32_t cp, char ret[TERMINAL_PLAIN_MAX])
{
	/* No quotes: in a command they would start or end a word. */
	static const struct {
		uint32_t first, last;
		const char *plain;
	} signs[] = {
		{0xa0, 0xa0, " "},	 {0xb1, 0xb1, "+-"},	 {0xb5, 0xb5, "u"},
		{0xb7, 0xb7, "."},	 {0xd7, 0xd7, "x"},	 {0x3bc, 0x3bc, "u"},
		{0x2009, 0x200a, " "},	 {0x2010, 0x2015, "-"},	 {0x2022, 0x2022, "*"},
		{0x2026, 0x2026, "..."}, {0x202f, 0x202f, " "},	 {0x2190, 0x2190, "<-"},
		{0x2192, 0x2192, "->"},	 {0x2212, 0x2212, "-"},	 {0x2248, 0x2248, "~"},
		{0x2264, 0x2264, "<="},	 {0x2265, 0x2265, ">="}, {0x2500, 0x2501, "-"},
		{0x2502, 0x2503, "|"},	 {0x250c, 0x254b, "+"},	 {0x2591, 0x2591, ":"},
		{0x2592, 0x2592, "%"},	 {0x2593, 0x2593, "@"},	 {0x25b4, 0x25b4, "^"},
		{0x25be, 0x25be, "v"},	 {0x25cb, 0x25cb, "o"},	 {0x25cf, 0x25cf, "*"},
		{0x2713, 0x2713, "x"},
	};

	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
		if (cp >= signs[i].first && cp <= signs[i].last) {
			strcpy(ret, signs[i].plain);
			return;
		}
	if (cp >= 0x2581 && cp <= 0x2588) /* eighths of a block */
		snprintf(ret, TERMINAL_PLAIN_MAX, "%u", cp - 0x2580);
	else
		snprintf(ret, TERMINAL_PLAIN_MAX,
			 cp < 0x80	? "%c"
			 : cp < 0x10000 ? "\\u%04x"
					: "\\U%08x",
			 cp);
}

/* A stream's cookie: its target, and the bytes of an incomplete character. */
struct plain {
	FILE *out;
	char part[4];
	size_t nr;
};

static ssize_t plain_write(void *cookie, const char *bytes, size_t size)
{
	struct plain *p = cookie;
	char text[TERMINAL_PLAIN_MAX];
	uint32_t cp = 0;

	for (size_t i = 0; i < size; i++) {
		p->part[p->nr++] = bytes[i];
		if (!escape_decode(p->part, p->nr, &cp)) {
			/* Invalid bytes were not text. */
			if (p->nr == sizeof(p->part)) {
				putc('?', p->out);
				p->nr = 0;
			}
			continue;
		}
		terminal_plain(cp, text);
		fputs(text, p->out);
		p->nr = 0;
	}
	return ferror(p->out) ? 0 : (ssize_t)size;
}

static int plain_close(void *cookie)
{
	free(cookie);
	return 0;
}

FILE *terminal_plain_stream(FILE *out)
{
	const cookie_io_functions_t functions = {.write = plain_write, .close = plain_close};
	struct plain *p = calloc(1, sizeof(*p));
	FILE *ret = p ? fopencookie(p, "w", functions) : NULL;

	if (p)
		p->out = out;
	if (!ret)
		free(p);
	return ret;
}

void terminal_clear_line(FILE *out)
{
	fputs("\r\033[K", out);
	fflush(out);
}
