/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/base/escape.h"

#include <stdlib.h>
#include <string.h>

#include "cachemon/base/text_builder.h"
#include "cachemon/base/utf8.h"

size_t escape_decode(const char *s, size_t len, uint32_t *ret_cp)
{
	return utf8_decode(s, len, ret_cp);
}

void escape_encode(uint32_t cp, char ret[5])
{
	static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
	int n = cp < 0x80 ? 1 : cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;

	ret[n] = '\0';
	for (int i = n - 1; i > 0; i--, cp >>= 6)
		ret[i] = (char)(0x80 | (cp & 0x3f));
	ret[0] = (char)(n == 1 ? cp : lead[n] | cp);
}

bool escape_is_utf8(const char *s, size_t len)
{
	uint32_t cp = 0;

	for (size_t i = 0; i < len;) {
		size_t n = escape_decode(s + i, len - i, &cp);

		if (!n)
			return false;
		i += n;
	}
	return true;
}

bool escape_is_unsafe(uint32_t cp)
{
	return utf8_is_unsafe(cp);
}

static void put_bytes_escaped(FILE *out, const char *s, size_t len, bool inert)
{
	for (size_t i = 0; i < len;) {
		uint32_t cp = 0;
		size_t n = escape_decode(s + i, len - i, &cp);

		if (!n || s[i] == '\\')
			fprintf(out, "\\x%02x", (unsigned char)s[i]);
		else if (inert && escape_is_unsafe(cp))
			fprintf(out,
				cp < 0x80      ? "\\x%02x"
				: cp < 0x10000 ? "\\u%04x"
					       : "\\U%08x",
				cp);
		else
			fwrite(s + i, 1, n, out);
		i += n ? n : 1;
	}
}

bool escape_data(FILE *out, const char *s, size_t len)
{
	if (escape_is_utf8(s, len)) {
		fwrite(s, 1, len, out);
		return false;
	}
	put_bytes_escaped(out, s, len, false);
	return true;
}

static bool is_inert(const char *s, size_t len)
{
	uint32_t cp = 0;

	for (size_t i = 0; i < len;) {
		size_t n = escape_decode(s + i, len - i, &cp);

		if (!n || escape_is_unsafe(cp))
			return false;
		i += n;
	}
	return true;
}

void escape_inert(FILE *out, const char *s, size_t len)
{
	if (is_inert(s, len))
		fwrite(s, 1, len, out);
	else
		put_bytes_escaped(out, s, len, true);
}

void escape_lines(FILE *out, const char *text)
{
	while (*text) {
		size_t len = strcspn(text, "\n");

		for (; *text == '\t'; text++, len--)
			fputs("        ", out);
		escape_inert(out, text, len);
		putc('\n', out);
		text += len;
		text += *text == '\n';
	}
}

void escape_inert_to(char *buf, size_t size, const char *s)
{
	FILE *out = fmemopen(buf, size, "w");

	buf[0] = '\0';
	if (!out)
		return;
	setvbuf(out, NULL, _IONBF, 0);
	escape_inert(out, s, strlen(s));
	fclose(out);
	buf[size - 1] = '\0';
}

char *escape_inert_copy(const char *s, size_t len)
{
	struct text_builder b;

	if (text_begin(&b))
		escape_inert(b.out, s ? s : "-", s ? len : 1);
	return text_end(&b);
}
