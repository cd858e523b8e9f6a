/* SPDX-License-Identifier: BSD-2-Clause */
/* Hierarchies of cgroups in a temporary directory. Include cmocka first. */
#ifndef CGROUP_TREE_H
#define CGROUP_TREE_H

#include "cachemon/job/cgroup.h"
#include "scratch.h"

/* A hybrid system in a directory: v2 at unified, v1 at memory and cpu (which cannot be watched). */
struct tree {
	struct scratch s;
	struct mountinfo mi;
};

static inline void tree_mounts(struct tree *t, const char *format)
{
	char text[8 * PATH_MAX];
	const char *d = t->s.dir;

	mountinfo_free(&t->mi);
	/* Some arguments may be unused. */
	snprintf(text, sizeof(text), format, d, d, d, d);
	assert_int_equal(mountinfo_parse(text, strlen(text), &t->mi), 0);
}

#define HYBRID                                                                                     \
	"1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"                                                     \
	"2 1 0:30 / %s/memory rw - cgroup cgroup rw,memory\n"                                      \
	"3 1 0:31 / %s/cpu rw - cgroup cgroup rw,cpu\n"                                            \
	"4 1 0:32 / %s/unified rw - cgroup2 cgroup2 rw\n"

static inline void add(struct tree *t, const char *dir, const char *procs)
{
	char name[PATH_MAX];

	snprintf(name, sizeof(name), "%s/cgroup.procs", dir);
	scratch_write(&t->s, name, procs);
}

static inline int setup(void **state)
{
	static struct tree t;

	memset(&t, 0, sizeof(t));
	scratch_new(&t.s);
	add(&t, "unified", "1\n");
	add(&t, "memory", "1\n");
	add(&t, "cpu", "1\n");
	tree_mounts(&t, HYBRID);
	*state = &t;
	return 0;
}

static inline int teardown(void **state)
{
	struct tree *t = *state;

	mountinfo_free(&t->mi);
	scratch_free(&t->s);
	return 0;
}

#endif
