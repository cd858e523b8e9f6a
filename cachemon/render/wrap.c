/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/render/wrap.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "cachemon/base/escape.h"
#include "cachemon/base/terminal.h"

/* Columns that a character takes: from the C library's table in a UTF-8 locale, else as ASCII. */
static int char_width(uint32_t cp)
{
	char plain[TERMINAL_PLAIN_MAX];
	int w;

	if (cp < 0x80)
		return 1;
	if (MB_CUR_MAX == 1) {
		terminal_plain(cp, plain);
		return (int)strlen(plain);
	}
	w = wcwidth((wchar_t)cp);
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

/* Bytes of s that fit in width, broken after a blank if there is one; a word longer than a line
 * is broken after a slash. */
static size_t fit_line(const char *s, int width)
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
		/* Keeps "42.1 s" on one line. */
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
		size_t n = fit_line(s, width);
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

/* The bytes of a word with the spaces before it. A space in quotes or after a backslash separates
 * no words; quote: the open one, or 0. */
static size_t shell_word(const char *line, size_t len, char *quote)
{
	size_t n = 0;

	while (n < len && line[n] == ' ')
		n++;
	for (; n < len && (*quote || line[n] != ' '); n++) {
		if (line[n] == '\\' && *quote != '\'' && n + 1 < len)
			n++;
		else if (*quote == line[n])
			*quote = 0;
		else if (!*quote && (line[n] == '\'' || line[n] == '"'))
			*quote = line[n];
	}
	return n;
}

static int width_of(const char *text, size_t len)
{
	char *copy = strndup(text, len);
	int ret = copy ? wrap_width(copy) : (int)len;

	free(copy);
	return ret;
}

enum { CODE_INDENT = 4 };

/* A line of a shell that is too long goes on after a backslash, so that it can be copied. A comment
 * that does not fit after its command is left out. */
static void put_shell(FILE *out, const char *line, size_t len, int width, char *quote)
{
	int column = CODE_INDENT;
	bool first = true;

	while (len) {
		bool inside = *quote;
		size_t n = shell_word(line, len, quote);
		size_t spaces = inside ? 0 : strspn(line, " ");
		bool comment = !inside && spaces < len && line[spaces] == '#';
		int w = width_of(line, comment ? len : n);
		int end = n < len ? (int)strlen(" \\") : 0;

		if (comment) {
			*quote = 0;
			if (first || column + w <= width)
				fprintf(out, "%.*s", (int)len, line);
			return;
		}
		/* Not before a word that no line has room for. */
		if (!first && spaces && n > spaces && column + w + end > width &&
		    2 * CODE_INDENT + w - (int)spaces + end <= width) {
			fputs(" \\\n", out);
			wrap_pad(out, 2 * CODE_INDENT);
			column = 2 * CODE_INDENT;
			line += spaces;
			len -= spaces;
			n -= spaces;
			w -= (int)spaces;
		}
		fprintf(out, "%.*s", (int)n, line);
		column += w;
		line += n;
		len -= n;
		first = false;
	}
}

void wrap_code(FILE *out, const char *language, const char *text, int width)
{
	/* Text of a here-document is not the shell's. */
	bool shell = language && !strcmp(language, "shell") && !strstr(text, "<<");
	char quote = 0;

	for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
		size_t len = strcspn(text, "\n");

		if (len)
			wrap_pad(out, CODE_INDENT);
		if (shell)
			put_shell(out, text, len, width, &quote);
		else
			fprintf(out, "%.*s", (int)len, text);
		if (text[len])
			putc('\n', out);
	}
}
