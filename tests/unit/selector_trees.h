/* SPDX-License-Identifier: BSD-2-Clause */
/* A machine with cgroups in a temporary directory, for tests of the selector. Include cmocka first.
 */
#ifndef SELECTOR_TREES_H
#define SELECTOR_TREES_H

#include "cachemon/job/selector.h"
#include "scratch.h"

struct trees {
	struct scratch s;
	struct mountinfo mi;
	struct selector_places places;
	char proc[PATH_MAX]; /* of own_proc() */
};

static inline int setup(void **state)
{
	static struct trees t;
	char text[2 * PATH_MAX];

	memset(&t, 0, sizeof(t));
	scratch_new(&t.s);
	scratch_write(&t.s, "v2/cgroup.procs", "1\n");
	scratch_write(&t.s, "v2/a b/train/cgroup.procs", "1\n");
	scratch_write(&t.s, "v2/77/cgroup.procs", "");
	scratch_write(&t.s, "v2/system.slice/slurmstepd.scope/job_400/cgroup.procs", "100\n1\n");
	scratch_write(&t.s, "v2/system.slice/slurmstepd.scope/job_400/step_batch/cgroup.procs", "");
	scratch_write(&t.s, "v2/system.slice/db.service/cgroup.procs", "1\n");
	scratch_write(&t.s, "v2/\033\xff/cgroup.procs", "1\n");
	snprintf(text, sizeof(text),
		 "1 0 8:1 / / rw - ext4 x rw\n2 1 0:32 / %s/v2 rw - cgroup2 none rw\n", t.s.dir);
	assert_int_equal(mountinfo_parse(text, strlen(text), &t.mi), 0);
	t.places = (struct selector_places){
		.proc_root = FIXTURES "/proc", .mounts = &t.mi, .root = t.s.dir};
	*state = &t;
	return 0;
}

static inline int teardown(void **state)
{
	struct trees *t = *state;

	mountinfo_free(&t->mi);
	scratch_free(&t->s);
	return 0;
}

/* The places with a /proc in the temporary directory, "proc", instead of the fixture. */
static inline struct selector_places own_proc(struct trees *t)
{
	struct selector_places ret = t->places;

	ret.proc_root = scratch_path(&t->s, "proc", t->proc);
	scratch_symlink(&t->s, "proc/self/ns/cgroup", "cgroup:[4026531835]");
	return ret;
}

static inline bool has(const struct selector *s, pid_t tgid)
{
	for (size_t i = 0; i < s->nr_tgids; i++) {
		if (s->tgids[i] == tgid)
			return true;
	}
	return false;
}

#endif
