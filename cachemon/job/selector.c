/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/job/selector_impl.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachemon/access/access.h"
#include "cachemon/job/job_names.h"
#include "cachemon/base/cleanup.h"
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
	s->pid = tgid;
	s->identity.kind = "pid";
	if (!err)
		err = text_print(&s->identity.id, "%d", tgid);
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

int selector_refuse_other_pids(const struct selector_places *places, struct errtext *err)
{
	unsigned int up = 0;
	int e = proctree_levels_up(places->proc_root, &up);

	if (!e && !up)
		return 0;
	if (e && e != -ESRCH)
		return errtext_set(err, e, "cannot read %s/self/status: %s", places->proc_root,
				   strerror(-e));
	return errtext_set(
		err, -EOPNOTSUPP,
		"%s belongs to another pid namespace, so a process id is ambiguous: mount a /proc "
		"of this namespace (mount -t proc proc /proc), or run cachemon outside",
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
	e = selector_refuse_other_pids(places, err);
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
		e = proctree_descendants(places->proc_root, &tgid, 1, NULL, &s.tgids, &s.nr_tgids,
					 &s.nr_roots);
	if (e == -ESRCH)
		return refuse_absent(places, pid, err);
	if (e)
		return errtext_set(err, e, "cannot read process %s in %s: %s", value,
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

/* The process that shows whose job a cgroup is: the first one. In a Slurm job that may be root's
 * slurmstepd, so it is the first of another user, if there is one. */
struct first_process {
	const char *proc_root;
	bool not_root;
	pid_t pid;   /* 0: none is visible */
	int64_t uid; /* < 0: unknown */
};

static bool take_visible(pid_t pid, void *arg)
{
	struct first_process *f = arg;
	struct proctree_about about;
	bool known = pid > 0 && !proctree_about(f->proc_root, pid, &about);
	bool wanted = known && (!f->not_root || about.uid);

	if (pid > 0 && (!f->pid || wanted)) {
		f->pid = pid;
		f->uid = known ? (int64_t)about.uid : -1;
	}
	return wanted;
}

/* Slurm's own directory of a user's jobs, on cgroup v1: /slurm/uid_1000/job_14; < 0: none. */
static int64_t slurm_user(const char *path)
{
	const char *at = strstr(path, "/uid_");
	char digits[16] = "";
	uint64_t uid;

	if (!at)
		return -1;
	at += strlen("/uid_");
	snprintf(digits, sizeof(digits), "%.*s", (int)strcspn(at, "/"), at);
	return parse_u64(digits, &uid) || uid >= UINT32_MAX ? -1 : (int64_t)uid;
}

void selector_find_user(const char *proc_root, struct selector *s)
{
	struct first_process first = {.proc_root = proc_root,
				      .not_root =
					      !strcmp(s->identity.kind, find_kind_name(FIND_SLURM)),
				      .uid = -1};

	cgroup_each_process(&s->cgroup, take_visible, &first);
	s->pid = first.pid;
	s->uid = first.uid;
	if (s->uid < 0 && first.not_root)
		s->uid = slurm_user(s->cgroup.path);
}

/* "unit: a.service, ", as the text of a selector begins; "" for a plain cgroup. */
static int kind_prefix(enum find_kind kind, const char *value, char **ret)
{
	_cleanup_free_ char *quoted = NULL;
	int e = kind == FIND_LAST ? 0 : quote_word(value, &quoted);

	if (e)
		return e;
	return quoted ? text_print(ret, "%s: %s, ", find_kind_name(kind), quoted)
		      : text_print(ret, "%s", "");
}

int selector_add_names(struct selector *s)
{
	_cleanup_free_ char *name = NULL, *partition = NULL, *text = NULL;
	int e = s->identity.job_name ? quote_word(s->identity.job_name, &name) : 0;

	if (!e && s->identity.partition)
		e = quote_word(s->identity.partition, &partition);
	if (!e)
		e = text_print(&text, "%s%s%s%s%s", s->text, name ? ", name: " : "", name ?: "",
			       partition ? ", partition: " : "", partition ?: "");
	if (e)
		return e;
	free(s->text);
	s->text = text;
	text = NULL;
	return 0;
}

/* value: as it was given. Takes ownership of ref, also on failure. */
static int select_cgroup(const struct selector_places *places, struct cgroup_ref *ref,
			 enum find_kind kind, const char *value, struct selector *ret,
			 struct errtext *err)
{
	struct selector s = {.kind = SELECTED_CGROUP, .cgroup = *ref, .uid = -1};
	_cleanup_free_ char *path = NULL, *prefix = NULL;
	const char *last = paths_last(ref->path), *name = value;
	char user[32] = "";
	int e = quote_word(ref->path, &path);

	if (kind == FIND_LAST)
		name = *last ? last : ref->path;
	s.identity.kind = find_kind_name(kind);
	selector_find_user(places->proc_root, &s);
	if (s.uid >= 0)
		snprintf(user, sizeof(user), ", uid: %u", (unsigned int)s.uid);
	s.identity.id = strdup(kind == FIND_LAST ? ref->path : value);
	if (!e && !s.identity.id)
		e = -ENOMEM;
	if (!e)
		e = kind_prefix(kind, value, &prefix);
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

static bool is_one_of(const struct cgroup_ref *ref, const struct cgroup_ref *cgroups, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (cgroups[i].kind == ref->kind && cgroups[i].id == ref->id)
			return true;
	return false;
}

int selector_of_cgroups(const struct selector_places *places, enum find_kind kind, const char *id,
			const char *name, const struct cgroup_ref *cgroups, size_t nr,
			struct selector *ret, struct errtext *err)
{
	const char *paths[CGROUP_KINDS] = {NULL};
	struct cgroup_ref ref = {.fd = -1};
	int e;

	errtext_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < nr; i++)
		paths[cgroups[i].kind] = cgroups[i].path;
	e = cgroup_open_first(places->mounts, paths, &ref, err);
	if (e)
		return e;
	if (!is_one_of(&ref, cgroups, nr)) {
		errtext_set(err, -ENOENT, "another cgroup has the path %s now", ref.path);
		cgroup_close(&ref);
		return -ENOENT;
	}
	e = select_cgroup(places, &ref, kind, id, ret, err);
	if (e || !name)
		return e;
	free(ret->name);
	ret->name = NULL;
	ret->identity.job_name = strdup(name);
	e = ret->identity.job_name ? quote_word(name, &ret->name) : -ENOMEM;
	if (!e)
		e = selector_add_names(ret);
	if (!e)
		return 0;
	selector_free(ret);
	return errtext_set(err, e, "cgroup %s: %s", name, strerror(-e));
}

static int resolve_cgroup(const struct selector_places *places, const char *value,
			  struct selector *ret, struct errtext *err)
{
	struct cgroup_ref ref = {.fd = -1};
	int e = cgroup_open(places->mounts, value, &ref, err);

	return e ? e : select_cgroup(places, &ref, FIND_LAST, value, ret, err);
}

int selector_found(const struct selector_places *places, unsigned int kinds, const char *value,
		   struct selector *ret, struct errtext *err)
{
	struct cgroup_ref ref = {.fd = -1};
	enum find_kind kind = FIND_NR;
	int e = find_cgroup(places->mounts, kinds, value, &ref, &kind, err);

	return e ? e : select_cgroup(places, &ref, kind, value, ret, err);
}

/* -ENOENT without a text: it has no cgroup, as when it has ended. */
static int open_named(const struct selector_places *places, enum find_kind kind,
		      const struct job_named *named, struct cgroup_ref *ret, struct errtext *err)
{
	const char *paths[CGROUP_KINDS];
	enum find_kind found;

	if (!named->path)
		return find_cgroup(places->mounts, 1U << kind, named->id, ret, &found, err);
	for (enum cgroup_kind at = CGROUP_V2; at < CGROUP_KINDS; at++)
		paths[at] = named->path;
	return cgroup_open_first(places->mounts, paths, ret, err);
}

/* The running one among those with a name. */
static int select_named(const struct selector_places *places, enum find_kind kind,
			const struct job_names *names, const char *value, struct selector *ret,
			struct errtext *err)
{
	struct cgroup_ref ref = {.fd = -1};
	int e = -ENOENT;

	for (size_t i = 0; i < names->nr; i++) {
		struct cgroup_ref other = {.fd = -1};
		int r = open_named(places, kind, &names->list[i], &other, err);

		if (r == -ENOENT)
			continue;
		if (!r && ref.fd >= 0 && strcmp(ref.path, other.path) != 0)
			r = errtext_set(err, -ENOTUNIQ,
					"'%s' names several %ss, in the cgroups %s and %s: choose "
					"with --cgroup PATH",
					value, find_kind_name(kind), ref.path, other.path);
		if (r || ref.fd >= 0)
			cgroup_close(&other);
		else
			ref = other;
		e = r;
		if (r)
			break;
	}
	if (!e)
		return select_cgroup(places, &ref, kind, value, ret, err);
	cgroup_close(&ref);
	return e;
}

static int containers_of_user(const struct invoker *inv, const char *value, struct job_names *names)
{
	struct access saved = {0};
	int e;

	if (!inv || !inv->home || access_enter(inv, &saved))
		return 0;
	e = job_names_podman_of_user(inv->home, value, names);
	access_leave(&saved);
	return e;
}

static int resolve_container_name(const struct selector_places *places, const char *value,
				  struct selector *ret, struct errtext *err)
{
	struct job_names names = {0};
	int e = job_names_containers(places->root ?: "", value, &names);

	if (!e)
		e = containers_of_user(places->invoker, value, &names);
	if (e)
		errtext_set(err, e, "%s: %s", value, strerror(-e));
	else
		e = select_named(places, FIND_CONTAINER, &names, value, ret, err);
	job_names_free(&names);
	return e;
}

static int resolve_name(const struct selector_places *places, const char *value,
			struct selector *ret, struct errtext *err)
{
	_cleanup_free_ char *searched = cgroup_searched(places->mounts);
	const char *where = searched && *searched ? searched : "any cgroup mount";
	unsigned int named =
		1U << FIND_UNIT | 1U << FIND_CONTAINER | 1U << FIND_VM | 1U << FIND_LAST;
	bool number = *value && !value[strspn(value, "0123456789")];
	int e = selector_found(places, named, value, ret, err);

	if (e == -ENOENT)
		e = resolve_container_name(places, value, ret, err);
	if (e != -ENOENT)
		return e;
	if (number)
		return errtext_set(
			err, e,
			"no job '%s': no systemd unit, container or cgroup below %s has "
			"this name; for a process or a Slurm job, give pid:%s or slurm:%s",
			value, where, value, value);
	return errtext_set(
		err, e,
		"no job '%s': no systemd unit, container, virtual machine or cgroup below %s "
		"has that name; say what it is (pid:N, slurm:ID, pod:NAMESPACE/NAME, "
		"cgroup:PATH), or give a command after --",
		value, where);
}

int selector_refuse_kind(const struct selector_places *places, const char *what, const char *value,
			 const char *more, struct errtext *err)
{
	_cleanup_free_ char *searched = cgroup_searched(places->mounts);

	return errtext_set(
		err, -ENOENT, "no %s '%s': looked for its cgroup below %s%s", what, value,
		searched && *searched ? searched : "a cgroup mount, but found none", more);
}

static int resolve_unit(const struct selector_places *places, const char *value,
			struct selector *ret, struct errtext *err)
{
	int e = selector_found(places, 1U << FIND_UNIT, value, ret, err);

	return e == -ENOENT ? selector_refuse_kind(places, "systemd unit", value, "", err) : e;
}

static int resolve_vm(const struct selector_places *places, const char *value, struct selector *ret,
		      struct errtext *err)
{
	int e = selector_found(places, 1U << FIND_VM, value, ret, err);

	return e == -ENOENT
		       ? selector_refuse_kind(places, "virtual machine of libvirt", value, "", err)
		       : e;
}

/* The name of a container or pod given by its id, if a file of this machine has one. */
static int add_known_name(const struct selector_places *places, enum find_kind kind,
			  struct selector *s, struct errtext *err)
{
	char id[FIND_NAME_MAX];
	enum find_kind found;
	int e;

	if (!find_classify(s->cgroup.path, &found, id) || found != kind)
		return 0;
	e = (kind == FIND_POD ? job_names_of_pod : job_names_of_container)(places->root ?: "", id,
									   &s->identity.job_name);
	if (!e)
		e = selector_add_names(s);
	if (!e)
		return 0;
	selector_free(s);
	return errtext_set(err, e, "%s: %s", id, strerror(-e));
}

static int resolve_container(const struct selector_places *places, const char *value,
			     struct selector *ret, struct errtext *err)
{
	int e = selector_found(places, 1U << FIND_CONTAINER, value, ret, err);

	if (!e)
		return add_known_name(places, FIND_CONTAINER, ret, err);
	if (e == -ENOENT)
		e = resolve_container_name(places, value, ret, err);
	if (e != -ENOENT)
		return e;
	return selector_refuse_kind(places, "running container", value,
				    " (an id needs at least 12 digits), and for its name "
				    "in " JOB_NAMES_CONTAINER_PLACES,
				    err);
}

static int resolve_pod(const struct selector_places *places, const char *value,
		       struct selector *ret, struct errtext *err)
{
	struct job_names names = {0};
	int e = selector_found(places, 1U << FIND_POD, value, ret, err);

	if (!e)
		return add_known_name(places, FIND_POD, ret, err);
	if (e == -ENOENT && job_names_pods(places->root ?: "", value, &names))
		e = errtext_set(err, -ENOMEM, "out of memory");
	else if (e == -ENOENT)
		e = select_named(places, FIND_POD, &names, value, ret, err);
	job_names_free(&names);
	if (e != -ENOENT)
		return e;
	return selector_refuse_kind(places, "running pod", value,
				    ", and for NAMESPACE/NAME in " JOB_NAMES_POD_PLACES, err);
}

int selector_of_job(const char *job, enum selector_request *ret_request, const char **ret_value,
		    struct errtext *err)
{
	static const struct {
		const char *prefix;
		enum selector_request request;
	} kinds[] = {
		{"pid:", SELECTOR_PID},
		{"cgroup:", SELECTOR_CGROUP},
		{"slurm:", SELECTOR_SLURM},
		{"unit:", SELECTOR_UNIT},
		{"container:", SELECTOR_CONTAINER},
		{"pod:", SELECTOR_POD},
		{"vm:", SELECTOR_VM},
	};

	*ret_request = SELECTOR_NAME;
	*ret_value = job;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t len = strlen(kinds[i].prefix);

		if (strncmp(job, kinds[i].prefix, len) != 0)
			continue;
		if (!job[len])
			return errtext_set(err, -EINVAL, "--job %s: a name is missing after '%s'",
					   job, kinds[i].prefix);
		*ret_request = kinds[i].request;
		*ret_value = job + len;
	}
	return 0;
}

int selector_resolve(const struct selector_places *places, enum selector_request request,
		     const char *value, struct selector *ret, struct errtext *err)
{
	static int (*const resolve[])(const struct selector_places *places, const char *value,
				      struct selector *ret, struct errtext *err) = {
		[SELECTOR_PID] = resolve_pid,
		[SELECTOR_CGROUP] = resolve_cgroup,
		[SELECTOR_SLURM] = selector_slurm,
		[SELECTOR_UNIT] = resolve_unit,
		[SELECTOR_CONTAINER] = resolve_container,
		[SELECTOR_POD] = resolve_pod,
		[SELECTOR_VM] = resolve_vm,
		[SELECTOR_NAME] = resolve_name,
	};
	int e = request == SELECTOR_PID ? 0 : refuse_namespace(places, err);

	return e ? e : resolve[request](places, value, ret, err);
}

int selector_command(char *const argv[], struct selector *ret)
{
	struct selector s = {
		.kind = SELECTED_COMMAND, .cgroup.fd = -1, .uid = -1, .identity.kind = "command"};
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
	int err = proctree_descendants(places->proc_root, s->tgids, s->nr_roots, notes, &tgids, &nr,
				       &s->nr_roots);

	if (err)
		return err;
	free(s->tgids);
	s->tgids = tgids;
	s->nr_tgids = nr;
	return 0;
}

/* Its id is the whole path. */
static bool is_plain_cgroup(const struct selector *s)
{
	return strcmp(s->identity.kind, find_kind_name(FIND_LAST)) == 0;
}

const char *selector_label(const struct selector *s, const char *name)
{
	const char *kind = s->identity.kind;

	if (!strcmp(kind, "command") || !strcmp(kind, "pid"))
		return name ?: s->name;
	if (is_plain_cgroup(s))
		return name ?: *paths_last(s->cgroup.path) ? paths_last(s->cgroup.path) : s->name;
	return s->identity.id ?: name ?: s->name;
}

const char *selector_title(const struct selector *s, const char *name)
{
	return name ?: s->identity.job_name ?: selector_label(s, NULL);
}

void selector_free(struct selector *s)
{
	if (!s)
		return;
	free(s->text);
	free(s->name);
	free(s->identity.id);
	free(s->identity.step);
	free(s->identity.job_name);
	free(s->identity.partition);
	free(s->tgids);
	cgroup_close(&s->cgroup);
	memset(s, 0, sizeof(*s));
	s->cgroup.fd = -1;
}
