/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The filesystems with files of the job: their mounts, and which of their reads are seen. Owns the
 * strings and the decision when to read mounts: once per device, and again while none is found.
 */
#ifndef FS_TABLE_H
#define FS_TABLE_H

#include "cachemon/account/sample.h"
#include "bpf/names.h"

struct fs_table;

/* proc_root: "/proc"; direct: which direct reads are counted, as in plan/fs_cover.h. */
int fs_table_new(const char *proc_root, unsigned int direct, struct fs_table **ret);
void fs_table_free(struct fs_table *t);

/* A file of that device was seen. rec: the record of its name, whose process sees its mount;
 * NULL: none yet. */
void fs_table_see(struct fs_table *t, uint32_t dev, const struct name_record *rec);

/* All filesystems, as far as known now; borrowed until the next call. */
const struct sample_filesystem *fs_table_describe(struct fs_table *t, size_t *ret_nr);

#endif
