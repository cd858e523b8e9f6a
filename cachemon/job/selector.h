/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a run watches: a command, a process with its descendants, or a cgroup, from what the user
 * gave. Owns the resolved selector and its text. The places it looks at are given, so that tests
 * need neither privileges nor a real /proc.
 */
#ifndef SELECTOR_H
#define SELECTOR_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cachemon/job/cgroup.h"
#include "cachemon/job/proctree.h"
#include "cachemon/base/errtext.h"
#include "cachemon/access/mountinfo.h"

/* What was asked for; SELECTOR_NAME: a name without a kind, to be found. */
enum selector_request {
	SELECTOR_PID,
	SELECTOR_CGROUP,
	SELECTOR_SLURM,
	SELECTOR_UNIT,
	SELECTOR_CONTAINER,
	SELECTOR_NAME,
};

/* What it came to. */
enum selector_kind { SELECTED_COMMAND, SELECTED_PIDS, SELECTED_CGROUP };

struct selector {
	enum selector_kind kind;
	/* For the store and reports, UTF-8: "command: …", "pid: 12, command: cp, uid: 1000",
	 * "unit: a.service, cgroup: /a/a.service, uid: 0"; the user is its first process's. */
	char *text;
	char *name; /* of the job when the user gives none */
	/* SELECTED_PIDS: the process asked for, then its descendants of this moment, and those of
	 * the notes that it was refreshed with. */
	pid_t *tgids;
	size_t nr_tgids;
	struct cgroup_ref cgroup; /* SELECTED_CGROUP; else .fd is -1 */
	int64_t uid; /* of its first process; < 0: not known, or a command that was not run yet */
};

struct selector_places {
	const char *proc_root; /* "/proc" */
	const struct mountinfo *mounts;
};

/*
 * "KIND:NAME" or a name alone, as --job has it: what is asked for, and of which name. -ENOTSUP: a
 * kind of job that this version does not find; err is filled then.
 */
int selector_of_job(const char *job, enum selector_request *ret_request, const char **ret_value,
		    struct errtext *err);

/*
 * -EINVAL, -ERANGE: no pid, or a thread of the kernel; -ESRCH: no such process; -EOPNOTSUPP: /proc
 * has other process ids; cgroups as cgroup_open() and find_cgroup();
 * -ENOENT for SELECTOR_NAME: the text says which kinds were tried. err is always filled then.
 */
int selector_resolve(const struct selector_places *places, enum selector_request request,
		     const char *value, struct selector *ret, struct errtext *err);

/* A command about to be run: nothing to look up. */
int selector_command(char *const argv[], struct selector *ret);

/* The descendants of now; see proctree_descendants(). -ESRCH: the process has ended. */
int selector_refresh_pids(const struct selector_places *places, struct selector *s,
			  const struct proctree_notes *notes);

void selector_free(struct selector *s);

#endif
