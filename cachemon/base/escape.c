/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/base/escape.h"

#include <stdlib.h>
#include <string.h>

#include "cachemon/base/text_builder.h"

static size_t sequence_length(unsigned char lead)
{
	if (lead < 0x80)
		return 1;
	if (lead >= 0xc2 && lead <= 0xdf)
		return 2;
	if (lead >= 0xe0 && lead <= 0xef)
		return 3;
	if (lead >= 0xf0 && lead <= 0xf4)
		return 4;
	return 0;
}

size_t escape_decode(const char *s, size_t len, uint32_t *ret_cp)
{
	static const uint32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *p = (const unsigned char *)s;
	size_t n = len ? sequence_length(p[0]) : 0;
	uint32_t cp = 0;

	if (!n || n > len)
		return 0;
	cp = n == 1 ? p[0] : p[0] & (0x7fU >> n);
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		cp = cp << 6 | (p[i] & 0x3f);
	}
	if (cp < lowest[n] || cp > 0x10ffff || (cp >= 0xd800 && cp <= 0xdfff))
		return 0;
	*ret_cp = cp;
	return n;
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

bool escape_is_unsafe(uint32_t cp)
{
	/* Controls, format characters (bidi marks, zero-width ones, tags), separators. */
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{0x00, 0x1f},	    {0x7f, 0x9f},	{0xad, 0xad},	    {0x600, 0x605},
		{0x61c, 0x61c},	    {0x6dd, 0x6dd},	{0x70f, 0x70f},	    {0x180e, 0x180e},
		{0x200b, 0x200f},   {0x2028, 0x202e},	{0x2060, 0x206f},   {0xfeff, 0xfeff},
		{0xfff9, 0xfffb},   {0x110bd, 0x110bd}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
		{0xe0000, 0xe0fff},
	};

	if ((cp & 0xfffe) == 0xfffe || (cp >= 0xfdd0 && cp <= 0xfdef))
		return true; /* not characters, and not allowed in HTML */
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (cp >= ranges[i].first && cp <= ranges[i].last)
			return true;
	return false;
}

/* Whether it can stay unchanged: valid UTF-8 and, for inert text, nothing unsafe. */
static bool is_clean(const char *s, size_t len, bool inert)
{
	uint32_t cp = 0;

	for (size_t i = 0; i < len;) {
		size_t n = escape_decode(s + i, len - i, &cp);

		if (!n || (inert && escape_is_unsafe(cp)))
			return false;
		i += n;
	}
	return true;
}

bool escape_is_utf8(const char *s, size_t len)
{
	return is_clean(s, len, false);
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

void escape_inert(FILE *out, const char *s, size_t len)
{
	if (is_clean(s, len, true))
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
