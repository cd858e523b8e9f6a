/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/base/errtext.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int errtext_set(struct errtext *e, int err, const char *fmt, ...)
{
	struct errtext made;
	va_list args;

	if (!e)
		return err;
	va_start(args, fmt);
	vsnprintf(made.text, sizeof(made.text), fmt, args);
	va_end(args);
	for (char *p = made.text; *p; p++) {
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
	}
	/* Up to its end: the rest is not initialized. */
	memcpy(e->text, made.text, strlen(made.text) + 1);
	return err;
}

void errtext_end_sentence(struct errtext *e)
{
	size_t len = strlen(e->text);

	if ((!len || e->text[len - 1] != '.') && len + 1 < sizeof(e->text))
		memcpy(e->text + len, ".", 2);
}
