/* SPDX-License-Identifier: BSD-2-Clause */
#include "job/selector.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job/find.h"
#include "job/proctree.h"
#include "util/cleanup.h"
#include "util/parse.h"
#include "util/paths.h"
#include "util/quote.h"

/* A command line may have megabytes; its beginning tells it. */
enum { TEXT_MAX = 4096 };

/* proc_pid_ns(7): the first cgroup namespace's inode is fixed. */
#define INITIAL_CGROUP_NS "cgroup:[4026531835]"

static int describe_pid(const struct selector_places *places, pid_t tgid, struct selector *s)
{
	_cleanup_free_ char *quoted = NULL;
	char comm[16];
	int err;

	proctree_name(places->proc_root, tgid, comm);
	err = quote_word(comm, &quoted);
	if (err)
		return err;
	if (asprintf(&s->text, "pid: %d", tgid) < 0) {
		s->text = NULL;
		return -ENOMEM;
	}
	if (asprintf(&s->name, "%s[%d]", *comm ? quoted : "pid", tgid) < 0) {
		s->name = NULL;
		return -ENOMEM;
	}
	return 0;
}

static int resolve_tgid(const struct selector_places *places, pid_t pid, const char *value,
			struct selector *ret, struct errtext *err)
{
	struct selector s = {.kind = SELECTED_PIDS, .cgroup.fd = -1};
	pid_t tgid = 0;
	int e = proctree_tgid(places->proc_root, pid, &tgid);

	if (!e)
		e = proctree_descendants(places->proc_root, tgid, NULL, &s.tgids, &s.nr_tgids);
	if (e == -ESRCH)
		return errtext_set(err, e, "no such process: %s", value);
	if (e)
		return errtext_set(err, e, "cannot look at process %s in %s: %s", value,
				   places->proc_root, strerror(-e));
	e = describe_pid(places, tgid, &s);
	if (e) {
		selector_free(&s);
		return errtext_set(err, e, "process %s: %s", value, strerror(-e));
	}
	*ret = s;
	return 0;
}

static int resolve_pid(const struct selector_places *places, const char *value,
		       struct selector *ret, struct errtext *err)
{
	pid_t pid = 0;
	int e = parse_pid(value, &pid);

	if (e)
		return errtext_set(err, e, "'%s' is no process id: give a number from 1", value);
	return resolve_tgid(places, pid, value, ret, err);
}

/* In a cgroup namespace depths count from its root, and the kernel's ancestor tables do not. */
static int refuse_namespace(const struct selector_places *places, struct errtext *err)
{
	_cleanup_free_ char *path = NULL;
	char link[64];
	ssize_t n;

	if (asprintf(&path, "%s/self/ns/cgroup", places->proc_root) < 0)
		return -ENOMEM;
	n = readlink(path, link, sizeof(link) - 1);
	if (n < 0)
		return 0;
	link[n] = '\0';
	if (strcmp(link, INITIAL_CGROUP_NS) == 0)
		return 0;
	return errtext_set(err, -EOPNOTSUPP,
			   "cgroups cannot be told from inside a cgroup namespace: run cachemon on "
			   "the host, or use --pid or a command");
}

/* prefix: "slurm: 12, " and the like, or "". Takes ref over, also on failure. */
static int select_cgroup(struct cgroup_ref *ref, const char *prefix, const char *name,
			 struct selector *ret, struct errtext *err)
{
	struct selector s = {.kind = SELECTED_CGROUP, .cgroup = *ref};
	_cleanup_free_ char *path = NULL;
	int e = quote_word(ref->path, &path);

	if (!e && asprintf(&s.text, "%scgroup: %s", prefix, path) < 0) {
		s.text = NULL;
		e = -ENOMEM;
	}
	if (!e)
		e = quote_word(name, &s.name);
	if (e) {
		selector_free(&s);
		return errtext_set(err, e, "cgroup %s: %s", name, strerror(-e));
	}
	*ret = s;
	return 0;
}

static int resolve_cgroup(const struct selector_places *places, const char *value,
			  struct selector *ret, struct errtext *err)
{
	struct cgroup_ref ref = {.fd = -1};
	const char *last;
	int e = cgroup_open(places->mounts, value, &ref, err);

	if (e)
		return e;
	last = paths_last(ref.path);
	return select_cgroup(&ref, "", *last ? last : ref.path, ret, err);
}

static int resolve_found(const struct selector_places *places, unsigned int kinds,
			 const char *value, struct selector *ret, struct errtext *err)
{
	_cleanup_free_ char *quoted = NULL, *prefix = NULL;
	struct cgroup_ref ref = {.fd = -1};
	enum find_kind kind = FIND_NR;
	int e = find_cgroup(places->mounts, kinds, value, &ref, &kind, err);

	if (e)
		return e;
	if (kind == FIND_LAST)
		return select_cgroup(&ref, "", value, ret, err);
	e = quote_word(value, &quoted);
	if (!e && asprintf(&prefix, "%s: %s, ", find_kind_name(kind), quoted) < 0) {
		prefix = NULL;
		e = -ENOMEM;
	}
	if (e) {
		cgroup_close(&ref);
		return errtext_set(err, e, "%s: %s", value, strerror(-e));
	}
	return select_cgroup(&ref, prefix, value, ret, err);
}

static int resolve_name(const struct selector_places *places, const char *value,
			struct selector *ret, struct errtext *err)
{
	unsigned int all = (1U << FIND_NR) - 1;
	pid_t pid = 0;
	int e = resolve_found(places, all, value, ret, err);

	if (e != -ENOENT)
		return e;
	if (parse_pid(value, &pid) == 0) {
		e = resolve_tgid(places, pid, value, ret, err);
		if (e != -ESRCH)
			return e;
	}
	return errtext_set(err, -ENOENT,
			   "no job '%s': tried a Slurm job, a systemd unit, a container id (12 or "
			   "64 hex digits), a cgroup's last component and a pid; or give a command "
			   "after --",
			   value);
}

static int resolve_kind(const struct selector_places *places, enum find_kind kind,
			const char *value, struct selector *ret, struct errtext *err)
{
	int e = resolve_found(places, 1U << kind, value, ret, err);

	if (e != -ENOENT)
		return e;
	return errtext_set(err, e,
			   "no cgroup of a %s '%s', neither in the v2 tree nor under the v1 memory "
			   "controller",
			   kind == FIND_SLURM  ? "Slurm job"
			   : kind == FIND_UNIT ? "systemd unit"
					       : "container",
			   value);
}

int selector_resolve(const struct selector_places *places, enum selector_request request,
		     const char *value, struct selector *ret, struct errtext *err)
{
	int e = request == SELECTOR_PID ? 0 : refuse_namespace(places, err);

	if (e)
		return e;
	switch (request) {
	case SELECTOR_PID:
		return resolve_pid(places, value, ret, err);
	case SELECTOR_CGROUP:
		return resolve_cgroup(places, value, ret, err);
	case SELECTOR_SLURM:
		return resolve_kind(places, FIND_SLURM, value, ret, err);
	case SELECTOR_UNIT:
		return resolve_kind(places, FIND_UNIT, value, ret, err);
	case SELECTOR_CONTAINER:
		return resolve_kind(places, FIND_CONTAINER, value, ret, err);
	case SELECTOR_NAME:
		return resolve_name(places, value, ret, err);
	}
	return errtext_set(err, -EINVAL, "unknown kind of selector %d", (int)request);
}

int selector_command(char *const argv[], struct selector *ret)
{
	struct selector s = {.kind = SELECTED_COMMAND, .cgroup.fd = -1};
	_cleanup_free_ char *words = NULL;
	int err = quote_words(argv, TEXT_MAX, &words);

	if (!err && asprintf(&s.text, "command: %s", words) < 0) {
		s.text = NULL;
		err = -ENOMEM;
	}
	if (!err)
		err = quote_word(paths_last(argv[0]), &s.name);
	if (err)
		selector_free(&s);
	else
		*ret = s;
	return err;
}

int selector_refresh_pids(const struct selector_places *places, struct selector *s,
			  const struct proctree_notes *notes)
{
	pid_t *tgids = NULL;
	size_t nr = 0;
	int err = proctree_descendants(places->proc_root, s->tgids[0], notes, &tgids, &nr);

	if (err)
		return err;
	free(s->tgids);
	s->tgids = tgids;
	s->nr_tgids = nr;
	return 0;
}

void selector_free(struct selector *s)
{
	if (!s)
		return;
	free(s->text);
	free(s->name);
	free(s->tgids);
	cgroup_close(&s->cgroup);
	memset(s, 0, sizeof(*s));
	s->cgroup.fd = -1;
}
