/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/wire/utf8.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Length of the character at s, of at most left bytes, and which it is; 0: none. */
static size_t character(const unsigned char *s, size_t left, uint32_t *ret)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t len = 1;
	uint32_t c = s[0];

	if (c >= 0x80) {
		len = c >> 5 == 6 ? 2 : c >> 4 == 14 ? 3 : c >> 3 == 30 ? 4 : 0;
		if (len == 0 || len > left)
			return 0;
		c &= 0x7fU >> len;
	}
	for (size_t i = 1; i < len; i++) {
		if (s[i] >> 6 != 2)
			return 0;
		c = c << 6 | (s[i] & 0x3fU);
	}
	if (c < least[len] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*ret = c;
	return len;
}

/* Moves the cursor, breaks the line, or turns the text around it. */
static bool is_active(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x61c || c == 0x180e ||
	       (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb) ||
	       c >= 0xe0000;
}

char *utf8_clean(const char *text)
{
	static const char unknown[] = "\xef\xbf\xbd";
	const unsigned char *s = (const unsigned char *)text;
	size_t left = strlen(text);
	/* One byte becomes three at most. */
	char *copy = malloc(left * strlen(unknown) + 1);
	char *to = copy;

	if (!copy)
		return NULL;
	while (left) {
		uint32_t c;
		size_t len = character(s, left, &c);

		if (len) {
			memcpy(to, s, len);
			to += len;
		} else {
			memcpy(to, unknown, strlen(unknown));
			to += strlen(unknown);
			len = 1;
		}
		s += len;
		left -= len;
	}
	*to = '\0';
	return copy;
}

size_t utf8_whole(const char *text, size_t len)
{
	const unsigned char *s = (const unsigned char *)text;

	for (size_t back = 1; back <= 3 && back <= len; back++) {
		unsigned char c = s[len - back];
		size_t needs = c >> 5 == 6 ? 2 : c >> 4 == 14 ? 3 : c >> 3 == 30 ? 4 : 1;

		if (c >> 6 != 2)
			return needs > back ? len - back : len;
	}
	return len;
}

char *utf8_inert(char *to, size_t size, const char *text, size_t len, size_t max)
{
	static const char more[] = "...";
	const unsigned char *s = (const unsigned char *)text;
	size_t used = 0;

	if (max > size - 1)
		max = size - 1;
	while (len) {
		uint32_t c = 0;
		size_t n = character(s, len, &c);
		bool shown = n && !is_active(c);
		size_t takes = shown ? n : 1;

		if (used + takes > max)
			break;
		if (shown)
			memcpy(to + used, s, n);
		else
			to[used] = '?';
		used += takes;
		s += n ? n : 1;
		len -= n ? n : 1;
	}
	to[used] = '\0';
	if (len && used + sizeof(more) <= size)
		memcpy(to + used, more, sizeof(more));
	return to;
}
