/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/base/errtext.h"

#include <stdarg.h>
#include <stdio.h>

int errtext_set(struct errtext *e, int err, const char *fmt, ...)
{
	va_list args;

	if (!e)
		return err;
	va_start(args, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, args);
	va_end(args);
	for (char *p = e->text; *p; p++) {
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
	}
	return err;
}
