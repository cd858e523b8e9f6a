/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The layers of an overlay mount, from the options of its superblock. Owns their syntax.
 */
#ifndef FS_LAYERS_H
#define FS_LAYERS_H

/* For each layer's directory, the upper one included, until visit says other than 0; what it said
 * last. A path may be relative: then nobody can tell to what. */
int fs_layers_each(const char *options, int (*visit)(const char *path, void *ctx), void *ctx);

#endif
