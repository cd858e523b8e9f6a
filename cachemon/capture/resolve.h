/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Paths from name records (bpf/names.h). A path is absolute and complete, begins with ".../" if its
 * beginning is unknown (too deep for a record, or no mount shows that filesystem), or is absent; an
 * incomplete path never looks complete. Owns the mount tables for this.
 */
#ifndef RESOLVE_H
#define RESOLVE_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf/names.h"

struct resolved {
	char *path;   /* raw bytes, owned by the caller; NULL: no name */
	bool deleted; /* the file was already unlinked; path has no suffix */
};

struct resolver;

/* proc_root and sys_root: "/proc" and "/sys". */
int resolver_new(const char *proc_root, const char *sys_root, struct resolver **ret);

/*
 * The path in the mount namespace of record->tgid; from cachemon's own root directory if the
 * namespace is the same. If mounts have to complete a path, those of record->tgid count while it
 * exists, else cachemon's. size: bytes of the record. -EBADMSG: invalid record.
 */
int resolver_name(struct resolver *r, const struct name_record *record, size_t size,
		  struct resolved *ret);

/* Call it once per interval: mounts of other namespaces are read again when next needed.
 * (Polling an open mountinfo would keep a container's mounts alive.) */
void resolver_refresh(struct resolver *r);

void resolver_free(struct resolver *r);

#endif
