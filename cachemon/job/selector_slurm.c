/* SPDX-License-Identifier: BSD-2-Clause */
/* Jobs of Slurm: with a cgroup, or without, by their slurmstepd. */
#include "cachemon/job/selector_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/cleanup.h"
#include "cachemon/base/quote.h"
#include "cachemon/base/text_builder.h"

/* The name and partition in a job's own environment: a hint, which its user can change. */
struct slurm_hint {
	const struct selector_places *places;
	struct selector_identity *identity; /* with the job's number */
};

static bool has_hint(pid_t pid, void *arg)
{
	struct slurm_hint *h = arg;
	const char *proc = h->places->proc_root;
	const struct invoker *inv = h->places->invoker;
	_cleanup_free_ char *job = NULL;
	struct proctree_about about;

	/* /proc shows a process's environment to its user and to root. */
	if (pid <= 0 || proctree_about(proc, pid, &about) ||
	    (inv && inv->uid && inv->uid != about.real))
		return false;
	job = proctree_environment(proc, pid, "SLURM_JOB_ID");
	if (!job || strcmp(job, h->identity->id) != 0)
		return false;
	h->identity->job_name = proctree_environment(proc, pid, "SLURM_JOB_NAME");
	h->identity->partition = proctree_environment(proc, pid, "SLURM_JOB_PARTITION");
	return true;
}

/* "12.batch" -> 12, batch. */
static int identify(struct selector_identity *identity, const char *value)
{
	size_t len = strcspn(value, ".");

	free(identity->id);
	identity->kind = find_kind_name(FIND_SLURM);
	identity->id = strndup(value, len);
	identity->step = value[len] ? strdup(value + len + 1) : NULL;
	return identity->id && (identity->step || !value[len]) ? 0 : -ENOMEM;
}

/* A number alone is not a name. */
static int name_slurm_job(struct selector *s, const char *value)
{
	_cleanup_free_ char *quoted = NULL;
	int e = quote_word(value, &quoted);

	free(s->name);
	s->name = NULL;
	return e ? e : text_print(&s->name, "slurm:%s", quoted);
}

/* A job without a cgroup (proctrack/linuxproc): its processes descend from slurmstepd, one per
 * step, whose title names the step. */
static int resolve_slurm_steps(const struct selector_places *places, const char *value,
			       struct selector *ret, struct errtext *err)
{
	struct selector s = {.kind = SELECTED_PIDS, .cgroup.fd = -1, .uid = -1};
	_cleanup_free_ char *title = NULL, *quoted = NULL;
	_cleanup_free_ pid_t *steps = NULL;
	struct proctree_about about;
	size_t nr = 0;
	int e = text_print(&title, "slurmstepd: [%s%s", value, strchr(value, '.') ? "]" : ".");

	if (e)
		return errtext_set(err, e, "out of memory");
	e = selector_refuse_other_pids(places, err);
	if (e)
		return e;
	e = proctree_titled(places->proc_root, "slurmstepd", title, &steps, &nr);
	if (e == -EACCES)
		return errtext_set(
			err, e,
			"cannot see which program Slurm's process '%s' runs: run cachemon "
			"as root, or with CAP_SYS_PTRACE",
			title);
	if (!e && !nr)
		return -ENOENT;
	if (!e)
		e = proctree_descendants(places->proc_root, steps, nr, NULL, &s.tgids, &s.nr_tgids,
					 &s.nr_roots);
	for (size_t i = 0; !e && i < s.nr_tgids; i++) {
		/* slurmstepd is root's. */
		if (i && i < s.nr_roots)
			continue;
		if (proctree_about(places->proc_root, s.tgids[i], &about))
			continue;
		s.pid = s.tgids[i];
		s.uid = about.uid;
		if (i)
			break;
	}
	if (!e)
		e = quote_word(value, &quoted);
	if (!e)
		e = text_print(&s.text, "slurm: %s, without a cgroup, pid: %d, uid: %lld", quoted,
			       s.tgids[0], (long long)s.uid);
	if (e == -ESRCH)
		e = -ENOENT;
	if (e)
		selector_free(&s);
	else
		*ret = s;
	return e && e != -ENOENT ? errtext_set(err, e, "%s: %s", value, strerror(-e)) : e;
}

/* "5_3", as squeue names a task of an array. Only the task's environment has this number, which its
 * user can change. */
static bool is_array_task(const char *value)
{
	size_t array = strspn(value, "0123456789");
	size_t task = value[array] == '_' ? strspn(value + array + 1, "0123456789") : 0;

	return array && task && strchr(".", value[array + 1 + task]);
}

int selector_slurm(const struct selector_places *places, const char *value, struct selector *ret,
		   struct errtext *err)
{
	struct selector s;
	struct slurm_hint hint = {places, &s.identity};
	int e = selector_found(places, 1U << FIND_SLURM, value, &s, err);

	if (e == -ENOENT)
		e = resolve_slurm_steps(places, value, &s, err);
	if (e == -ENOENT && is_array_task(value))
		return errtext_set(err, e,
				   "slurm:%s is a task of a job array: give the number of its own "
				   "job (JobId in 'scontrol show job %.*s')",
				   value, (int)strcspn(value, "."), value);
	if (e == -ENOENT)
		return selector_refuse_kind(
			places, "Slurm job", value,
			", and for its slurmstepd in the list of processes. Check "
			"that it has begun on this node and has not ended",
			err);
	if (e)
		return e;
	e = identify(&s.identity, value);
	if (!e && s.kind == SELECTED_CGROUP)
		cgroup_each_process(&s.cgroup, has_hint, &hint);
	else
		for (size_t i = 0; !e && i < s.nr_tgids && !has_hint(s.tgids[i], &hint); i++)
			;
	if (!e)
		e = selector_add_names(&s);
	if (!e)
		e = name_slurm_job(&s, value);
	if (e) {
		selector_free(&s);
		return errtext_set(err, e, "%s: %s", value, strerror(-e));
	}
	*ret = s;
	return 0;
}
