/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/base/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool terminal_rewrites(FILE *out)
{
	return isatty(fileno(out)) && strcmp(getenv("TERM") ?: "dumb", "dumb");
}

size_t terminal_columns(FILE *out)
{
	struct winsize size;

	/* A terminal that does not report its width has the usual one. */
	if (ioctl(fileno(out), TIOCGWINSZ, &size) || !size.ws_col)
		return 80;
	return size.ws_col;
}

void terminal_clear_line(FILE *out)
{
	fputs("\r\033[K", out);
	fflush(out);
}
