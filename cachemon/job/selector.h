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

#include "cachemon/access/invoker.h"
#include "cachemon/job/cgroup.h"
#include "cachemon/job/job_find.h"
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
	SELECTOR_POD,
	SELECTOR_VM,
	SELECTOR_NAME,
};

/* The names of the job in the system that runs it; NULL: unknown, or the kind has no such name. */
struct selector_identity {
	const char *kind; /* "command", "pid", or a name of find_kind_name() */
	char *id;	  /* pid, path of the cgroup, number of the Slurm job, or name as given */
	char *step;	  /* step of a Slurm job */
	char *job_name, *partition; /* as the environment of a Slurm job says; its user can change
				     * that. Or the name of a container or pod whose id is known */
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
	struct selector_identity identity;
	/* SELECTED_PIDS: the requested processes that live, then their present descendants, and the
	 * recorded ones of the last refresh. */
	pid_t *tgids;
	size_t nr_roots, nr_tgids;
	struct cgroup_ref cgroup; /* SELECTED_CGROUP; else .fd is -1 */
	pid_t pid;   /* a process of it when it was looked up; 0: none, or not visible from here */
	int64_t uid; /* user of that process; < 0: unknown, or a command that has not run yet */
};

struct selector_places {
	const char *proc_root; /* "/proc" */
	const struct mountinfo *mounts;
	const char *root; /* above the files of container runtimes; "" or NULL: this machine's */
	const struct invoker *invoker; /* user whose rootless containers count too; NULL: none */
};

/* Parses --job's "KIND:NAME" or a plain name. -EINVAL: the name is missing; then err is filled. */
int selector_of_job(const char *job, enum selector_request *ret_request, const char **ret_value,
		    struct errtext *err);

/* -EINVAL, -ERANGE: not a pid, or a kernel thread; -ESRCH: no such process; -EOPNOTSUPP: /proc has
 * other process ids; -ENOENT: the text says what was tried, and where; for cgroups, the errors of
 * cgroup_open() and find_cgroup(). An error always fills err. */
int selector_resolve(const struct selector_places *places, enum selector_request request,
		     const char *value, struct selector *ret, struct errtext *err);

/* A job whose cgroups are known: opens the first that has processes. name: of the job, NULL: id.
 * -ENOENT: they are gone, or others have their paths now. An error always fills err. */
int selector_of_cgroups(const struct selector_places *places, enum find_kind kind, const char *id,
			const char *name, const struct cgroup_ref *cgroups, size_t nr,
			struct selector *ret, struct errtext *err);

/* The process and the user of a cgroup as of now: when it was made, it had none. */
void selector_find_user(const char *proc_root, struct selector *s);

/* A command about to be run: nothing to look up. */
int selector_command(char *const argv[], struct selector *ret);

/* The present descendants; see proctree_descendants(). -ESRCH: the process has ended. */
int selector_refresh_pids(const struct selector_places *places, struct selector *s,
			  const struct proctree_notes *notes);

/* Its id and its name as labels of metrics, borrowed: as its system has them, not quoted. name:
 * that of the user or NULL; it is the id of a job whose own id is a pid or a path, because these
 * would make a series for each run. */
const char *selector_label(const struct selector *s, const char *name);
const char *selector_title(const struct selector *s, const char *name);

void selector_free(struct selector *s);

#endif
