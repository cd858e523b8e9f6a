/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/plan/fs_layers.h"

#include <stdlib.h>
#include <string.h>

#include "cachemon/base/cleanup.h"
#include "cachemon/access/mountinfo.h"

/* The next path of *list, which ends at a colon without a backslash; unescaped in place. NULL:
 * none. */
static char *next(char **list)
{
	char *from = *list, *to = *list, *p = *list;

	if (!p)
		return NULL;
	for (; *p && *p != ':'; p++) {
		if (*p == '\\' && p[1])
			p++;
		*to++ = *p;
	}
	*list = *p ? p + 1 : NULL;
	*to = '\0';
	return from;
}

static int visit_list(char *list, int (*visit)(const char *path, void *ctx), void *ctx)
{
	int ret = 0;
	char *path;

	while (!ret && (path = next(&list)))
		if (*path) /* "::" begins layers that hold data alone */
			ret = visit(path, ctx);
	return ret;
}

int fs_layers_each(const char *options, int (*visit)(const char *path, void *ctx), void *ctx)
{
	static const char *const keys[] = {"lowerdir=", "lowerdir+=", "datadir+=", "upperdir="};
	_cleanup_free_ char *copy = strdup(options);
	char *rest = copy, *option;
	int ret = 0;

	if (!copy)
		return -1;
	/* The commas between options first: those of a path are escaped, and not decoded yet. */
	while (!ret && (option = strsep(&rest, ","))) {
		mountinfo_decode(option);
		for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]) && !ret; i++) {
			size_t len = strlen(keys[i]);

			if (!strncmp(option, keys[i], len))
				ret = visit_list(option + len, visit, ctx);
		}
	}
	return ret;
}
