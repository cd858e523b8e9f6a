/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/environment.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "util/file.h"

#define ENVIRONMENT_MAX (64U << 20)

/* /proc/self/environ is root's while the process is not dumpable. No other process of the user
 * comes in meanwhile: who traces needs the capabilities that are held here. */
static int read_original(char **ret_text, size_t *ret_len)
{
	int dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), r;

	if (dumpable != 1)
		prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	r = file_read(AT_FDCWD, "/proc/self/environ", ENVIRONMENT_MAX, ret_text, ret_len);
	if (dumpable != 1)
		prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	return r;
}

static char **split(char *text, size_t len)
{
	size_t nr = 0;
	char **env;

	for (size_t at = 0; at < len; at += strlen(text + at) + 1)
		nr++;
	env = calloc(nr + 1, sizeof(*env));
	if (!env)
		return NULL;
	nr = 0;
	for (size_t at = 0; at < len; at += strlen(text + at) + 1)
		env[nr++] = text + at;
	return env;
}

char **environment_whole(void)
{
	static char **whole;
	char *text = NULL;
	size_t len = 0;

	if (whole || !getauxval(AT_SECURE))
		return whole ? whole : environ;
	if (!read_original(&text, &len))
		whole = split(text, len);
	if (!whole)
		free(text);
	return whole ? whole : environ;
}
