/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/base/environment.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "cachemon/base/cleanup.h"
#include "cachemon/base/file.h"

enum { FIELD_AFTER_NAME = 3, FIELD_ENV_START = 50, STAT_MAX = 4096 };

/*
 * Where the kernel put the strings of the environment. The loader takes pointers out of environ and
 * leaves the strings. /proc/self/environ has them too, but belongs to root in a process that is not
 * dumpable.
 */
static int find_strings(const char **ret_text, size_t *ret_len)
{
	_cleanup_free_ char *stat = NULL;
	uintptr_t start = 0, end = 0;
	const char *at, *strings;
	size_t len = 0;
	int r = file_read(AT_FDCWD, "/proc/self/stat", STAT_MAX, &stat, &len);

	if (r)
		return r;
	/* The name may hold anything, also ')'. */
	at = strrchr(stat, ')');
	for (int field = FIELD_AFTER_NAME; at && field <= FIELD_ENV_START; field++)
		at = strchr(at + 1, ' ');
	if (!at || sscanf(at, "%" SCNuPTR " %" SCNuPTR, &start, &end) != 2 || !start ||
	    end <= start)
		return -ENODATA;
	memcpy(&strings, &start, sizeof(strings));
	if (strings[end - start - 1])
		return -ENODATA;
	*ret_text = strings;
	*ret_len = end - start;
	return 0;
}

static char **split(const char *text, size_t len)
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
		env[nr++] = (char *)text + at;
	return env;
}

char **environment_whole(void)
{
	static char **whole;
	const char *text = NULL;
	size_t len = 0;

	if (whole || !getauxval(AT_SECURE))
		return whole ? whole : environ;
	if (!find_strings(&text, &len))
		whole = split(text, len);
	return whole ? whole : environ;
}
