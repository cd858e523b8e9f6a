/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/base/text_builder.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

FILE *text_begin(struct text_builder *b)
{
	*b = (struct text_builder){0};
	b->out = open_memstream(&b->text, &b->len);
	return b->out;
}

char *text_end(struct text_builder *b)
{
	if (!b->out)
		return NULL;
	if (fclose(b->out) != 0) {
		free(b->text);
		b->text = NULL;
	}
	b->out = NULL;
	return b->text;
}

const char *text_end_in(struct text_builder *b, struct arena *a)
{
	char *text = text_end(b);
	const char *ret = text ? arena_bytes(a, text, b->len).data : NULL;

	a->failed |= !ret;
	free(text);
	return ret;
}

int text_print(char **ret, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vasprintf(ret, fmt, args);
	va_end(args);
	if (n >= 0)
		return 0;
	*ret = NULL;
	return -ENOMEM;
}

bool text_replace(char **text, const char *now)
{
	char *copy = *text && !strcmp(*text, now) ? NULL : strdup(now);

	if (!copy)
		return false;
	free(*text);
	*text = copy;
	return true;
}
