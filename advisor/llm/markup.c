/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
#include <string.h>

#include "advisor/llm/check_impl.h"

/* Anywhere in a text. A single '_' is part of many names, a single '*' of none that is shown. */
static const char *const signs[] = {
	"<",  ">",  "`",  "*", "~~", "\\", "@", "://", "//", "](",
	"][", "]:", "![", "{", "}",  "^",  "|", "==",  "__", NULL,
};

static const char *const schemes[] = {
	"www.",
	"http:",
	"https:",
	"ftp:",
	"ftps:",
	"file:",
	"mailto:",
	"tel:",
	"javascript:",
	"vbscript:",
	"data:text",
	"data:image",
	"data:application",
	"blob:",
	"ssh:",
	NULL,
};

/* "&lt;", "&#60;" */
static bool is_entity(const char *at)
{
	size_t n = 1;

	if (*at != '&')
		return false;
	n += at[n] == '#';
	while (isalnum((unsigned char)at[n]))
		n++;
	return n > 1 && at[n] == ';';
}

static bool is_host_char(char c)
{
	return isalnum((unsigned char)c) || c == '-' || c == '.';
}

/* "evil.example" at the beginning of a word. New ends of such names come every year: any word is
 * one, and only names of what was sent are none. "e.g." has none. */
static bool is_host(const struct pack *p, const char *text, const char *at)
{
	size_t len = 0, last;

	if (!isalnum((unsigned char)*at) || (at > text && (is_host_char(at[-1]) || at[-1] == '_')))
		return false;
	while (is_host_char(at[len]))
		len++;
	while (len && (at[len - 1] == '.' || at[len - 1] == '-'))
		len--;
	for (last = len; last && isalpha((unsigned char)at[last - 1]);)
		last--;
	if (!last || at[last - 1] != '.' || at[len] == '_')
		return false;
	return len - last >= 2 && !find_term(p, at, len);
}

/* "_word_" and "#" in front, "1." and "-" as of lists. */
static bool is_block(const char *text)
{
	size_t n = strspn(text, "#");

	if (n && text[n] == ' ')
		return true;
	return strchr("-+=>", *text) && (text[1] == ' ' || text[1] == *text);
}

static bool is_emphasis(const char *text, const char *at)
{
	bool begins = at == text || (!isalnum((unsigned char)at[-1]) && at[-1] != '_');

	return *at == '_' && begins && isalnum((unsigned char)at[1]) && strchr(at + 1, '_') &&
	       !isalnum((unsigned char)strchr(at + 1, '_')[1]);
}

bool markup_in(const struct pack *p, const char *text)
{
	if (is_block(text))
		return true;
	for (size_t i = 0; signs[i]; i++)
		if (strstr(text, signs[i]))
			return true;
	for (size_t i = 0; schemes[i]; i++)
		if (strcasestr(text, schemes[i]))
			return true;
	for (const char *at = text; *at; at++)
		if (is_entity(at) || is_host(p, text, at) || is_emphasis(text, at))
			return true;
	return false;
}
