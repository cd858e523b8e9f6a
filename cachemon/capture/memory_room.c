/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/capture/memory_room.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/job/cgroup.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/base/file.h"
#include "cachemon/base/parse.h"

#define FILE_MAX (1U << 20)

struct files {
	enum cgroup_kind kind;
	const char *limit, *used, *cached; /* the last one a line of memory.stat */
};

static int read_number(const char *dir, const char *name, uint64_t *ret)
{
	_cleanup_free_ char *path = NULL, *text = NULL;
	size_t len = 0;
	int r;

	if (asprintf(&path, "%s/%s", dir, name) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	r = file_read(AT_FDCWD, path, FILE_MAX, &text, &len);
	if (r)
		return r;
	text[strcspn(text, "\n")] = '\0';
	return parse_u64(text, ret);
}

/* 0: unknown, and then nothing of what is used is taken for cache. */
static uint64_t read_cached(const char *dir, const char *key)
{
	_cleanup_free_ char *path = NULL, *text = NULL;
	const size_t key_len = strlen(key);
	uint64_t n = 0;
	size_t len = 0;
	char *rest = NULL;

	if (asprintf(&path, "%s/memory.stat", dir) < 0) {
		path = NULL;
		return 0;
	}
	if (file_read(AT_FDCWD, path, FILE_MAX, &text, &len))
		return 0;
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		if (!strncmp(line, key, key_len) && line[key_len] == ' ' &&
		    !parse_u64(line + key_len + 1, &n))
			return n;
	return 0;
}

static void look(const struct files *files, const char *dir, struct memory_room *room)
{
	uint64_t limit, used = 0, cached, left;

	/* "max" is no number; v1 has one of 2^63 less a page for none. */
	if (read_number(dir, files->limit, &limit) || limit >= UINT64_MAX / 4)
		return;
	read_number(dir, files->used, &used);
	cached = read_cached(dir, files->cached);
	used -= cached < used ? cached : used;
	left = used < limit ? limit - used : 0;
	if (left >= room->bytes)
		return;
	room->bytes = left;
	room->limit_bytes = limit;
	snprintf(room->cgroup, sizeof(room->cgroup), "%s", dir);
}

/* "0::/a/b", or "4:cpu,memory:/a/b": the path of the hierarchy. */
static bool path_in(const char *line, enum cgroup_kind kind, const char **ret_path)
{
	const char *controllers = strchr(line, ':'), *path;
	char list[256];

	path = controllers ? strchr(controllers + 1, ':') : NULL;
	if (!path)
		return false;
	snprintf(list, sizeof(list), "%.*s", (int)(path - controllers - 1), controllers + 1);
	*ret_path = path + 1;
	return kind == CGROUP_V2 ? !*list : mountinfo_has_option(list, "memory");
}

/* From the process's own cgroup up to the one that is mounted: each may have a limit. */
static void climb(const struct mount *m, const struct files *files, const char *path,
		  struct memory_room *room)
{
	size_t root = strcmp(m->root, "/") == 0 ? 0 : strlen(m->root), point = strlen(m->point);
	_cleanup_free_ char *dir = NULL;

	/* Outside of the mounted part, as in a container that sees another's. */
	if (strncmp(path, m->root, root) != 0 || (root && path[root] && path[root] != '/') ||
	    strstr(path, "/.."))
		return;
	if (asprintf(&dir, "%s%s", m->point, path + root) < 0) {
		dir = NULL;
		return;
	}
	for (;;) {
		look(files, dir, room);
		if (strlen(dir) <= point)
			return;
		*strrchr(dir, '/') = '\0';
	}
}

void memory_room_read(const char *proc_root, const struct mountinfo *mounts,
		      struct memory_room *ret)
{
	static const struct files hierarchies[] = {
		{CGROUP_V2, "memory.max", "memory.current", "file"},
		{CGROUP_V1_MEMORY, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_cache"},
	};
	_cleanup_free_ char *file = NULL, *text = NULL;
	struct memory_room room = {.limit_bytes = UINT64_MAX, .bytes = UINT64_MAX};
	char *rest = NULL;
	size_t len = 0;

	*ret = room;
	if (asprintf(&file, "%s/self/cgroup", proc_root) < 0) {
		file = NULL;
		return;
	}
	if (file_read(AT_FDCWD, file, FILE_MAX, &text, &len))
		return;
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		for (int i = 0; i < 2; i++) {
			const struct mount *m = cgroup_mount(mounts, hierarchies[i].kind);
			const char *path;

			if (m && path_in(line, hierarchies[i].kind, &path))
				climb(m, &hierarchies[i], path, &room);
		}
	}
	*ret = room;
}
