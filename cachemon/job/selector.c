/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/job/selector.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachemon/job/job_find.h"
#include "cachemon/job/proctree.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/base/file.h"
#include "cachemon/base/parse.h"
#include "cachemon/access/paths.h"
#include "cachemon/base/quote.h"
#include "cachemon/base/text_builder.h"

/* A command line may have megabytes; its beginning identifies it. */
enum { TEXT_MAX = 4096 };

/* proc_pid_ns(7): the first cgroup namespace's inode is fixed. */
#define INITIAL_CGROUP_NS "cgroup:[4026531835]"

static int describe_pid(const struct proctree_about *about, pid_t tgid, struct selector *s)
{
	const char *name = *about->name ? about->name : "pid";
	_cleanup_free_ char *quoted = NULL;
	int err = quote_word(name, &quoted);

	s->uid = about->uid;
	if (!err)
		err = text_print(&s->text, "pid: %d, command: %s, uid: %u", tgid, quoted,
				 about->uid);
	return err ? err : text_print(&s->name, "%s[%d]", quoted, tgid);
}

/* /proc does not show the process: its mount may hide other users' processes. */
static int refuse_absent(const struct selector_places *places, pid_t pid, struct errtext *err)
{
	_cleanup_free_ char *path = NULL;

	if (text_print(&path, "%s/%d", places->proc_root, pid))
		return -ENOMEM;
	/* For a directory in place of /proc, kill() is not meaningful. */
	if (!strcmp(places->proc_root, "/proc") && access(path, F_OK) &&
	    (!kill(pid, 0) || errno == EPERM))
		return errtext_set(err, -ESRCH,
				   "/proc hides process %d (mount option hidepid): run cachemon as "
				   "root, or with CAP_SYS_PTRACE",
				   pid);
	return errtext_set(err, -ESRCH, "no such process: %d", pid);
}

/* /proc of another pid namespace has other numbers than kill(1) and a shell's $!. */
static int refuse_other_pids(const struct selector_places *places, struct errtext *err)
{
	unsigned int up = 0;
	int e = proctree_levels_up(places->proc_root, &up);

	if (!e && !up)
		return 0;
	if (e && e != -ESRCH)
		return errtext_set(err, e, "cannot read %s/self/status: %s", places->proc_root,
				   strerror(-e));
	return errtext_set(err, -EOPNOTSUPP,
			   "%s belongs to another pid namespace, so a process id is ambiguous: "
			   "mount this one's (mount -t proc proc /proc), or run cachemon outside",
			   places->proc_root);
}

static int resolve_pid(const struct selector_places *places, const char *value,
		       struct selector *ret, struct errtext *err)
{
	struct selector s = {.kind = SELECTED_PIDS, .cgroup.fd = -1};
	struct proctree_about about;
	pid_t pid = 0, tgid = 0;
	int e = parse_pid(value, &pid);

	if (e)
		return errtext_set(err, e, "'%s' is not a process id: give a number from 1", value);
	e = refuse_other_pids(places, err);
	if (e)
		return e;
	e = proctree_tgid(places->proc_root, pid, &tgid);
	if (!e)
		e = proctree_about(places->proc_root, tgid, &about);
	if (!e && about.kernel)
		return errtext_set(err, -EINVAL,
				   "process %s (%s) is a kernel thread, which works for all jobs "
				   "and reads no files of its own; choose an ordinary process",
				   value, about.name);
	if (!e)
		e = proctree_descendants(places->proc_root, tgid, NULL, &s.tgids, &s.nr_tgids);
	if (e == -ESRCH)
		return refuse_absent(places, pid, err);
	if (e)
		return errtext_set(err, e, "cannot look at process %s in %s: %s", value,
				   places->proc_root, strerror(-e));
	e = describe_pid(&about, tgid, &s);
	if (e) {
		selector_free(&s);
		return errtext_set(err, e, "process %s: %s", value, strerror(-e));
	}
	*ret = s;
	return 0;
}

/* In a cgroup namespace depths count from its root, and the kernel's ancestor tables do not. */
static int refuse_namespace(const struct selector_places *places, struct errtext *err)
{
	_cleanup_free_ char *path = NULL;
	char link[64];
	ssize_t n;

	if (text_print(&path, "%s/self/ns/cgroup", places->proc_root))
		return -ENOMEM;
	n = readlink(path, link, sizeof(link) - 1);
	if (n < 0)
		return 0;
	link[n] = '\0';
	if (strcmp(link, INITIAL_CGROUP_NS) == 0)
		return 0;
	return errtext_set(
		err, -EOPNOTSUPP,
		"cgroups cannot be identified from inside a cgroup namespace: run cachemon on "
		"the host, or use --pid or a command");
}

/* The uid of the first process in a cgroup; -1: none is visible. */
static int64_t user_of_cgroup(const struct selector_places *places, const struct cgroup_ref *ref)
{
	_cleanup_free_ char *path = NULL, *pids = NULL;
	struct proctree_about about;
	size_t len = 0;
	pid_t pid = 0;

	if (text_print(&path, "%s/cgroup.procs", ref->dir) ||
	    file_read(AT_FDCWD, path, 16U << 20, &pids, &len))
		return -1;
	pids[strcspn(pids, "\n")] = '\0';
	if (parse_pid(pids, &pid) || proctree_about(places->proc_root, pid, &about))
		return -1;
	return about.uid;
}

/* prefix: "slurm: 12, " and similar, or "". Takes ownership of ref, also on failure. */
static int select_cgroup(const struct selector_places *places, struct cgroup_ref *ref,
			 const char *prefix, const char *name, struct selector *ret,
			 struct errtext *err)
{
	struct selector s = {.kind = SELECTED_CGROUP, .cgroup = *ref};
	_cleanup_free_ char *path = NULL;
	char user[32] = "";
	int e = quote_word(ref->path, &path);

	s.uid = user_of_cgroup(places, ref);
	if (s.uid >= 0)
		snprintf(user, sizeof(user), ", uid: %u", (uid_t)s.uid);
	if (!e)
		e = text_print(&s.text, "%scgroup: %s%s", prefix, path, user);
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
	return select_cgroup(places, &ref, "", *last ? last : ref.path, ret, err);
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
		return select_cgroup(places, &ref, "", value, ret, err);
	e = quote_word(value, &quoted);
	if (!e)
		e = text_print(&prefix, "%s: %s, ", find_kind_name(kind), quoted);
	if (e) {
		cgroup_close(&ref);
		return errtext_set(err, e, "%s: %s", value, strerror(-e));
	}
	return select_cgroup(places, &ref, prefix, value, ret, err);
}

static int resolve_name(const struct selector_places *places, const char *value,
			struct selector *ret, struct errtext *err)
{
	unsigned int named = 1U << FIND_UNIT | 1U << FIND_CONTAINER | 1U << FIND_LAST;
	bool number = *value && !value[strspn(value, "0123456789")];
	int e = resolve_found(places, named, value, ret, err);

	if (e != -ENOENT)
		return e;
	if (number)
		return errtext_set(err, e,
				   "no job '%s': no systemd unit, container or cgroup has this "
				   "name; for a process or a Slurm job, give pid:%s or slurm:%s",
				   value, value, value);
	return errtext_set(err, e,
			   "no job '%s': no systemd unit, container id (12 or 64 hex digits) or "
			   "last component of a cgroup matches; give its kind (pid:N, slurm:ID, "
			   "cgroup:PATH), or a command after --",
			   value);
}

static int resolve_kind(const struct selector_places *places, enum find_kind kind,
			const char *value, struct selector *ret, struct errtext *err)
{
	int e = resolve_found(places, 1U << kind, value, ret, err);

	if (e != -ENOENT)
		return e;
	return errtext_set(
		err, e, "no cgroup of a %s '%s' in the v2 tree or under the v1 memory controller",
		kind == FIND_SLURM  ? "Slurm job"
		: kind == FIND_UNIT ? "systemd unit"
				    : "container",
		value);
}

int selector_of_job(const char *job, enum selector_request *ret_request, const char **ret_value,
		    struct errtext *err)
{
	static const struct {
		const char *prefix;
		int request; /* -1: not found by this version */
	} kinds[] = {
		{"pid:", SELECTOR_PID},
		{"cgroup:", SELECTOR_CGROUP},
		{"slurm:", SELECTOR_SLURM},
		{"unit:", SELECTOR_UNIT},
		{"container:", SELECTOR_CONTAINER},
		{"pod:", -1},
		{"vm:", -1},
	};

	*ret_request = SELECTOR_NAME;
	*ret_value = job;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t len = strlen(kinds[i].prefix);

		if (strncmp(job, kinds[i].prefix, len) != 0)
			continue;
		if (kinds[i].request < 0)
			return errtext_set(
				err, -ENOTSUP,
				"--job %s: this version cannot find a %.*s by name; give its "
				"cgroup with --cgroup PATH, or its process with --pid N",
				job, (int)len - 1, job);
		if (!job[len])
			return errtext_set(err, -EINVAL, "--job %s: a name is missing after '%s'",
					   job, kinds[i].prefix);
		*ret_request = (enum selector_request)kinds[i].request;
		*ret_value = job + len;
	}
	return 0;
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
	return errtext_set(err, -EINVAL, "unknown selector kind %d", (int)request);
}

int selector_command(char *const argv[], struct selector *ret)
{
	struct selector s = {.kind = SELECTED_COMMAND, .cgroup.fd = -1, .uid = -1};
	_cleanup_free_ char *words = NULL;
	int err = quote_words(argv, TEXT_MAX, &words);

	if (!err)
		err = text_print(&s.text, "command: %s", words);
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
