/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/job_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "capture/machine_parse.h"
#include "util/cleanup.h"
#include "util/file.h"

#define FILE_MAX (1U << 20)

static const struct {
	const char *limit, *usage, *file; /* the last one a line of memory.stat */
} names[] = {
	[CGROUP_V2] = {"memory.max", "memory.current", "file"},
	[CGROUP_V1_MEMORY] = {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_cache"},
};

static char *text_of(const char *dir, const char *name)
{
	_cleanup_free_ char *path = NULL;
	char *text = NULL;
	size_t len;

	if (asprintf(&path, "%s/%s", dir, name) < 0) {
		path = NULL;
		return NULL;
	}
	return file_read(AT_FDCWD, path, FILE_MAX, &text, &len) ? NULL : text;
}

static int64_t number_of(const char *dir, const char *name)
{
	_cleanup_free_ char *text = text_of(dir, name);

	return text ? machine_parse_number(text) : MACHINE_UNKNOWN;
}

/* "max" is no number; v1 has one of 2^63 less a page for none. */
static int64_t limit_of(enum cgroup_kind kind, const char *dir)
{
	int64_t n = number_of(dir, names[kind].limit);

	return n >= INT64_MAX / 2 ? MACHINE_UNKNOWN : n;
}

void job_limit_read(const struct job_cgroup *c, struct sample_limit *ret)
{
	struct sample_limit found = {.limit_bytes = MACHINE_UNKNOWN};
	_cleanup_free_ char *stat = NULL;
	char dir[PATH_MAX];

	snprintf(dir, sizeof(dir), "%s", c->dir);
	snprintf(found.at, sizeof(found.at), "%s", c->dir);
	while (strlen(dir) >= strlen(c->top) && *dir) {
		int64_t limit = limit_of(c->kind, dir);

		if (limit >= 0 && (found.limit_bytes < 0 || limit < found.limit_bytes)) {
			found.limit_bytes = limit;
			memcpy(found.at, dir, sizeof(found.at));
		}
		*strrchr(dir, '/') = '\0';
	}
	found.usage_bytes = number_of(found.at, names[c->kind].usage);
	stat = text_of(found.at, "memory.stat");
	found.file_bytes = stat ? machine_parse_stat(stat, names[c->kind].file) : MACHINE_UNKNOWN;
	*ret = found;
}

/* "0::/a/b" or "4:cpu,memory:/a/b". */
static const char *path_in(const char *line, enum cgroup_kind kind)
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

static bool place(const struct mount *m, const char *path, struct job_cgroup *ret)
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

int job_cgroup_of_process(const char *root, const struct mountinfo *mounts, pid_t pid,
			  struct job_cgroup *ret)
{
	static const enum cgroup_kind kinds[] = {CGROUP_V1_MEMORY, CGROUP_V2};
	_cleanup_free_ char *text = NULL;
	char dir[PATH_MAX];

	snprintf(dir, sizeof(dir), "%s/proc/%d", root, (int)pid);
	text = text_of(dir, "cgroup");
	for (size_t i = 0; text && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const struct mount *m = cgroup_mount(mounts, kinds[i]);

		for (char *line = text; m && *line;) {
			size_t len = strcspn(line, "\n");
			char one[PATH_MAX];
			const char *path;

			snprintf(one, sizeof(one), "%.*s", (int)len, line);
			path = path_in(one, kinds[i]);
			ret->kind = kinds[i];
			if (path && place(m, path, ret))
				return 0;
			line += len + (line[len] == '\n');
		}
	}
	return -ENOENT;
}
