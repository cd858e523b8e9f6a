/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Paths from name records (bpf/names.h). A path is absolute and complete, or begins with ".../"
 * when its beginning is not known (too deep for a record, or no mount shows that filesystem), or
 * there is none: never a path that looks whole and is not. Owns the mount tables this needs.
 */
#ifndef RESOLVE_H
#define RESOLVE_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf/names.h"

struct resolved {
	char *path;   /* raw bytes, the caller's; NULL: not named */
	bool deleted; /* the name was gone already when it was seen; path carries no suffix */
};

struct resolver;

/* proc_root and sys_root as "/proc" and "/sys". */
int resolver_new(const char *proc_root, const char *sys_root, struct resolver **ret);

/*
 * The path in the mount namespace of record->tgid, from cachemon's own root directory on where that
 * is the same namespace. A path that mounts have to complete is as record->tgid sees it where that
 * process still is, else as cachemon does. size: bytes of the record that are there.
 * -EBADMSG: no valid record.
 */
int resolver_name(struct resolver *r, const struct name_record *record, size_t size,
		  struct resolved *ret);

/* Once an interval: mounts of other namespaces are looked at again when next needed. (Holding
 * their mountinfo open to learn of changes would keep a container's mounts alive.) */
void resolver_refresh(struct resolver *r);

void resolver_free(struct resolver *r);

#endif
