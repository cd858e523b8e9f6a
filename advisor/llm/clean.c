/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdint.h>
#include <string.h>

#include "advisor/llm/check_impl.h"
#include "cachemon/base/utf8.h"

/*
 * Letters of U+00C0 to U+017F without their accents. '*': not for showing, as it is no letter, or
 * folds to another one.
 */
static const char folded[] = "AAAAAAACEEEEIIIIDNOOOOO*OUUUUYTsaaaaaaaceeeeiiiidnooooo*ouuuuyty"
			     "AaAaAaCcCcCcCcDdDdEeEeEeEeEeGgGgGgGgHhHhIiIiIiIiIiJjJjKkkLlLlLlLlLl"
			     "NnNnNn*NnOoOoOoOoRrRrRrSsSsSsSsTtTtTtUuUuUuUuUuUuWwYyYZzZzZz*";

enum { FOLDED_FIRST = 0xc0, FOLDED_LAST = 0x17f };
_Static_assert(sizeof(folded) - 1 == FOLDED_LAST - FOLDED_FIRST + 1, "a letter for each");

/* Typographic signs and what is written for them. */
static const struct {
	uint32_t first, last;
	const char *plain;
} signs[] = {
	{0x00a0, 0x00a0, " "},	 {0x00ab, 0x00ab, "\""}, {0x00bb, 0x00bb, "\""},
	{0x00d7, 0x00d7, "x"},	 {0x2009, 0x2009, " "},	 {0x2010, 0x2013, "-"},
	{0x2014, 0x2015, " - "}, {0x2018, 0x201b, "'"},	 {0x201c, 0x201f, "\""},
	{0x2026, 0x2026, "..."}, {0x202f, 0x202f, " "},	 {0x2039, 0x203a, "'"},
	{0x2212, 0x2212, "-"},
};

static const char *sign_of(uint32_t c)
{
	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
		if (c >= signs[i].first && c <= signs[i].last)
			return signs[i].plain;
	return NULL;
}

/* What a character that is not ASCII looks like; '\0': it is not for showing. */
static char plain_letter(uint32_t c)
{
	if (c == 0xb5 || c == 0x3bc) /* of microseconds */
		return 'u';
	if (c < FOLDED_FIRST || c > FOLDED_LAST || folded[c - FOLDED_FIRST] == '*')
		return '\0';
	return folded[c - FOLDED_FIRST];
}

/* A lone backtick is a quote; more of them are a fence. */
static char quote_of(const char *text, size_t len, size_t at)
{
	bool fence = (at && text[at - 1] == '`') || (at + 1 < len && text[at + 1] == '`');

	return text[at] == '`' && !fence ? '\'' : text[at];
}

bool clean_text(const char *text, size_t len, struct said *ret)
{
	size_t shown = 0, plain = 0, used;

	for (size_t at = 0; at < len; at += used) {
		const char *sign;
		uint32_t c = 0;
		char letter;

		used = utf8_decode(text + at, len - at, &c);
		if (!used || c < ' ' || c == 0x7f)
			return false;
		if (c < 0x80) {
			ret->text[shown++] = ret->plain[plain++] = quote_of(text, len, at);
			continue;
		}
		sign = sign_of(c);
		if (sign) {
			memcpy(ret->text + shown, sign, strlen(sign));
			memcpy(ret->plain + plain, sign, strlen(sign));
			shown += strlen(sign);
			plain += strlen(sign);
			continue;
		}
		letter = plain_letter(c);
		if (!letter)
			return false;
		memcpy(ret->text + shown, text + at, used);
		shown += used;
		ret->plain[plain++] = letter;
	}
	ret->text[shown] = ret->plain[plain] = '\0';
	return true;
}
