/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/wire/wire_utf8.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/utf8.h"

char *utf8_clean(const char *text)
{
	static const char unknown[] = "\xef\xbf\xbd";
	size_t left = strlen(text);
	/* One byte becomes three at most. */
	char *copy = malloc(left * strlen(unknown) + 1);
	char *to = copy;

	if (!copy)
		return NULL;
	while (left) {
		uint32_t c;
		size_t len = utf8_decode(text, left, &c);

		if (len) {
			memcpy(to, text, len);
			to += len;
		} else {
			memcpy(to, unknown, strlen(unknown));
			to += strlen(unknown);
			len = 1;
		}
		text += len;
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
	size_t used = 0;

	if (max > size - 1)
		max = size - 1;
	while (len) {
		uint32_t c = 0;
		size_t n = utf8_decode(text, len, &c);
		bool shown = n && !utf8_is_unsafe(c);
		size_t takes = shown ? n : 1;

		if (used + takes > max)
			break;
		if (shown)
			memcpy(to + used, text, n);
		else
			to[used] = '?';
		used += takes;
		text += n ? n : 1;
		len -= n ? n : 1;
	}
	to[used] = '\0';
	if (len && used + sizeof(more) <= size)
		memcpy(to + used, more, sizeof(more));
	return to;
}
