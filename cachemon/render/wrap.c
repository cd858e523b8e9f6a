/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/render/wrap.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <wchar.h>

#include "cachemon/base/escape.h"

/* Columns of the terminal that a character takes; the C library's table, in a UTF-8 locale. */
static int char_width(uint32_t cp)
{
	int w = cp < 0x80 ? 1 : wcwidth((wchar_t)cp);

	return w < 0 ? 1 : w;
}

int wrap_width(const char *s)
{
	size_t len = strlen(s);
	uint32_t cp = 0;
	int width = 0;

	for (size_t i = 0; i < len;) {
		size_t n = escape_decode(s + i, len - i, &cp);

		width += n ? char_width(cp) : 1;
		i += n ? n : 1;
	}
	return width;
}

/* Columns up to the next blank. */
static int word_width(const char *s)
{
	char word[128];
	size_t len = strcspn(s, " ");

	if (len >= sizeof(word))
		len = sizeof(word) - 1;
	memcpy(word, s, len);
	word[len] = '\0';
	return wrap_width(word);
}

/* Bytes of s that fit in width, broken behind a blank when there is one; a word that has no room on
 * a line of its own, behind a slash. */
static size_t fit(const char *s, int width)
{
	size_t len = strlen(s);
	size_t blank = 0;
	size_t slash = 0;
	size_t i = 0;
	uint32_t cp = 0;
	int w = 0;

	while (i < len) {
		size_t n = escape_decode(s + i, len - i, &cp);

		if (!n)
			n = 1;
		w += char_width(cp);
		if (w > width && !(cp == ' ' && w == width + 1)) {
			if (slash > blank && (!blank || word_width(s + blank) > width))
				return slash;
			return blank ? blank : i ? i : n;
		}
		/* "42.1 s" stays on one line. */
		if (cp == ' ' && !(i && s[i - 1] >= '0' && s[i - 1] <= '9'))
			blank = i + n;
		else if (cp == '/')
			slash = i + n;
		i += n;
	}
	return len;
}

void wrap_pad(FILE *out, int n)
{
	for (int i = 0; i < n; i++)
		putc(' ', out);
}

void wrap_put(FILE *out, const char *s, int width, int indent)
{
	for (bool first = true; first || *s; first = false) {
		size_t n = fit(s, width);
		size_t shown = n;

		while (shown && s[shown - 1] == ' ')
			shown--;
		if (!first) {
			putc('\n', out);
			wrap_pad(out, indent);
		}
		fwrite(s, 1, shown, out);
		s += n;
	}
}
