/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/cmd/cmd.h"

#include <stdio.h>

#include "cachemon/base/escape.h"

void cmd_say(const char *text)
{
	char shown[1200];

	escape_inert_to(shown, sizeof(shown), text);
	fprintf(stderr, "cachemon: %s\n", shown);
}

int cmd_finish(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	fprintf(stderr, "cachemon: cannot write to standard output\n");
	return status ? status : EXIT_FAILED;
}
