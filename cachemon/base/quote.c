/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/base/quote.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/cleanup.h"
#include "cachemon/base/escape.h"
#include "cachemon/base/text_builder.h"

/* Length of the character at s if it may be shown unchanged, else 0. A document would escape unsafe
 * characters, and the backslash of an escape would break the quotes. */
static size_t shown_length(const char *s)
{
	uint32_t cp = 0;
	size_t len = escape_decode(s, strnlen(s, 4), &cp);

	return cp < 0x20 || (cp >= 0x7f && cp <= 0x9f) || escape_is_unsafe(cp) ? 0 : len;
}

static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			   "0123456789%+,-./:=@_";

static bool is_harmless(const char *word)
{
	return *word && word[strspn(word, safe)] == '\0';
}

static void quote_escaped(const char *s, FILE *out)
{
	fputs("$'", out);
	while (*s) {
		size_t len = shown_length(s);

		if (len == 0) {
			fprintf(out, "\\x%02x", (unsigned char)*s++);
			continue;
		}
		if (*s == '\'' || *s == '\\')
			fputc('\\', out);
		fwrite(s, 1, len, out);
		s += len;
	}
	fputc('\'', out);
}

static void quote_plain(const char *word, FILE *out)
{
	fputc('\'', out);
	for (; *word; word++) {
		if (*word == '\'')
			fputs("'\\''", out);
		else
			fputc(*word, out);
	}
	fputc('\'', out);
}

int quote_word(const char *word, char **ret_text)
{
	const char *s = word;
	struct text_builder b;
	FILE *out;

	while (*s && shown_length(s))
		s += shown_length(s);
	out = text_begin(&b);
	if (!out)
		return -ENOMEM;
	if (is_harmless(word))
		fputs(word, out);
	else if (*s)
		quote_escaped(word, out);
	else
		quote_plain(word, out);
	if (!text_end(&b))
		return -ENOMEM;
	*ret_text = b.text;
	return 0;
}

int quote_words(char *const words[], size_t max, char **ret_text)
{
	char *text = calloc(1, max + sizeof(" ..."));
	size_t len = 0;

	if (!text)
		return -ENOMEM;
	for (size_t i = 0; words[i]; i++) {
		_cleanup_free_ char *word = NULL;
		int err = quote_word(words[i], &word);

		if (err) {
			free(text);
			return err;
		}
		if (len + (i > 0) + strlen(word) > max) {
			sprintf(text + len, "%s...", i > 0 ? " " : "");
			break;
		}
		len += (size_t)sprintf(text + len, "%s%s", i > 0 ? " " : "", word);
	}
	*ret_text = text;
	return 0;
}

/* The end of the quoted text that begins at s; NULL: it does not end. */
static const char *after_quotes(const char *s)
{
	bool escapes = *s == '$';

	for (s += escapes ? 2 : 1; *s && *s != '\''; s++)
		if (escapes && *s == '\\' && s[1])
			s++;
	return *s ? s + 1 : NULL;
}

bool quote_is_words(const char *text)
{
	while (text && *text) {
		if (strspn(text, safe))
			text += strspn(text, safe);
		else if (*text == ' ')
			text++;
		else if (*text == '\'' || !strncmp(text, "$'", 2))
			text = after_quotes(text);
		else if (!strncmp(text, "\\'", 2))
			text += 2;
		else
			return false;
	}
	return text;
}
