/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/daemon/discover.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachemon/access/mountinfo.h"
#include "cachemon/access/paths.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/base/clock.h"
#include "cachemon/base/file.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/base/vec.h"
#include "cachemon/job/job_names.h"

/* Depth of a walk; and how often the name of a job is looked for. */
enum { DEPTH_MAX = 64, TRIES_MAX = 8 };
enum { PROC_MAX = 1 << 20, WALK_SHARE = 20 };
#define WALK_EVERY_NS UINT64_C(1000000000)
#define NO_HIERARCHY  UINT32_MAX

struct job {
	struct discover_job shown;
	struct job *next;
	char *id, *name;
	struct cgroup_ref *cgroups;
	size_t room;
	int tries;	/* searches for its name */
	bool waits;	/* a new pod: its name comes with its first container */
	bool announced; /* the receiver knows it */
	bool changed;	/* and does not know this yet */
};

/* A cgroup that a walk has seen. */
struct seen {
	uint64_t id;
	enum cgroup_kind kind;
};

struct discover {
	const struct discover_places *places;
	const struct node_config *config;
	const struct discover_events *events;
	void *arg;
	/* Some hundreds. Every record is looked up one by one: a comparison of two numbers. */
	struct job *jobs;
	uint32_t hierarchies[CGROUP_KINDS]; /* the kernel's numbers */
	uint32_t highest;		    /* of all hierarchies, also of others */

	bool stale, walking;
	uint64_t dropped, next_walk_ns, walks;
	struct mountinfo mounts; /* of the last walk */
	struct seen *seen;
	size_t nr_seen, seen_room;
};

/* Without memory for a job: a later walk finds it. */
static void give_up(struct discover *d)
{
	d->stale = true;
}

static void free_job(struct job *j)
{
	for (size_t i = 0; i < j->shown.nr_cgroups; i++)
		cgroup_close(&j->cgroups[i]);
	free(j->cgroups);
	free(j->id);
	free(j->name);
	free(j);
}

static bool is_wanted(const struct discover *d, const struct job *j)
{
	return j->shown.nr_cgroups && !j->waits &&
	       node_config_selects(d->config, find_kind_name(j->shown.kind), j->name ?: j->id);
}

static void announce(struct discover *d, struct job *j)
{
	bool wanted = is_wanted(d, j);

	j->shown.id = j->id;
	j->shown.name = j->name;
	j->shown.cgroups = j->cgroups;
	if (wanted && !j->announced)
		d->events->appeared(d->arg, &j->shown);
	else if (wanted)
		d->events->changed(d->arg, &j->shown);
	else if (j->announced)
		d->events->gone(d->arg, &j->shown);
	if (!wanted)
		j->shown.data = 0;
	j->announced = wanted;
	j->changed = false;
}

/* And frees jobs without cgroups. */
static void announce_changed(struct discover *d)
{
	struct job **at = &d->jobs, *j;

	while ((j = *at)) {
		if (j->changed)
			announce(d, j);
		if (j->shown.nr_cgroups) {
			at = &j->next;
		} else {
			*at = j->next;
			free_job(j);
		}
	}
}

/* The changes of a walk are announced together, so that a job has its cgroups of every hierarchy.
 */
static void has_changed(struct discover *d, struct job *j)
{
	j->changed = true;
	if (!d->walking)
		announce_changed(d);
}

static struct job *job_with_cgroup(const struct discover *d, enum cgroup_kind kind, uint64_t id,
				   size_t *ret_at)
{
	for (struct job *j = d->jobs; j; j = j->next)
		for (size_t c = 0; c < j->shown.nr_cgroups; c++)
			if (j->cgroups[c].id == id && j->cgroups[c].kind == kind) {
				*ret_at = c;
				return j;
			}
	return NULL;
}

static struct job *job_with_id(const struct discover *d, enum find_kind kind, const char *id)
{
	struct job *j = d->jobs;

	while (j && (j->shown.kind != kind || strcmp(j->id, id) != 0))
		j = j->next;
	return j;
}

static bool find_name(struct discover *d, struct job *j)
{
	int err = 0;

	if (j->name || j->tries++ >= TRIES_MAX)
		return false;
	if (j->shown.kind == FIND_CONTAINER)
		err = job_names_of_container(d->places->root, j->id, &j->name);
	else if (j->shown.kind == FIND_POD)
		err = job_names_of_pod(d->places->root, j->id, &j->name);
	if (err)
		give_up(d);
	return j->name;
}

static struct job *add_job(struct discover *d, enum find_kind kind, const char *id)
{
	struct job *j = calloc(1, sizeof(*j)), **end = &d->jobs;

	if (!j || !(j->id = strdup(id))) {
		free(j);
		return NULL;
	}
	j->shown.kind = kind;
	find_name(d, j);
	j->waits = kind == FIND_POD && !j->name && !d->walking;
	while (*end)
		end = &(*end)->next;
	*end = j;
	return j;
}

static bool add_cgroup(struct job *j, enum cgroup_kind kind, uint64_t id, unsigned int level,
		       const char *path)
{
	struct cgroup_ref ref = {.kind = kind, .id = id, .level = level, .fd = -1};

	ref.path = strdup(path);
	if (!ref.path || vec_reserve(j->cgroups, j->room, j->shown.nr_cgroups + 1)) {
		free(ref.path);
		return false;
	}
	j->cgroups[j->shown.nr_cgroups++] = ref;
	return true;
}

/* A container of a pod, or what a container made: its runtime has now written the name. */
static void look_at_owner(struct discover *d, enum cgroup_kind kind, const char *path)
{
	for (struct job *j = d->jobs; j; j = j->next) {
		bool owns = false;

		for (size_t c = 0; c < j->shown.nr_cgroups && !j->name; c++)
			owns |= j->cgroups[c].kind == kind && paths_below(path, j->cgroups[c].path);
		if (owns && (find_name(d, j) || j->waits)) {
			j->waits = false;
			has_changed(d, j);
			return;
		}
	}
}

/* Whether only root can make cgroups where this one is. Users own cgroups of their own, in which
 * they could imitate any name; what has gone already is nobody's job. */
static bool is_made_by_root(const struct discover *d, enum cgroup_kind kind, const char *path)
{
	const struct mount *m = cgroup_mount(&d->mounts, kind);
	const char *below = m ? paths_below(path, m->root) : NULL, *last = paths_last(path);
	_cleanup_free_ char *above = NULL;
	struct stat sb;

	if (!below ||
	    text_print(&above, "%s/%.*s", m->point, (int)(strlen(below) - strlen(last)), below))
		return false;
	return !stat(above, &sb) && (!sb.st_uid || sb.st_uid == geteuid());
}

/* There is a cgroup; perhaps it is known. */
static void see_cgroup(struct discover *d, enum cgroup_kind kind, uint64_t id, unsigned int level,
		       const char *path)
{
	char name[FIND_NAME_MAX];
	enum find_kind found;
	struct job *j;
	size_t at;

	if (job_with_cgroup(d, kind, id, &at))
		return;
	if (!find_classify(path, &found, name)) {
		look_at_owner(d, kind, path);
		return;
	}
	/* A step belongs to its job. */
	if ((found == FIND_SLURM && strchr(name, '.')) || !is_made_by_root(d, kind, path))
		return;
	j = job_with_id(d, found, name) ?: add_job(d, found, name);
	if (!j || !add_cgroup(j, kind, id, level, path)) {
		give_up(d);
		return;
	}
	has_changed(d, j);
}

static void lose_cgroup(struct discover *d, struct job *j, size_t at)
{
	cgroup_close(&j->cgroups[at]);
	j->cgroups[at] = j->cgroups[--j->shown.nr_cgroups];
	has_changed(d, j);
}

/* The hierarchy of the first kind, if it has several controllers. */
static enum cgroup_kind kind_of(const struct discover *d, uint32_t hierarchy)
{
	enum cgroup_kind kind = CGROUP_V2;

	while (kind < CGROUP_KINDS && d->hierarchies[kind] != hierarchy)
		kind++;
	return kind;
}

void discover_birth(void *arg, const struct birth *b)
{
	struct discover *d = arg;
	enum cgroup_kind kind = kind_of(d, b->hierarchy);
	struct job *j;
	size_t at;

	/* Slurm's daemon may mount a controller when it starts. */
	if (kind == CGROUP_KINDS && b->hierarchy > d->highest)
		give_up(d);
	/* A path that may be cut is longer than that of any job. */
	if (kind == CGROUP_KINDS || strnlen(b->path, BIRTH_PATH_MAX) >= BIRTH_PATH_MAX - 1)
		return;
	if (b->event != BIRTH_REMOVED) {
		see_cgroup(d, kind, b->id, b->level, b->path);
		return;
	}
	j = job_with_cgroup(d, kind, b->id, &at);
	if (j)
		lose_cgroup(d, j, at);
}

/* Lines NUMBER:CONTROLLERS:PATH. */
static int read_hierarchies(struct discover *d)
{
	_cleanup_free_ char *text = NULL;
	char *rest = NULL, *end;
	size_t len;
	int err = file_read(AT_FDCWD, d->places->cgroup, PROC_MAX, &text, &len);

	for (int kind = CGROUP_V2; kind < CGROUP_KINDS && !err; kind++)
		d->hierarchies[kind] = NO_HIERARCHY;
	for (char *line = err ? NULL : strtok_r(text, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		uint32_t number = (uint32_t)strtoul(line, &end, 10);
		char *of = end + 1;

		if (*end != ':' || !(end = strchr(of, ':')))
			continue;
		*end = '\0';
		d->highest = number > d->highest ? number : d->highest;
		for (enum cgroup_kind kind = CGROUP_V2; kind < CGROUP_KINDS; kind++)
			if (kind == CGROUP_V2 ? !*of
					      : mountinfo_has_option(of, cgroup_controllers[kind]))
				d->hierarchies[kind] = number;
	}
	return err;
}

static int note_seen(struct discover *d, enum cgroup_kind kind, uint64_t id)
{
	if (vec_reserve(d->seen, d->seen_room, d->nr_seen + 1))
		return -ENOMEM;
	d->seen[d->nr_seen++] = (struct seen){id, kind};
	return 0;
}

/* Skips directories that vanish meanwhile. */
static int walk_tree(struct discover *d, enum cgroup_kind kind, int parent, const char *name,
		     const char *path, unsigned int level)
{
	_cleanup_closedir_ DIR *dir = file_opendir(parent, name);
	const struct dirent *entry;
	int err = 0;

	if (!dir)
		return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? -errno : 0;
	while (!err && (errno = 0, entry = readdir(dir))) {
		_cleanup_free_ char *below = NULL;

		if (entry->d_type != DT_DIR || !strcmp(entry->d_name, ".") ||
		    !strcmp(entry->d_name, ".."))
			continue;
		if (text_print(&below, "%s/%s", path, entry->d_name))
			return -ENOMEM;
		if (strlen(below) >= BIRTH_PATH_MAX - 1)
			continue;
		see_cgroup(d, kind, entry->d_ino, level, below);
		err = note_seen(d, kind, entry->d_ino);
		if (!err && level < DEPTH_MAX && find_holds_jobs(below))
			err = walk_tree(d, kind, dirfd(dir), entry->d_name, below, level + 1);
	}
	return err ?: -errno;
}

static unsigned int level_of(const char *root)
{
	unsigned int level = 1;

	for (const char *c = root; *c; c++)
		level += *c == '/';
	return level;
}

static int walk_hierarchy(struct discover *d, enum cgroup_kind kind)
{
	const struct mount *m = cgroup_mount(&d->mounts, kind);
	const char *root;

	if (!m || kind_of(d, d->hierarchies[kind]) != kind)
		return 0;
	root = strcmp(m->root, "/") == 0 ? "" : m->root;
	return walk_tree(d, kind, AT_FDCWD, m->point, root, level_of(root));
}

static int compare_seen(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

/* Whether the walk would have seen it: the hierarchy, or this part of it, may not be mounted. */
static bool is_visible(const struct discover *d, const struct cgroup_ref *ref)
{
	const struct mount *m = cgroup_mount(&d->mounts, ref->kind);

	return m && paths_below(ref->path, m->root);
}

static void drop_unseen(struct discover *d)
{
	if (d->nr_seen)
		qsort(d->seen, d->nr_seen, sizeof(*d->seen), compare_seen);
	for (struct job *j = d->jobs; j; j = j->next)
		for (size_t c = j->shown.nr_cgroups; c-- > 0;) {
			struct seen key = {j->cgroups[c].id, j->cgroups[c].kind};

			if (is_visible(d, &j->cgroups[c]) &&
			    !(d->nr_seen &&
			      bsearch(&key, d->seen, d->nr_seen, sizeof(key), compare_seen)))
				lose_cgroup(d, j, c);
		}
}

/*
 * The kernel sends a record while the call that makes or removes the directory still holds the lock
 * of its parent, and readdir() waits for that lock. So a walk sees what the records consumed before
 * it say, and later records say what it may have missed.
 */
static int walk(struct discover *d)
{
	int err;

	mountinfo_free(&d->mounts);
	d->nr_seen = 0;
	d->walks++;
	err = mountinfo_read(d->places->mountinfo, &d->mounts);
	if (!err)
		err = read_hierarchies(d);
	d->walking = true;
	for (enum cgroup_kind kind = CGROUP_V2; kind < CGROUP_KINDS && !err; kind++)
		err = walk_hierarchy(d, kind);
	if (!err)
		drop_unseen(d);
	d->walking = false;
	announce_changed(d);
	return err;
}

int discover_settle(struct discover *d, uint64_t dropped, uint64_t now_ns, uint64_t *ret_due_ns)
{
	uint64_t began_ns, took_ns;
	int err;

	*ret_due_ns = UINT64_MAX;
	d->stale |= dropped != d->dropped;
	d->dropped = dropped;
	if (!d->stale)
		return 0;
	*ret_due_ns = d->next_walk_ns;
	if (now_ns < d->next_walk_ns)
		return 0;
	began_ns = clock_now_ns();
	d->stale = false;
	err = walk(d);
	if (err)
		d->stale = true;
	took_ns = WALK_SHARE * (clock_now_ns() - began_ns);
	d->next_walk_ns = now_ns + (took_ns > WALK_EVERY_NS ? took_ns : WALK_EVERY_NS);
	*ret_due_ns = d->stale ? d->next_walk_ns : UINT64_MAX;
	return err;
}

void discover_again(struct discover *d)
{
	for (struct job *j = d->jobs; j; j = j->next)
		if (j->announced && !j->shown.data)
			d->events->changed(d->arg, &j->shown);
}

uint64_t discover_walks(const struct discover *d)
{
	return d->walks;
}

int discover_new(const struct discover_places *places, const struct node_config *config,
		 const struct discover_events *events, void *arg, struct discover **ret)
{
	struct discover *d = calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	*d = (struct discover){
		.places = places, .config = config, .events = events, .arg = arg, .stale = true};
	for (int kind = CGROUP_V2; kind < CGROUP_KINDS; kind++)
		d->hierarchies[kind] = NO_HIERARCHY;
	*ret = d;
	return 0;
}

void discover_select(struct discover *d, const struct node_config *config)
{
	d->config = config;
	for (struct job *j = d->jobs; j; j = j->next)
		j->changed = true;
	announce_changed(d);
}

void discover_free(struct discover *d)
{
	if (!d)
		return;
	for (struct job *j = d->jobs, *next; j; j = next) {
		next = j->next;
		free_job(j);
	}
	free(d->seen);
	mountinfo_free(&d->mounts);
	free(d);
}
