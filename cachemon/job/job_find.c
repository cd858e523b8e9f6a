/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/job/job_find.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/cleanup.h"
#include "cachemon/base/file.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/access/paths.h"

/* The UID of a static pod has no dashes: 32 digits. */
enum { ID_DIGITS = 64, ID_PREFIX_MIN = 12, UID_DIGITS = 32, DEPTH_MAX = 64 };
enum { SLURM_DIGITS = 10, STEP_MAX = 64 };

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

static bool has_prefix(const char *s, size_t len, const char *prefix)
{
	size_t n = strlen(prefix);

	return len >= n && strncmp(s, prefix, n) == 0;
}

static bool is_text(const char *s, size_t len, const char *text)
{
	return len == strlen(text) && strncmp(s, text, len) == 0;
}

/* The component with which *path begins, after its slash, and its length or 0; *path is then the
 * rest of the path. */
static size_t next_component(const char **path, const char **ret)
{
	size_t len;

	*ret = *path + (**path == '/');
	len = **path == '/' ? strcspn(*ret, "/") : 0;
	*path = *ret + len;
	return len;
}

/* A name of len bytes, each of which is in the set. */
static bool copy_name(char *ret_name, const char *name, size_t len, const char *set)
{
	if (!len || len >= FIND_NAME_MAX || strspn(name, set) < len)
		return false;
	memcpy(ret_name, name, len);
	ret_name[len] = '\0';
	return true;
}

#define DIGITS	"0123456789"
#define HEX	DIGITS "abcdef"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* A scope in which Slurm's daemon makes jobs. The name may have the node before it. */
static bool is_stepd(const char *at, size_t len)
{
	static const char scope[] = "slurmstepd.scope", after_node[] = "_slurmstepd.scope";

	return is_text(at, len, scope) || has_suffix(at, len, after_node);
}

/* Skips the cgroup in which Slurm makes jobs: only where root makes cgroups, because
 * below user.slice a user can imitate these names. */
static bool skip_slurm(const char **path)
{
	const char *at;
	size_t len = next_component(path, &at);

	if (is_text(at, len, "slurm") || (has_prefix(at, len, "slurm_") && len > 6)) {
		len = next_component(path, &at);
		return has_prefix(at, len, "uid_");
	}
	if (is_text(at, len, "system.slice"))
		len = next_component(path, &at);
	return is_stepd(at, len);
}

static bool parse_slurm(const char *path, char ret_name[FIND_NAME_MAX])
{
	static const char job[] = "job_", step[] = "step_";
	const char *at;
	size_t len, id;

	if (!skip_slurm(&path))
		return false;
	len = next_component(&path, &at);
	id = len - strlen(job);
	if (!has_prefix(at, len, job) || id > SLURM_DIGITS ||
	    !copy_name(ret_name, at + strlen(job), id, DIGITS))
		return false;
	if (!*path)
		return true;
	len = next_component(&path, &at);
	if (*path || !has_prefix(at, len, step) || len > STEP_MAX)
		return false;
	ret_name[id] = '.';
	return copy_name(ret_name + id + 1, at + strlen(step), len - strlen(step),
			 DIGITS LETTERS "+_");
}

static bool same_text(const char *own, const char *name)
{
	return strcmp(own, name) == 0;
}

static bool is_unit_name(const char *s)
{
	size_t len = strlen(s);

	return has_suffix(s, len, ".service") || has_suffix(s, len, ".scope") ||
	       has_suffix(s, len, ".slice");
}

static bool parse_unit(const char *path, char ret_name[FIND_NAME_MAX])
{
	const char *last = paths_last(path);

	return is_unit_name(last) && *last != '.' &&
	       copy_name(ret_name, last, strlen(last), DIGITS LETTERS ":_.\\@-");
}

static bool same_unit(const char *own, const char *name)
{
	size_t len = strlen(name);

	if (is_unit_name(name))
		return strcmp(own, name) == 0;
	return strncmp(own, name, len) == 0 && strcmp(own + len, ".service") == 0;
}

static bool parse_container(const char *path, char ret_name[FIND_NAME_MAX])
{
	static const char *const runtimes[] = {"",	"docker-", "cri-containerd-",
					       "crio-", "libpod-", "nerdctl-"};
	const char *last = paths_last(path);

	for (size_t i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++) {
		const char *id = last + strlen(runtimes[i]);

		if (!has_prefix(last, strlen(last), runtimes[i]) || strspn(id, HEX) != ID_DIGITS)
			continue;
		if (!id[ID_DIGITS] || strcmp(id + ID_DIGITS, ".scope") == 0)
			return copy_name(ret_name, id, ID_DIGITS, HEX);
	}
	return false;
}

static bool same_container(const char *own, const char *name)
{
	size_t len = strlen(name);

	return len >= ID_PREFIX_MIN && strncmp(own, name, len) == 0;
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

/* Dashes are underscores in the name of a slice, whose own dashes mean levels. */
static bool parse_pod(const char *path, char ret_name[FIND_NAME_MAX])
{
	static const char in_slice[] = "-pod", suffix[] = ".slice";
	const char *last = paths_last(path), *at = strstr(last, in_slice);
	size_t len = strlen(last);

	if (has_prefix(last, len, "pod"))
		return strstr(path, "/kubepods/") && len - 3 >= UID_DIGITS &&
		       copy_name(ret_name, last + 3, len - 3, HEX "-");
	/* The last: a cgroup root may be called a-pods. */
	for (const char *next = at; next; next = strstr(next + 1, in_slice))
		at = next;
	if (!at || !has_suffix(last, len, suffix) || !is_slice_of_pods(last, (size_t)(at - last)))
		return false;
	at += strlen(in_slice);
	len -= (size_t)(at - last) + strlen(suffix);
	if (len < UID_DIGITS || !copy_name(ret_name, at, len, HEX "_-"))
		return false;
	for (char *c = ret_name; *c; c++)
		*c = *c == '_' ? '-' : *c;
	return true;
}

/* The text after "qemu", a dash and the number of the domain; dash: as it is escaped. */
static const char *after_domain_number(const char *at, const char *dash)
{
	size_t skip = strlen(dash), digits;

	if (strncmp(at, "qemu", 4) != 0 || strncmp(at + 4, dash, skip) != 0)
		return NULL;
	at += 4 + skip;
	digits = strspn(at, DIGITS);
	if (!digits || strncmp(at + digits, dash, skip) != 0)
		return NULL;
	return at + digits + skip;
}

/* Names have no control characters; a slash or NUL can only be an escape. */
static bool copy_printable(char ret_name[FIND_NAME_MAX], const char *name, size_t len, bool escaped)
{
	size_t nr = 0;

	if (!len || len >= FIND_NAME_MAX)
		return false;
	for (const char *end = name + len; name < end; nr++) {
		char digits[3] = "";

		ret_name[nr] = *name++;
		if (escaped && ret_name[nr] == '\\' && *name == 'x' &&
		    isxdigit((unsigned char)name[1]) && isxdigit((unsigned char)name[2])) {
			memcpy(digits, name + 1, 2);
			ret_name[nr] = (char)strtoul(digits, NULL, 16);
			name += 3;
		}
		if (iscntrl((unsigned char)ret_name[nr]) || ret_name[nr] == '/')
			return false;
	}
	ret_name[nr] = '\0';
	return true;
}

static bool parse_vm(const char *path, char ret_name[FIND_NAME_MAX])
{
	static const char scope[] = "machine-";
	const char *last = paths_last(path), *at = after_domain_number(last, "-"), *suffix;
	bool escaped = !at;

	if (escaped && has_prefix(last, strlen(last), scope))
		at = after_domain_number(last + strlen(scope), "\\x2d");
	suffix = escaped ? ".scope" : ".libvirt-qemu";
	return at && has_suffix(at, strlen(at), suffix) &&
	       copy_printable(ret_name, at, strlen(at) - strlen(suffix), escaped);
}

/*
 * How each kind names its cgroups, for both directions: the name of the cgroup at a path, and
 * whether a name that a user gives means that one. In the order of find_classify(): the scope of a
 * container is also a unit.
 */
static const struct form {
	enum find_kind kind;
	bool (*parse)(const char *path, char ret_name[FIND_NAME_MAX]);
	bool (*same)(const char *own, const char *name);
} forms[] = {
	{FIND_SLURM, parse_slurm, same_text}, {FIND_CONTAINER, parse_container, same_container},
	{FIND_POD, parse_pod, same_text},     {FIND_VM, parse_vm, same_text},
	{FIND_UNIT, parse_unit, same_unit},
};
enum { NR_FORMS = sizeof(forms) / sizeof(forms[0]) };

bool find_matches(const char *path, enum find_kind kind, const char *name)
{
	char own[FIND_NAME_MAX];

	if (kind == FIND_LAST)
		return strcmp(paths_last(path), name) == 0;
	for (size_t i = 0; i < NR_FORMS; i++)
		if (forms[i].kind == kind)
			return forms[i].parse(path, own) && forms[i].same(own, name);
	return false;
}

/* By the last component, wherever it is. */
static enum find_kind kind_at(const char *path, char ret_name[FIND_NAME_MAX])
{
	for (size_t i = 0; i < NR_FORMS; i++)
		if (forms[i].parse(path, ret_name))
			return forms[i].kind;
	return FIND_NR;
}

static bool is_slice(const char *path)
{
	return has_suffix(path, strlen(path), ".slice");
}

bool find_holds_jobs(const char *path)
{
	const char *at = path;
	char name[FIND_NAME_MAX];
	enum find_kind kind = kind_at(path, name);

	return kind == FIND_NR || (kind == FIND_UNIT && is_slice(path)) ||
	       (kind == FIND_UNIT && skip_slurm(&at) && !*at);
}

/* Whether each cgroup above it holds jobs. */
static bool is_in_reach(const char *path)
{
	char above[PATH_MAX];

	if (*path != '/' || strlen(path) >= sizeof(above))
		return false;
	for (const char *slash = path; (slash = strchr(slash + 1, '/'));) {
		memcpy(above, path, (size_t)(slash - path));
		above[slash - path] = '\0';
		if (!find_holds_jobs(above))
			return false;
	}
	return true;
}

bool find_classify(const char *path, enum find_kind *ret_kind, char ret_name[FIND_NAME_MAX])
{
	char name[FIND_NAME_MAX];
	enum find_kind kind = kind_at(path, name);

	/* Root makes only units there. */
	if (has_prefix(path, strlen(path), "/user.slice/"))
		kind = parse_unit(path, name) ? FIND_UNIT : FIND_NR;
	/* A step is below its job. */
	if (kind == FIND_NR || (kind != FIND_SLURM && !is_in_reach(path)))
		return false;
	*ret_kind = kind;
	strcpy(ret_name, name);
	return true;
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
