// SPDX-License-Identifier: BSD-2-Clause
#include <err.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"

static const char *const names[] = {
	[LOOKS_CACHESTAT] = "cachestat",
	[LOOKS_MINCORE] = "mincore",
	[LOOKS_BOTH] = "both",
};

static enum looks choose(void)
{
	const char *asked = getenv("WL_ORACLE");

	if (!asked || !*asked)
		return cachestat_exists() ? LOOKS_CACHESTAT : LOOKS_MINCORE;
	for (unsigned int i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(names[i], asked))
			continue;
		if (i != LOOKS_MINCORE && !cachestat_exists())
			errx(2, "WL_ORACLE=%s: this kernel has no cachestat(2)", asked);
		return (enum looks)i;
	}
	errx(2, "WL_ORACLE=%s is not one of cachestat, mincore, both", asked);
}

enum looks looks(void)
{
	static bool chosen;
	static enum looks choice;

	/* Chosen by the first look, in the main thread. */
	if (!chosen)
		choice = choose();
	chosen = true;
	return choice;
}

const char *looks_name(void)
{
	return names[looks()];
}

bool looks_see_flight(void)
{
	return looks() == LOOKS_CACHESTAT;
}
