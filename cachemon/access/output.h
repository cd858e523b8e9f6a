/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file that appears whole or not at all: written beside its place and renamed into it. Pipes
 * and devices are written directly. Owns the temporary file.
 */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <stddef.h>
#include <stdio.h>

#include "cachemon/base/errtext.h"

struct output {
	FILE *out; /* write here */
	char *path;
	char *temporary; /* NULL: written directly */
};

/* 0, or -errno with a line in err. */
int output_open(const char *path, struct output *ret, struct errtext *err);
/* Puts the file in its place. On failure nothing is left behind and what was there stays. */
int output_commit(struct output *o, struct errtext *err);
/* Drops what was written; nothing to do after a commit. */
void output_abort(struct output *o);

/* A failure that was said: what the stream still holds would fail, and be said, again at exit. */
void output_forget(FILE *out);

#endif
