/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/base/utf8.h"

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

size_t utf8_decode(const char *s, size_t len, uint32_t *ret_cp)
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

bool utf8_is_unsafe(uint32_t cp)
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
		return true; /* no characters, and not allowed in HTML */
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (cp >= ranges[i].first && cp <= ranges[i].last)
			return true;
	return false;
}
