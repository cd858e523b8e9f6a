/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/render/glossary.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cachemon/base/text_builder.h"
#include "glossary_text.h"

/* "- **term**: definition", which continues in indented lines. */
#define ENTRY_BEGIN "- **"
#define TERM_END    "**: "

static const char *next_line(const char *at)
{
	const char *end = strchr(at, '\n');

	return end ? end + 1 : at + strlen(at);
}

/* The definition on one line, without the marks of Markdown. */
static char *plain(const char *definition)
{
	struct text_builder b;
	FILE *out = text_begin(&b);

	for (const char *p = definition; out && *p; p++) {
		if (*p == '\n' && strncmp(p, "\n  ", 3) != 0)
			break;
		if (*p == '\n') {
			putc(' ', out);
			p += 2;
		} else if (*p != '*' && *p != '`') {
			putc(*p, out);
		}
	}
	return text_end(&b);
}

static const char *definition_of(const char *name, size_t len)
{
	for (const char *at = glossary_text[0].text; *at; at = next_line(at)) {
		const char *term = at + strlen(ENTRY_BEGIN);

		if (!strncmp(at, ENTRY_BEGIN, strlen(ENTRY_BEGIN)) &&
		    !strncasecmp(term, name, len) &&
		    !strncmp(term + len, TERM_END, strlen(TERM_END)))
			return term + len + strlen(TERM_END);
	}
	return NULL;
}

char *glossary_find(const char *name)
{
	static const char *const endings[] = {"", "s", "es", "ed"};
	size_t len = strlen(name);

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		size_t end = strlen(endings[i]);
		const char *found = NULL;

		if (len > end && !strcasecmp(name + len - end, endings[i]))
			found = definition_of(name, len - end);
		if (found)
			return plain(found);
	}
	return NULL;
}
