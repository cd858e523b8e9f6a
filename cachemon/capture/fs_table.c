/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/capture/fs_table.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/plan/fs_support.h"

enum { FILESYSTEMS_MAX = 128 };

struct entry {
	char type[48];
	uint32_t pid;
	uint32_t super_dev;  /* device of its mounts; on btrfs each subvolume has its own */
	unsigned int direct; /* as in the table, plus FS_SUBVOLUMES_AS_ONE */
	bool mounted;	     /* its mount was found */
	char *mount, *device, *why;
};

struct fs_table {
	char *proc_root;
	unsigned int direct; /* as plan/fs_cover.h says */
	size_t nr, last;
	bool look; /* a filesystem without a known mount may have one now */
	struct entry entries[FILESYSTEMS_MAX];
	struct sample_filesystem list[FILESYSTEMS_MAX];
};

int fs_table_new(const char *proc_root, unsigned int direct, struct fs_table **ret)
{
	struct fs_table *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->proc_root = strdup(proc_root);
	if (!t->proc_root) {
		free(t);
		return -ENOMEM;
	}
	t->direct = direct;
	*ret = t;
	return 0;
}

void fs_table_free(struct fs_table *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->nr; i++) {
		free(t->entries[i].mount);
		free(t->entries[i].device);
		free(t->entries[i].why);
	}
	free(t->proc_root);
	free(t);
}

static struct entry *find_entry(struct fs_table *t, uint32_t dev)
{
	if (t->last < t->nr && t->list[t->last].dev == dev)
		return &t->entries[t->last];
	for (size_t i = 0; i < t->nr; i++) {
		if (t->list[i].dev == dev) {
			t->last = i;
			return &t->entries[i];
		}
	}
	if (t->nr == FILESYSTEMS_MAX)
		return NULL;
	t->list[t->nr].dev = dev;
	t->entries[t->nr].super_dev = dev;
	t->entries[t->nr].direct = t->direct;
	t->look = true;
	t->last = t->nr;
	return &t->entries[t->nr++];
}

void fs_table_see(struct fs_table *t, uint32_t dev, const struct name_record *rec)
{
	struct entry *e = find_entry(t, dev);

	if (!e || e->mounted || !rec)
		return;
	if (*rec->fstype)
		snprintf(e->type, sizeof(e->type), "%s",
			 strcmp(rec->fstype, "bdev") != 0 ? rec->fstype : FS_BLOCK_DEVICE);
	if (rec->super_dev)
		e->super_dev = rec->super_dev;
	if (rec->flags & NAME_AS_ONE)
		e->direct |= FS_SUBVOLUMES_AS_ONE;
	if (rec->tgid)
		e->pid = rec->tgid;
	t->look |= strcmp(e->type, FS_BLOCK_DEVICE) != 0;
}

/* Prefers the whole filesystem to a directory of it, then the shortest name. */
static bool is_better(const struct mount *m, const struct mount *than)
{
	bool whole = !strcmp(m->root, "/"), was = than && !strcmp(than->root, "/");

	if (!than || whole != was)
		return !than || whole;
	return strlen(m->point) < strlen(than->point);
}

/* Users choose the source of a FUSE filesystem. */
static const char *device_of(const struct mount *m)
{
	bool block = m->dev >> 20 || !strcmp(m->fstype, "btrfs");

	return block && !strncmp(m->source, "/dev/", strlen("/dev/")) ? m->source : NULL;
}

static void take_mount(struct fs_table *t, size_t i, const struct mount *m)
{
	struct fs_support *fs = calloc(1, sizeof(*fs));
	struct entry *e = &t->entries[i];

	if (!fs)
		return;
	fs_support_of_mount(m, e->direct, fs);
	free(e->mount);
	free(e->device);
	free(e->why);
	e->mount = strdup(fs->mount);
	e->device = device_of(m) ? strdup(device_of(m)) : NULL;
	e->why = strdup(fs->why);
	snprintf(e->type, sizeof(e->type), "%s", fs->type);
	t->list[i].cover = fs_cover_name(fs->cover);
	e->mounted = true;
	free(fs);
}

/* Searches pid's mounts for filesystems without a known mount. */
static int look_at_mounts(struct fs_table *t, const char *pid)
{
	struct mountinfo mi;
	char path[PATH_MAX];
	int r;

	snprintf(path, sizeof(path), "%s/%s/mountinfo", t->proc_root, pid);
	r = mountinfo_read(path, &mi);
	if (r)
		return r;
	for (size_t i = 0; i < t->nr; i++) {
		const struct mount *best = NULL;

		for (size_t k = 0; k < mi.nr && !t->entries[i].mounted; k++)
			if (mi.mounts[k].dev == t->entries[i].super_dev &&
			    is_better(&mi.mounts[k], best))
				best = &mi.mounts[k];
		if (best)
			take_mount(t, i, best);
	}
	mountinfo_free(&mi);
	return 0;
}

/* A filesystem without a visible mount: only its type is known. */
static void describe_by_type(const struct entry *e, struct sample_filesystem *out)
{
	const struct fs_facts facts = {.type = e->type, .direct = e->direct};
	const char *why;

	out->cover = fs_cover_name(fs_cover_decide(&facts, &why));
	out->why = why;
}

const struct sample_filesystem *fs_table_describe(struct fs_table *t, size_t *ret_nr)
{
	char pid[16];

	if (t->look)
		t->look = look_at_mounts(t, "self");
	for (size_t i = 0; i < t->nr; i++) {
		struct entry *e = &t->entries[i];

		/* Block devices themselves are mounted nowhere. */
		if (!e->mounted && e->pid && strcmp(e->type, FS_BLOCK_DEVICE) != 0) {
			snprintf(pid, sizeof(pid), "%u", e->pid);
			look_at_mounts(t, pid);
			e->pid = 0; /* its next file may belong to a live process */
		}
		if (!e->mounted)
			describe_by_type(e, &t->list[i]);
		else
			t->list[i].why = e->why;
		t->list[i].type = *e->type ? e->type : NULL;
		t->list[i].mount = e->mount;
		t->list[i].device = e->device;
	}
	*ret_nr = t->nr;
	return t->list;
}
