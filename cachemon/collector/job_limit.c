/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/collector/job_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cachemon/collector/machine_parse.h"
#include "cachemon/job/proctree.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/base/file.h"

#define FILE_MAX (1U << 20)
enum { LEVELS_MAX = 16, CHARGED_AHEAD = 64 << 12 }; /* include/linux/memcontrol.h: a batch */

/* file: a line of memory.stat; "oom_kill" is one of events, v1's without those of cgroups below. */
static const struct {
	const char *limit, *usage, *file, *events;
} names[] = {
	[CGROUP_V2] = {"memory.max", "memory.current", "file", "memory.events"},
	[CGROUP_V1_MEMORY] = {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_cache",
			      "memory.oom_control"},
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
	struct sample_limit found = {.limit_bytes = MACHINE_UNKNOWN, .oom_kills = MACHINE_UNKNOWN};
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

static int64_t event_of(enum cgroup_kind kind, const char *dir, const char *event)
{
	_cleanup_free_ char *text = text_of(dir, names[kind].events);

	return text ? machine_parse_stat(text, event) : MACHINE_UNKNOWN;
}

static int64_t kills_in(enum cgroup_kind kind, const char *dir, int levels)
{
	int64_t kills = event_of(kind, dir, "oom_kill");
	_cleanup_closedir_ DIR *d = NULL;
	const struct dirent *entry;

	if (kind == CGROUP_V2 || kills < 0 || !levels)
		return kills;
	d = file_opendir(AT_FDCWD, dir);
	while (d && (entry = readdir(d))) {
		char below[PATH_MAX];
		int64_t more;

		if (entry->d_type != DT_DIR || *entry->d_name == '.' ||
		    snprintf(below, sizeof(below), "%s/%s", dir, entry->d_name) >=
			    (int)sizeof(below))
			continue;
		more = kills_in(kind, below, levels - 1);
		kills += more > 0 ? more : 0;
	}
	return kills;
}

/* How often an allocation failed at the limit of a cgroup. v1 has no such count (failcnt is of
 * those too that reclaim helped, and not of all): there it is 1 where the limit was ever full. */
static int64_t failures_in(enum cgroup_kind kind, const char *dir, int64_t limit)
{
	int64_t most;

	if (kind == CGROUP_V2)
		return event_of(kind, dir, "oom");
	most = number_of(dir, "memory.max_usage_in_bytes");
	return most < 0 ? most : most >= limit - CHARGED_AHEAD;
}

/* At limits of the cgroup and of those above it. */
static int64_t failures(const struct job_cgroup *c)
{
	char dir[PATH_MAX];
	int64_t sum = 0;

	snprintf(dir, sizeof(dir), "%s", c->dir);
	while (strlen(dir) >= strlen(c->top) && *dir) {
		int64_t limit = limit_of(c->kind, dir);
		int64_t n = limit < 0 ? 0 : failures_in(c->kind, dir, limit);

		if (n < 0)
			return n;
		sum += n;
		*strrchr(dir, '/') = '\0';
	}
	return sum;
}

/* A count that falls is that of a cgroup that is gone. */
static void count(int64_t now, int64_t *last, int64_t *sum)
{
	if (now < 0 || *sum < 0)
		*sum = MACHINE_UNKNOWN;
	else if (now > *last)
		*sum += now - *last;
	*last = now;
}

void job_oom_look(struct job_oom *o, const struct job_cgroup *c)
{
	int64_t kills = kills_in(c->kind, c->dir, LEVELS_MAX), failed = failures(c);

	if (strcmp(o->dir, c->dir) != 0) {
		/* What was before is not of this run; what it saw in another cgroup is. */
		memcpy(o->dir, c->dir, sizeof(o->dir));
		o->last_kills = kills;
		o->last_failed = c->kind == CGROUP_V2 ? failed : 0;
	}
	/* One that is gone was last seen with all that is known of it. */
	if (kills < 0 && access(c->dir, F_OK))
		return;
	count(kills, &o->last_kills, &o->kills);
	count(failed, &o->last_failed, &o->failed);
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

	/* v1 shows one that ends in the root. */
	snprintf(dir, sizeof(dir), "%s/proc", root);
	if (proctree_flags(dir, pid) & PROCTREE_EXITING)
		return -ENOENT;
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
