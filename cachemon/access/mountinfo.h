/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The mounts of a mount namespace, as /proc/PID/mountinfo lists them (proc_pid_mountinfo(5)), and
 * which of them serves a path. Owns the parsed text; knows nothing of devices or cgroups.
 */
#ifndef MOUNTINFO_H
#define MOUNTINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Strings are decoded: root and point may contain any byte except NUL. */
struct mount {
	int id;
	int parent;
	bool top;	   /* its parent is not listed, so it is the top of the list */
	uint32_t dev;	   /* kernel dev_t: major << 20 | minor */
	const char *root;  /* the directory (or file) of the filesystem that is mounted */
	const char *point; /* mount point, seen from the process's root */
	const char *fstype;
	const char *source;  /* a device, or any text of its filesystem */
	const char *options; /* of the superblock */
};

struct mountinfo {
	struct mount *mounts;
	size_t nr;
	char *text;
};

/* -EBADMSG for a line in an unknown format: a list with a gap would name the wrong mount. */
int mountinfo_parse(const char *text, size_t len, struct mountinfo *ret);
int mountinfo_read(const char *path, struct mountinfo *ret);
void mountinfo_free(struct mountinfo *mi);

/* The mount in which a lookup of the absolute path (no symlinks, no "..") ends; mounts hidden
 * below others serve no path. NULL: none, as below a chroot. */
const struct mount *mountinfo_serving(const struct mountinfo *mi, const char *path);

/* Whether word is one of the comma-separated options. */
bool mountinfo_has_option(const char *options, const char *word);

/* Decodes the octal escapes of a field in place. options are not decoded, because a decoded comma
 * could belong to a path. */
void mountinfo_decode(char *s);

#endif
