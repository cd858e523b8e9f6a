/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/job/proctree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachemon/access/paths.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/base/file.h"
#include "cachemon/base/parse.h"
#include "cachemon/base/process.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/base/vec.h"

#define TEXT_MAX (1U << 20)

struct process {
	pid_t tgid;
	pid_t ppid;
	pid_t noted; /* its recorded parent, 0: none */
	bool ended;  /* or it is only known from a record */
	bool root, member;
};

struct processes {
	struct process *list;
	size_t nr, size;
};

/* The number after " KEY:\t". Only Name comes from outside, and its newlines are escaped. */
static int status_number(const char *status, const char *key, pid_t *ret)
{
	const char *at = strstr(status, key);
	uint64_t value = 0;
	char digits[16];
	size_t len;

	if (!at)
		return -EBADMSG;
	at += strlen(key);
	at += strspn(at, "\t ");
	len = strcspn(at, "\n");
	if (len >= sizeof(digits))
		return -EBADMSG;
	memcpy(digits, at, len);
	digits[len] = '\0';
	if (parse_u64(digits, &value) || value > INT32_MAX)
		return -EBADMSG;
	*ret = (pid_t)value;
	return 0;
}

/* pid 0: the caller's own. */
static int read_of_process(const char *proc_root, pid_t pid, const char *name, char **ret_text)
{
	_cleanup_free_ char *path = NULL;
	size_t len = 0;
	int err = pid ? text_print(&path, "%s/%d/%s", proc_root, pid, name)
		      : text_print(&path, "%s/self/%s", proc_root, name);

	if (!err)
		err = file_read(AT_FDCWD, path, TEXT_MAX, ret_text, &len);
	/* The file was opened in time but read too late: the kernel returns ESRCH. */
	return err == -ENOENT ? -ESRCH : err;
}

static int read_process(const char *proc_root, pid_t pid, struct process *ret)
{
	_cleanup_free_ char *status = NULL;
	struct process p = {0};
	const char *state;
	pid_t threads = 0;
	int err = read_of_process(proc_root, pid, "status", &status);

	if (err)
		return err;
	state = strstr(status, "\nState:\t");
	if (!state || status_number(status, "\nTgid:", &p.tgid) ||
	    status_number(status, "\nPPid:", &p.ppid) ||
	    status_number(status, "\nThreads:", &threads))
		return -EBADMSG;
	state += strlen("\nState:\t");
	/* A leader may have ended while its other threads continue. */
	p.ended = (*state == 'Z' || *state == 'X') && threads <= 1;
	*ret = p;
	return 0;
}

int proctree_tgid(const char *proc_root, pid_t pid, pid_t *ret_tgid)
{
	struct process p;
	int err = read_process(proc_root, pid, &p);

	if (err)
		return err;
	if (p.ended)
		return -ESRCH;
	*ret_tgid = p.tgid;
	return 0;
}

static int add_process(struct processes *ps, const struct process *p)
{
	if (vec_reserve(ps->list, ps->size, ps->nr + 1))
		return -ENOMEM;
	ps->list[ps->nr++] = *p;
	return 0;
}

static int read_processes(const char *proc_root, struct processes *ps)
{
	_cleanup_closedir_ DIR *dir = opendir(proc_root);
	const struct dirent *entry;

	if (!dir)
		return -errno;
	ps->nr = 0;
	while (errno = 0, (entry = readdir(dir))) {
		struct process p;
		pid_t pid = 0;
		int err;

		if (parse_pid(entry->d_name, &pid))
			continue;
		err = read_process(proc_root, pid, &p);
		if (err == -ESRCH || (!err && p.ended))
			continue;
		if (!err)
			err = add_process(ps, &p);
		if (err)
			return err;
	}
	return -errno;
}

static int compare_tgid(const void *a, const void *b)
{
	pid_t x = ((const struct process *)a)->tgid, y = ((const struct process *)b)->tgid;

	return (x > y) - (x < y);
}

static struct process *find_process(const struct processes *ps, size_t nr, pid_t tgid)
{
	const struct process key = {.tgid = tgid};

	return nr ? bsearch(&key, ps->list, nr, sizeof(key), compare_tgid) : NULL;
}

static bool is_member(const struct processes *ps, pid_t tgid)
{
	const struct process *p = find_process(ps, ps->nr, tgid);

	return p && p->member;
}

/* Sorts by pid; processes that have ended are known from their records. */
static int add_links(struct processes *ps, const struct proctree_link *links, size_t nr_links)
{
	size_t there = ps->nr;
	int err = 0;

	if (there)
		qsort(ps->list, there, sizeof(*ps->list), compare_tgid);
	for (size_t i = 0; !err && i < nr_links; i++) {
		struct process gone = {.tgid = links[i].tgid, .ended = true};
		struct process *p = find_process(ps, there, links[i].tgid);

		gone.noted = links[i].parent;
		if (p)
			p->noted = links[i].parent;
		else
			err = add_process(ps, &gone);
	}
	if (!err && ps->nr > there)
		qsort(ps->list, ps->nr, sizeof(*ps->list), compare_tgid);
	return err;
}

/* Returns the number of roots that live. */
static size_t mark_members(struct processes *ps, const pid_t *roots, size_t nr_roots)
{
	size_t living = 0;
	bool found = true;

	for (size_t i = 0; i < nr_roots; i++) {
		struct process *root = find_process(ps, ps->nr, roots[i]);

		if (!root || root->ended)
			continue;
		root->member = root->root = true;
		living++;
	}
	/* In order of pid, parents mostly come before their children, so few rounds suffice. */
	while (living && found) {
		found = false;
		for (size_t i = 0; i < ps->nr; i++) {
			struct process *p = &ps->list[i];

			if (p->member || (!is_member(ps, p->ppid) && !is_member(ps, p->noted)))
				continue;
			p->member = found = true;
		}
	}
	return living;
}

/* The roots first. NULL: no memory. */
static pid_t *list_members(const struct processes *ps, const pid_t *roots, size_t nr_roots,
			   size_t *ret_nr)
{
	pid_t *tgids = calloc(ps->nr, sizeof(*tgids));
	size_t nr = 0;

	for (size_t i = 0; tgids && i < nr_roots; i++) {
		const struct process *root = find_process(ps, ps->nr, roots[i]);

		if (root && root->root)
			tgids[nr++] = roots[i];
	}
	for (size_t i = 0; tgids && i < ps->nr; i++) {
		if (ps->list[i].member && !ps->list[i].root)
			tgids[nr++] = ps->list[i].tgid;
	}
	*ret_nr = nr;
	return tgids;
}

int proctree_descendants(const char *proc_root, const pid_t *roots, size_t nr_roots,
			 const struct proctree_notes *notes, pid_t **ret_tgids, size_t *ret_nr,
			 size_t *ret_roots)
{
	struct proctree_link *links = NULL;
	struct processes ps = {0};
	size_t nr_links = 0, living, nr;
	pid_t *tgids;
	int err = read_processes(proc_root, &ps);

	if (!err && notes)
		err = notes->read(notes->ctx, &links, &nr_links);
	if (!err)
		err = add_links(&ps, links, nr_links);
	if (err)
		goto out;
	living = mark_members(&ps, roots, nr_roots);
	err = -ESRCH;
	if (living == 0)
		goto out;
	tgids = list_members(&ps, roots, nr_roots, &nr);
	err = tgids ? 0 : -ENOMEM;
	if (err)
		goto out;
	*ret_tgids = tgids;
	*ret_nr = nr;
	*ret_roots = living;
out:
	free(links);
	free(ps.list);
	return err;
}

/* The target of a symlink of a process (who: a number or "self"). 0 or -errno. */
static int link_of_process(const char *proc_root, const char *who, const char *name,
			   char ret[PATH_MAX])
{
	_cleanup_free_ char *path = NULL;
	ssize_t n;

	if (text_print(&path, "%s/%s/%s", proc_root, who, name))
		return -ENOMEM;
	n = readlink(path, ret, PATH_MAX - 1);
	if (n < 0)
		return -errno;
	ret[n] = '\0';
	return 0;
}

/* 1, or 0: another program, or in a container, whose root may choose names; -EACCES: not visible.
 */
static int runs_program(const char *proc_root, pid_t tgid, const char *program)
{
	char exe[PATH_MAX], ns[PATH_MAX], own[PATH_MAX], who[16];
	int err;

	snprintf(who, sizeof(who), "%d", tgid);
	err = link_of_process(proc_root, who, "exe", exe);
	if (!err)
		err = link_of_process(proc_root, who, "ns/pid", ns);
	if (!err)
		err = link_of_process(proc_root, "self", "ns/pid", own);
	if (err)
		return err == -EACCES || err == -EPERM ? -EACCES : 0;
	return !strncmp(paths_last(exe), program, strlen(program)) && !strcmp(ns, own);
}

static bool has_title(const char *proc_root, pid_t tgid, const char *title)
{
	_cleanup_free_ char *line = NULL;
	struct proctree_about about;

	return !read_of_process(proc_root, tgid, "cmdline", &line) &&
	       !strncmp(line, title, strlen(title)) && !proctree_about(proc_root, tgid, &about) &&
	       about.uid == 0 && about.real == 0;
}

int proctree_titled(const char *proc_root, const char *program, const char *title,
		    pid_t **ret_tgids, size_t *ret_nr)
{
	struct processes ps = {0};
	pid_t *tgids = NULL;
	size_t nr = 0;
	int err = read_processes(proc_root, &ps);

	if (!err) {
		tgids = calloc(ps.nr + 1, sizeof(*tgids));
		err = tgids ? 0 : -ENOMEM;
	}
	for (size_t i = 0; !err && i < ps.nr; i++) {
		int runs = has_title(proc_root, ps.list[i].tgid, title)
				   ? runs_program(proc_root, ps.list[i].tgid, program)
				   : 0;

		if (runs > 0)
			tgids[nr++] = ps.list[i].tgid;
		err = runs < 0 ? runs : 0;
	}
	free(ps.list);
	if (err) {
		free(tgids);
		return err;
	}
	*ret_tgids = tgids;
	*ret_nr = nr;
	return 0;
}

char *proctree_environment(const char *proc_root, pid_t tgid, const char *variable)
{
	_cleanup_free_ char *path = NULL, *text = NULL;
	size_t len = 0, skip = strlen(variable);

	if (text_print(&path, "%s/%d/environ", proc_root, tgid) ||
	    file_read(AT_FDCWD, path, TEXT_MAX, &text, &len))
		return NULL;
	for (const char *at = text; at < text + len; at += strlen(at) + 1)
		if (!strncmp(at, variable, skip) && at[skip] == '=')
			return strdup(at + skip + 1);
	return NULL;
}

int proctree_levels_up(const char *proc_root, unsigned int *ret_levels)
{
	_cleanup_free_ char *status = NULL;
	unsigned int ids = 0;
	const char *at;
	int err = read_of_process(proc_root, 0, "status", &status);

	if (err)
		return err;
	/* One id per level, from /proc's namespace down to the caller's. */
	at = strstr(status, "\nNSpid:");
	if (at) {
		at += strlen("\nNSpid:");
		for (; *at == '\t'; at += 1 + strcspn(at + 1, "\t\n"))
			ids++;
	}
	*ret_levels = ids ? ids - 1 : 0;
	return 0;
}

static void read_name(const char *proc_root, pid_t pid, char name[16])
{
	_cleanup_free_ char *text = NULL;

	if (read_of_process(proc_root, pid, "comm", &text))
		return;
	text[strcspn(text, "\n")] = '\0';
	strncat(name, text, 15);
}

/* A field of /proc/PID/stat, by its number in proc_pid_stat(5); 0: the process has ended. */
static unsigned long long stat_field(const char *proc_root, pid_t pid, int field)
{
	_cleanup_free_ char *text = NULL;
	const char *at;

	if (read_of_process(proc_root, pid, "stat", &text))
		return 0;
	at = process_stat_field(text, field);
	return at ? strtoull(at, NULL, 10) : 0;
}

unsigned long proctree_flags(const char *proc_root, pid_t pid)
{
	return stat_field(proc_root, pid, 9);
}

unsigned long long proctree_started(const char *proc_root, pid_t pid)
{
	return stat_field(proc_root, pid, 22);
}

int proctree_about(const char *proc_root, pid_t tgid, struct proctree_about *ret)
{
	_cleanup_free_ char *status = NULL;
	struct proctree_about about = {0};
	int err = read_of_process(proc_root, tgid, "status", &status);
	const char *uid = err ? NULL : strstr(status, "\nUid:");

	if (err)
		return err;
	/* Reads real and effective ids, because root owns the directory of some users'
	 * processes. */
	if (!uid || sscanf(uid, "\nUid: %u %u", &about.real, &about.uid) != 2)
		return -EBADMSG;
	about.kernel = proctree_flags(proc_root, tgid) & PROCTREE_KTHREAD;
	read_name(proc_root, tgid, about.name);
	*ret = about;
	return 0;
}
