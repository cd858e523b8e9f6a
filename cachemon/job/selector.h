/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The job that a run watches: a command, a process with its descendants, or a cgroup, from the
 * user's options. Owns the resolved selector and its text. The directories to search are
 * parameters, so that tests need neither privileges nor a real /proc.
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

/* The user's request; SELECTOR_NAME: a name of unknown kind, to be found. */
enum selector_request {
	SELECTOR_PID,
	SELECTOR_CGROUP,
	SELECTOR_SLURM,
	SELECTOR_UNIT,
	SELECTOR_CONTAINER,
	SELECTOR_NAME,
};

/* The result. */
enum selector_kind { SELECTED_COMMAND, SELECTED_PIDS, SELECTED_CGROUP };

struct selector {
	enum selector_kind kind;
	/* For the store and reports, UTF-8: "command: …", "pid: 12, command: cp, uid: 1000",
	 * "unit: a.service, cgroup: /a/a.service, uid: 0"; the user is that of the first
	 * process. */
	char *text;
	char *name; /* default name of the job */
	/* SELECTED_PIDS: the requested process, then its present descendants, and the recorded
	 * ones of the last refresh. */
	pid_t *tgids;
	size_t nr_tgids;
	struct cgroup_ref cgroup; /* SELECTED_CGROUP; else .fd is -1 */
	int64_t uid; /* of its first process; < 0: unknown, or a command that has not run yet */
};

struct selector_places {
	const char *proc_root; /* "/proc" */
	const struct mountinfo *mounts;
};

/*
 * Parses --job's "KIND:NAME" or a plain name. -ENOTSUP: a kind of job that this version does not
 * support; then err is filled.
 */
int selector_of_job(const char *job, enum selector_request *ret_request, const char **ret_value,
		    struct errtext *err);

/*
 * -EINVAL, -ERANGE: not a pid, or a kernel thread; -ESRCH: no such process; -EOPNOTSUPP: /proc has
 * other process ids; cgroups as cgroup_open() and find_cgroup(); -ENOENT for SELECTOR_NAME: the
 * text lists the tried kinds. err is always filled then.
 */
int selector_resolve(const struct selector_places *places, enum selector_request request,
		     const char *value, struct selector *ret, struct errtext *err);

/* A command about to be run: nothing to look up. */
int selector_command(char *const argv[], struct selector *ret);

/* The present descendants; see proctree_descendants(). -ESRCH: the process has ended. */
int selector_refresh_pids(const struct selector_places *places, struct selector *s,
			  const struct proctree_notes *notes);

void selector_free(struct selector *s);

#endif
