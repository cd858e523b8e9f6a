/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/base/text_builder.h"

#include <stdlib.h>

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
