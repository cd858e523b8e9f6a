/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/job/job_find.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/cleanup.h"
#include "cachemon/base/file.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/access/paths.h"

/* The UID of a static pod has no dashes: 32 digits. */
enum { ID_DIGITS = 64, ID_PREFIX_MIN = 12, UID_DIGITS = 32, DEPTH_MAX = 64 };

struct search {
	unsigned int kinds;
	const char *name;
	enum find_kind best; /* FIND_NR: nothing found */
	char *path;
	char *second; /* another match of the same kind */
};

const char *find_kind_name(enum find_kind kind)
{
	static const char *const names[] = {"slurm", "unit", "container", "pod", "vm", "cgroup"};

	return kind < FIND_NR ? names[kind] : "?";
}

static bool has_suffix(const char *s, size_t len, const char *suffix)
{
	size_t n = strlen(suffix);

	return len >= n && strncmp(s + len - n, suffix, n) == 0;
}

/* The component before the one that ends at end: returns its start, and moves end to its end. */
static const char *component_before(const char *path, const char **end)
{
	const char *p = *end;

	while (p > path && p[-1] != '/')
		p--;
	/* p is the start of the last component; the previous one ends before its slash. */
	if (p <= path + 1) {
		*end = path;
		return path;
	}
	*end = --p;
	while (p > path && p[-1] != '/')
		p--;
	return p;
}

/* path ends in prefix and name, which have these lengths. */
static bool last_is(const char *path, const char *prefix, const char *name, size_t len)
{
	const char *last = paths_last(path);
	size_t skip = strlen(prefix);

	return strncmp(last, prefix, skip) == 0 && strncmp(last + skip, name, len) == 0 &&
	       !last[skip + len];
}

static bool is_slurm_job(const char *path, const char *name)
{
	const char *dot = strchr(name, '.'), *end = path + strlen(path), *parent;
	_cleanup_free_ char *job = NULL;
	size_t len;

	if (dot) {
		if (!last_is(path, "step_", dot + 1, strlen(dot + 1)))
			return false;
		job = strndup(path, (size_t)(paths_last(path) - path) - 1);
		if (!job)
			return false;
		path = job;
		end = path + strlen(path);
	}
	if (!last_is(path, "job_", name, dot ? (size_t)(dot - name) : strlen(name)))
		return false;
	parent = component_before(path, &end);
	len = (size_t)(end - parent);
	/* Searches only where root makes cgroups: below user.slice a user can imitate these
	 * names. */
	if (has_suffix(parent, len, "slurmstepd.scope"))
		return (len == strlen("slurmstepd.scope") ||
			parent[len - strlen("_slurmstepd.scope")] == '_') &&
		       (parent == path + 1 || (parent == path + strlen("/system.slice/") &&
					       !strncmp(path, "/system.slice/", 14)));
	if (strncmp(parent, "uid_", 4) != 0)
		return false;
	parent = component_before(path, &end);
	len = (size_t)(end - parent);
	if (parent != path + 1)
		return false;
	return (len == 5 && strncmp(parent, "slurm", 5) == 0) ||
	       (len > 6 && strncmp(parent, "slurm_", 6) == 0);
}

static bool is_unit_name(const char *s)
{
	size_t len = strlen(s);

	return has_suffix(s, len, ".service") || has_suffix(s, len, ".scope") ||
	       has_suffix(s, len, ".slice");
}

static bool is_unit(const char *path, const char *name)
{
	const char *last = paths_last(path);
	size_t len = strlen(name);

	if (is_unit_name(name))
		return strcmp(last, name) == 0;
	return strncmp(last, name, len) == 0 && strcmp(last + len, ".service") == 0;
}

static bool is_container(const char *path, const char *name)
{
	static const char *const runtimes[] = {"",	"docker-", "cri-containerd-",
					       "crio-", "libpod-", "nerdctl-"};
	static const char hex[] = "0123456789abcdef";
	const char *last = paths_last(path);
	size_t len = strlen(name);

	if (len < ID_PREFIX_MIN || len > ID_DIGITS || strspn(name, hex) != len)
		return false;
	for (size_t i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++) {
		size_t skip = strlen(runtimes[i]);
		const char *id = last + skip;

		if (strncmp(last, runtimes[i], skip) != 0 || strspn(id, hex) != ID_DIGITS)
			continue;
		if (id[ID_DIGITS] && strcmp(id + ID_DIGITS, ".scope") != 0)
			continue;
		return strncmp(id, name, len) == 0;
	}
	return false;
}

/* Dashes are underscores in the name of a slice, whose own dashes mean levels. */
static bool same_uid(const char *at, const char *uid, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (at[i] != uid[i] && !(at[i] == '_' && uid[i] == '-'))
			return false;
	}
	return true;
}

/* A slice of pods, without its suffix: kubepods, or below it a class of service; a cgroup root of
 * the kubelet is before them, as in kubelet-kubepods-burstable. */
static bool is_slice_of_pods(const char *at, size_t len)
{
	static const char *const ends[] = {"kubepods", "kubepods-burstable", "kubepods-besteffort"};

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		size_t n = strlen(ends[i]);

		if (has_suffix(at, len, ends[i]) && (len == n || at[len - n - 1] == '-'))
			return true;
	}
	return false;
}

static bool is_pod(const char *path, const char *uid)
{
	static const char in_slice[] = "-pod", slice[] = ".slice";
	const char *last = paths_last(path), *at;
	size_t len = strlen(uid), all = strlen(last);
	size_t end = strlen(in_slice) + len + strlen(slice);

	if (len < UID_DIGITS || strspn(uid, "0123456789abcdef-") != len)
		return false;
	if (!strncmp(last, "pod", 3))
		return strstr(path, "/kubepods/") && !strcmp(last + 3, uid);
	if (all <= end || !is_slice_of_pods(last, all - end))
		return false;
	at = last + all - end;
	return !strncmp(at, in_slice, strlen(in_slice)) &&
	       same_uid(at + strlen(in_slice), uid, len) && has_suffix(last, all, slice);
}

/* The text after "qemu", a dash and the number of the domain; dash: as it is escaped. */
static const char *after_domain_number(const char *at, const char *dash)
{
	size_t skip = strlen(dash), digits;

	if (strncmp(at, "qemu", 4) != 0 || strncmp(at + 4, dash, skip) != 0)
		return NULL;
	at += 4 + skip;
	digits = strspn(at, "0123456789");
	if (!digits || strncmp(at + digits, dash, skip) != 0)
		return NULL;
	return at + digits + skip;
}

/* The beginning of at, in which systemd escaped bytes as \xHH, is name; the text after it, or NULL.
 */
static const char *after_escaped(const char *at, const char *name)
{
	for (; *name; name++) {
		char digits[3] = "";
		char c = *at++;

		if (c == '\\' && *at == 'x' && isxdigit((unsigned char)at[1]) &&
		    isxdigit((unsigned char)at[2])) {
			memcpy(digits, at + 1, 2);
			c = (char)strtoul(digits, NULL, 16);
			at += 3;
		}
		if (c != *name)
			return NULL;
	}
	return at;
}

static bool is_vm(const char *path, const char *name)
{
	static const char scope[] = "machine-";
	const char *last = paths_last(path), *at;

	if (!*name)
		return false;
	at = after_domain_number(last, "-");
	if (at)
		return !strncmp(at, name, strlen(name)) &&
		       !strcmp(at + strlen(name), ".libvirt-qemu");
	if (strncmp(last, scope, strlen(scope)) != 0)
		return false;
	at = after_domain_number(last + strlen(scope), "\\x2d");
	at = at ? after_escaped(at, name) : NULL;
	return at && !strcmp(at, ".scope");
}

bool find_matches(const char *path, enum find_kind kind, const char *name)
{
	switch (kind) {
	case FIND_SLURM:
		return is_slurm_job(path, name);
	case FIND_UNIT:
		return is_unit(path, name);
	case FIND_CONTAINER:
		return is_container(path, name);
	case FIND_POD:
		return is_pod(path, name);
	case FIND_VM:
		return is_vm(path, name);
	case FIND_LAST:
		return strcmp(paths_last(path), name) == 0;
	case FIND_NR:
		break;
	}
	return false;
}

static int consider_path(struct search *s, const char *path)
{
	for (enum find_kind kind = 0; kind < FIND_NR && kind <= s->best; kind++) {
		char **slot;

		if (!(s->kinds & 1U << kind) || !find_matches(path, kind, s->name))
			continue;
		if (kind < s->best) {
			free(s->path);
			free(s->second);
			s->path = s->second = NULL;
			s->best = kind;
		}
		slot = s->path ? &s->second : &s->path;
		if (*slot)
			return 0;
		*slot = strdup(path);
		return *slot ? 0 : -ENOMEM;
	}
	return 0;
}

/* Skips directories that vanish meanwhile, because they cannot be watched. */
static int search_tree(struct search *s, int parent, const char *name, const char *path, int levels)
{
	_cleanup_closedir_ DIR *dir = file_opendir(parent, name);
	const struct dirent *entry;
	int err = 0;

	if (!dir)
		return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? -errno : 0;
	while (!err && (entry = readdir(dir))) {
		_cleanup_free_ char *below = NULL;

		if (entry->d_type != DT_DIR || strcmp(entry->d_name, ".") == 0 ||
		    strcmp(entry->d_name, "..") == 0)
			continue;
		if (text_print(&below, "%s/%s", path, entry->d_name))
			return -ENOMEM;
		err = consider_path(s, below);
		if (!err && levels > 0)
			err = search_tree(s, dirfd(dir), entry->d_name, below, levels - 1);
	}
	return err;
}

static int search_kind(const struct mountinfo *mi, enum cgroup_kind kind, struct search *s)
{
	const struct mount *m = cgroup_mount(mi, kind);

	if (!m)
		return 0;
	return search_tree(s, AT_FDCWD, m->point, strcmp(m->root, "/") == 0 ? "" : m->root,
			   DEPTH_MAX);
}

/* Chooses among the matches of the best kind that any hierarchy has. */
static int choose_found(const struct mountinfo *mi, const struct search all[CGROUP_KINDS],
			struct cgroup_ref *ret, enum find_kind *ret_kind, struct errtext *err)
{
	const char *paths[CGROUP_KINDS] = {NULL}, *first = NULL;
	enum find_kind best = FIND_NR;
	int e;

	for (enum cgroup_kind kind = CGROUP_V2; kind < CGROUP_KINDS; kind++)
		best = all[kind].best < best ? all[kind].best : best;
	if (best == FIND_NR)
		return errtext_set(err, -ENOENT, "no cgroup is named '%s'", all->name);
	for (enum cgroup_kind kind = CGROUP_V2; kind < CGROUP_KINDS; kind++) {
		const struct search *s = &all[kind];

		if (s->best != best)
			continue;
		if (s->second)
			return errtext_set(err, -ENOTUNIQ,
					   "'%s' names several cgroups, %s and %s: choose with "
					   "--cgroup PATH",
					   s->name, s->path, s->second);
		/* A container may have another parent in each hierarchy. */
		if (first && best != FIND_CONTAINER && strcmp(first, s->path) != 0)
			return errtext_set(err, -ENOTUNIQ,
					   "'%s' names several cgroups, %s and %s: choose with "
					   "--cgroup PATH",
					   s->name, first, s->path);
		paths[kind] = first = s->path;
	}
	e = cgroup_open_first(mi, paths, ret, err);
	if (e == -ENOENT)
		return errtext_set(err, e, "the cgroup of '%s' has just disappeared", all->name);
	if (!e)
		*ret_kind = best;
	return e;
}

int find_cgroup(const struct mountinfo *mi, unsigned int kinds, const char *name,
		struct cgroup_ref *ret, enum find_kind *ret_kind, struct errtext *err)
{
	struct search all[CGROUP_KINDS];
	int e = 0;

	for (enum cgroup_kind kind = CGROUP_V2; kind < CGROUP_KINDS; kind++) {
		all[kind] = (struct search){.kinds = kinds, .name = name, .best = FIND_NR};
		if (!e)
			e = search_kind(mi, kind, &all[kind]);
	}
	if (e)
		errtext_set(err, e, "cannot search the cgroups: %s", strerror(-e));
	else
		e = choose_found(mi, all, ret, ret_kind, err);
	for (enum cgroup_kind kind = CGROUP_V2; kind < CGROUP_KINDS; kind++) {
		free(all[kind].path);
		free(all[kind].second);
	}
	return e;
}
