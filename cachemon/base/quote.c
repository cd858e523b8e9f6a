/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/base/quote.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/cleanup.h"
#include "cachemon/base/text_builder.h"

/* Length of the UTF-8 character at s, or 0: malformed, overlong, surrogate, beyond Unicode. */
static size_t utf8_length(const unsigned char *s)
{
	size_t len = 0;
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	uint32_t c;

	if (s[0] < 0x80)
		return 1;
	if (s[0] >> 5 == 6)
		len = 2;
	else if (s[0] >> 4 == 14)
		len = 3;
	else if (s[0] >> 3 == 30)
		len = 4;
	else
		return 0;
	c = s[0] & (0x7fU >> len);
	for (size_t i = 1; i < len; i++) {
		if (s[i] >> 6 != 2)
			return 0;
		c = c << 6 | (s[i] & 0x3fU);
	}
	if (c < least[len] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	return len;
}

/* Length of the character at s when it may be shown as it is, else 0. */
static size_t shown_length(const unsigned char *s)
{
	if (s[0] < 0x20 || s[0] == 0x7f)
		return 0;
	/* U+0080 … U+009F are control characters too. */
	if (s[0] == 0xc2 && s[1] >= 0x80 && s[1] <= 0x9f)
		return 0;
	return utf8_length(s);
}

static bool is_harmless(const char *word)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789%+,-./:=@_";

	return *word && word[strspn(word, safe)] == '\0';
}

static void quote_escaped(const unsigned char *s, FILE *out)
{
	fputs("$'", out);
	while (*s) {
		size_t len = shown_length(s);

		if (len == 0) {
			fprintf(out, "\\x%02x", *s++);
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
	const unsigned char *s = (const unsigned char *)word;
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
		quote_escaped((const unsigned char *)word, out);
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
