/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The filesystems that files of the job lie on: which mount each is and how far it is seen. Owns
 * the strings and when mounts are looked at: once for each device, again while none is found.
 */
#ifndef FS_TABLE_H
#define FS_TABLE_H

#include "cachemon/account/sample.h"
#include "bpf/names.h"

struct fs_table;

/* proc_root as "/proc"; direct: the direct reads that are counted, as plan/fs_cover.h says. */
int fs_table_new(const char *proc_root, unsigned int direct, struct fs_table **ret);
void fs_table_free(struct fs_table *t);

/* A file of that device was seen. rec: what was sent of its name, whose process sees its mount;
 * NULL: nothing yet. */
void fs_table_see(struct fs_table *t, uint32_t dev, const struct name_record *rec);

/* All of them, as far as they are known now; borrowed until the next call. */
const struct sample_filesystem *fs_table_describe(struct fs_table *t, size_t *ret_nr);

#endif
