/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/job/memory_cgroup.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "cachemon/base/cleanup.h"
#include "cachemon/base/file.h"
#include "cachemon/base/text_builder.h"

#define FILE_MAX (1U << 20)

/* Only two hierarchies have them. key NULL: the file has a single number. */
static const struct {
	const char *file, *key;
} places[CGROUP_KINDS][MEMORY_FIGURES] = {
	[CGROUP_V2] = {[MEMORY_LIMIT] = {"memory.max"},
		       [MEMORY_USAGE] = {"memory.current"},
		       [MEMORY_CACHED] = {"memory.stat", "file"},
		       [MEMORY_OOM] = {"memory.events", "oom"},
		       [MEMORY_OOM_KILLS] = {"memory.events", "oom_kill"}},
	[CGROUP_V1_MEMORY] = {[MEMORY_LIMIT] = {"memory.limit_in_bytes"},
			      [MEMORY_USAGE] = {"memory.usage_in_bytes"},
			      [MEMORY_CACHED] = {"memory.stat", "total_cache"},
			      [MEMORY_OOM_KILLS] = {"memory.oom_control", "oom_kill"},
			      [MEMORY_MOST] = {"memory.max_usage_in_bytes"}},
};

static int64_t number_of_line(const char *p)
{
	unsigned long long n;
	char *end;

	if (!isdigit((unsigned char)*p))
		return MEMORY_UNKNOWN;
	errno = 0;
	n = strtoull(p, &end, 10);
	return errno || n > INT64_MAX || (*end && *end != '\n') ? MEMORY_UNKNOWN : (int64_t)n;
}

int64_t memory_cgroup_stat(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (const char *p = text; p; p = strchr(p, '\n'), p = p ? p + 1 : NULL)
		if (!strncmp(p, key, len) && p[len] == ' ')
			return number_of_line(p + len + 1);
	return MEMORY_UNKNOWN;
}

/* NULL: it cannot be read. */
static char *text_of_file(const char *dir, const char *name)
{
	_cleanup_free_ char *path = NULL;
	char *text = NULL;
	size_t len;

	if (text_print(&path, "%s/%s", dir, name) ||
	    file_read(AT_FDCWD, path, FILE_MAX, &text, &len))
		return NULL;
	return text;
}

int64_t memory_cgroup_read(enum cgroup_kind kind, const char *dir, enum memory_figure what)
{
	const char *file = places[kind][what].file, *key = places[kind][what].key;
	_cleanup_free_ char *text = file ? text_of_file(dir, file) : NULL;
	int64_t n;

	if (!text)
		return MEMORY_UNKNOWN;
	n = key ? memory_cgroup_stat(text, key) : number_of_line(text);
	/* "max" is not a number; v1 uses 2^63 minus a page for no limit. */
	return what == MEMORY_LIMIT && n >= INT64_MAX / 2 ? MEMORY_UNKNOWN : n;
}

/* "0::/a/b" or "4:cpu,memory:/a/b": the path in that hierarchy; NULL: another hierarchy, or not
 * visible from here. */
static const char *path_in_hierarchy(const char *line, enum cgroup_kind kind)
{
	const char *controllers = strchr(line, ':');
	const char *path = controllers ? strchr(controllers + 1, ':') : NULL;
	char list[256];

	if (!path || strstr(path, "/.."))
		return NULL;
	snprintf(list, sizeof(list), "%.*s", (int)(path - controllers - 1), controllers + 1);
	if (kind == CGROUP_V2 ? *list : !mountinfo_has_option(list, "memory"))
		return NULL;
	return path + 1;
}

/* False: outside the mounted part, as in a container that sees another's cgroup. */
static bool place_in_mount(const struct mount *m, const char *path, struct memory_cgroup *ret)
{
	size_t root = strcmp(m->root, "/") == 0 ? 0 : strlen(m->root);
	int n;

	if (strncmp(path, m->root, root) != 0 || (root && path[root] && path[root] != '/'))
		return false;
	path += root;
	n = snprintf(ret->dir, sizeof(ret->dir), "%s%s", m->point, strcmp(path, "/") ? path : "");
	snprintf(ret->top, sizeof(ret->top), "%s", m->point);
	return n < (int)sizeof(ret->dir);
}

int memory_cgroup_of(const char *proc_root, const char *who, const struct mountinfo *mounts,
		     enum cgroup_kind kind, struct memory_cgroup *ret)
{
	const struct mount *m = cgroup_mount(mounts, kind);
	_cleanup_free_ char *text = NULL;
	char name[64], *rest = NULL;

	snprintf(name, sizeof(name), "%s/cgroup", who);
	text = m ? text_of_file(proc_root, name) : NULL;
	for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line;
	     line = strtok_r(NULL, "\n", &rest)) {
		const char *path = path_in_hierarchy(line, kind);

		if (!path || !place_in_mount(m, path, ret))
			continue;
		ret->kind = kind;
		return 0;
	}
	return -ENOENT;
}

bool memory_cgroup_up(struct memory_cgroup *c)
{
	if (strlen(c->dir) <= strlen(c->top))
		return false;
	*strrchr(c->dir, '/') = '\0';
	return *c->dir;
}
