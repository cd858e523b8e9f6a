/* SPDX-License-Identifier: BSD-2-Clause */
/* readahead_replay [RECORDING...]: prints how many runs of each the model reproduces exactly.
 * Default: stdin. */
#include <err.h>
#include <stdio.h>

#include "check.h"

static int replay(FILE *f)
{
	struct check_result result;
	int r = recording_check(f, stdout, &result);

	printf("%s %s: %u of %u exact, %lu pages\n", result.kernel, result.fstype, result.exact,
	       result.runs, result.pages);
	return r || result.exact != result.runs;
}

int main(int argc, char **argv)
{
	int wrong = 0;

	if (argc == 1)
		return replay(stdin);
	for (int i = 1; i < argc; i++) {
		FILE *f = fopen(argv[i], "re");

		if (!f)
			err(1, "%s", argv[i]);
		wrong |= replay(f);
		fclose(f);
	}
	return wrong;
}
