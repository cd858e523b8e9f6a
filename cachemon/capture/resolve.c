/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/capture/resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "cachemon/capture/mount_view.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/base/file.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/access/paths.h"

struct resolver {
	char *sys_root;
	char *own_root;
	struct mount_views *views;
};

#define UNKNOWN_BEGINNING "..."

int resolver_new(const char *proc_root, const char *sys_root, struct resolver **ret)
{
	struct resolver *r = calloc(1, sizeof(*r));
	int err = -ENOMEM;

	if (!r)
		return err;
	r->sys_root = strdup(sys_root);
	r->own_root = own_root(proc_root);
	if (r->sys_root && r->own_root)
		err = mount_views_new(proc_root, &r->views);
	if (err)
		resolver_free(r);
	else
		*ret = r;
	return err;
}

void resolver_free(struct resolver *r)
{
	if (!r)
		return;
	mount_views_free(r->views);
	free(r->sys_root);
	free(r->own_root);
	free(r);
}

void resolver_refresh(struct resolver *r)
{
	mount_views_refresh(r->views);
}

static bool is_valid(const struct name_record *record, size_t size)
{
	const char *data = record->data;
	size_t len = record->data_len;

	if (size < offsetof(struct name_record, data) ||
	    len > size - offsetof(struct name_record, data) || len > NAME_DATA_MAX)
		return false;
	if (len == 0)
		return true;
	/* Each component ends with a NUL and can be a file name. */
	if (data[len - 1] != '\0' || data[0] == '\0' || memchr(data, '/', len))
		return false;
	return !memmem(data, len, "\0", 2);
}

/* Turns "c\0b\0a\0" into PREFIX/a/b/c. */
static char *reverse_path(const char *prefix, const char *data, size_t len)
{
	size_t prefix_len = strlen(prefix), end = len;
	char *path = malloc(prefix_len + len + 1), *out;

	if (!path)
		return NULL;
	out = mempcpy(path, prefix, prefix_len);
	while (end > 0) {
		size_t start = end - 1;

		while (start > 0 && data[start - 1] != '\0')
			start--;
		*out++ = '/';
		out = mempcpy(out, data + start, end - 1 - start);
		end = start;
	}
	*out = '\0';
	return path;
}

/* O_TMPFILE: it never had a name. d_tmpfile() calls it by its number (fs/dcache.c). */
static bool is_tmpfile(const struct name_record *record)
{
	char number[32];

	snprintf(number, sizeof(number), "#%llu", (unsigned long long)record->file.ino);
	return record->flags & NAME_UNLINKED && !strcmp(record->data, number);
}

/* The device node of a block device, by the name that the kernel gave it. */
static int name_block_device(const struct resolver *r, uint32_t rdev, char **ret_path)
{
	_cleanup_free_ char *file = NULL, *uevent = NULL;
	size_t len = 0;
	char *name;
	int err;

	if (text_print(&file, "%s/dev/block/%u:%u/uevent", r->sys_root, rdev >> 20,
		       rdev & 0xfffffU))
		return -ENOMEM;
	err = file_read(AT_FDCWD, file, 65536, &uevent, &len);
	if (err == -ENOMEM)
		return err;
	/* Removed meanwhile, or no sysfs. */
	if (err)
		return 0;
	name = strstr(uevent, "DEVNAME=");
	if (!name || (name != uevent && name[-1] != '\n'))
		return 0;
	name += strlen("DEVNAME=");
	name[strcspn(name, "\n")] = '\0';
	if (!*name)
		return 0;
	return text_print(ret_path, "/dev/%s", name);
}

/* A path from the filesystem's root: below a mount that shows it, else with an unknown
 * beginning. */
static int place_in_mounts(struct resolver *r, const struct name_record *record, char **ret_path)
{
	char *inside = reverse_path("", record->data, record->data_len), *path = NULL;
	uint32_t dev = record->super_dev ? record->super_dev : record->file.dev;
	int err;

	if (!inside)
		return -ENOMEM;
	err = mount_views_place(r->views, (pid_t)record->tgid, dev, inside, &path);
	if (err == -ENOENT)
		err = text_print(&path, UNKNOWN_BEGINNING "%s", inside);
	free(inside);
	if (!err)
		*ret_path = path;
	return err;
}

/* A path from the root of the mount namespace. If cachemon runs below a chroot, so does the
 * reader of the report; a path outside the chroot stays complete. */
static int path_from_root(struct resolver *r, const struct name_record *record, char **ret_path)
{
	_cleanup_free_ char *path = reverse_path("", record->data, record->data_len);
	const char *inside = NULL;

	if (!path)
		return -ENOMEM;
	if (*r->own_root && mount_views_shared(r->views, (pid_t)record->tgid))
		inside = own_root_strip(r->own_root, path);
	if (inside)
		memmove(path, inside, strlen(inside) + 1);
	*ret_path = TAKE_PTR(path);
	return 0;
}

/* The same record with its leaf first; NULL: no memory. */
static struct name_record *leaf_first(const struct name_record *record)
{
	size_t len = record->data_len, start = len - 1;
	struct name_record *turned = malloc(sizeof(*turned));

	if (!turned)
		return NULL;
	while (start > 0 && record->data[start - 1] != '\0')
		start--;
	memcpy(turned, record, offsetof(struct name_record, data));
	memcpy(mempcpy(turned->data, record->data + start, len - start), record->data, start);
	turned->flags &= ~NAME_LEAF_LAST;
	return turned;
}

static int resolve_record(struct resolver *r, const struct name_record *record,
			  struct resolved *ret)
{
	struct resolved name = {0};
	int err = 0;

	name.deleted = record->flags & NAME_UNLINKED;
	if (record->flags & NAME_BLOCK_DEVICE) {
		/* The record names the opened node, or nothing: mknod(2) can create any name. */
		name.deleted = false;
		err = name_block_device(r, record->rdev, &name.path);
	} else if (record->flags & NAME_NONE || record->data_len == 0 || is_tmpfile(record)) {
		name.path = NULL;
	} else if (record->flags & NAME_TRUNCATED) {
		name.path = reverse_path(UNKNOWN_BEGINNING, record->data, record->data_len);
		err = name.path ? 0 : -ENOMEM;
	} else if (record->flags & NAME_NO_MOUNT) {
		err = place_in_mounts(r, record, &name.path);
	} else {
		err = path_from_root(r, record, &name.path);
	}
	if (!err)
		*ret = name;
	return err;
}

int resolver_name(struct resolver *r, const struct name_record *record, size_t size,
		  struct resolved *ret)
{
	struct name_record *turned;
	int err;

	if (!is_valid(record, size))
		return -EBADMSG;
	if (!(record->flags & NAME_LEAF_LAST) || !record->data_len)
		return resolve_record(r, record, ret);
	turned = leaf_first(record);
	if (!turned)
		return -ENOMEM;
	err = resolve_record(r, turned, ret);
	free(turned);
	return err;
}
