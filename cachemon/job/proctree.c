/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/job/proctree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	bool member;
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

/* Returns their number; 0: tgid does not exist. */
static size_t mark_members(struct processes *ps, pid_t tgid)
{
	struct process *root = find_process(ps, ps->nr, tgid);
	size_t members = 1, before;

	if (!root || root->ended)
		return 0;
	root->member = true;
	/* Sorted by pid, parents mostly come before their children, so few rounds suffice. */
	do {
		before = members;
		for (size_t i = 0; i < ps->nr; i++) {
			struct process *p = &ps->list[i];

			if (p->member || (!is_member(ps, p->ppid) && !is_member(ps, p->noted)))
				continue;
			p->member = true;
			members++;
		}
	} while (members != before);
	return members;
}

int proctree_descendants(const char *proc_root, pid_t tgid, const struct proctree_notes *notes,
			 pid_t **ret_tgids, size_t *ret_nr)
{
	struct proctree_link *links = NULL;
	struct processes ps = {0};
	size_t nr_links = 0;
	pid_t *tgids = NULL;
	size_t members, nr = 0;
	int err = read_processes(proc_root, &ps);

	if (!err && notes)
		err = notes->read(notes->ctx, &links, &nr_links);
	if (!err)
		err = add_links(&ps, links, nr_links);
	if (err)
		goto out;
	members = mark_members(&ps, tgid);
	err = -ESRCH;
	if (members == 0)
		goto out;
	err = -ENOMEM;
	tgids = calloc(members, sizeof(*tgids));
	if (!tgids)
		goto out;
	tgids[nr++] = tgid;
	for (size_t i = 0; i < ps.nr; i++) {
		if (ps.list[i].member && ps.list[i].tgid != tgid)
			tgids[nr++] = ps.list[i].tgid;
	}
	*ret_tgids = tgids;
	*ret_nr = nr;
	err = 0;
out:
	free(links);
	free(ps.list);
	return err;
}

int proctree_levels_up(const char *proc_root, unsigned int *ret_levels)
{
	_cleanup_free_ char *status = NULL;
	unsigned int ids = 0;
	const char *at;
	int err = read_of_process(proc_root, 0, "status", &status);

	if (err)
		return err;
	/* One id per level, from that of /proc down to the caller's. */
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

unsigned long proctree_flags(const char *proc_root, pid_t pid)
{
	_cleanup_free_ char *text = NULL;
	const char *at;

	if (read_of_process(proc_root, pid, "stat", &text))
		return 0;
	at = process_stat_field(text, 9);
	return at ? strtoul(at, NULL, 10) : 0;
}

int proctree_about(const char *proc_root, pid_t tgid, struct proctree_about *ret)
{
	_cleanup_free_ char *status = NULL;
	struct proctree_about about = {0};
	int err = read_of_process(proc_root, tgid, "status", &status);
	const char *uid = err ? NULL : strstr(status, "\nUid:");

	if (err)
		return err;
	/* Real and effective ids. For some programs root owns the directory. */
	if (!uid || sscanf(uid, "\nUid: %*u %u", &about.uid) != 1)
		return -EBADMSG;
	about.kernel = proctree_flags(proc_root, tgid) & PROCTREE_KTHREAD;
	read_name(proc_root, tgid, about.name);
	*ret = about;
	return 0;
}
