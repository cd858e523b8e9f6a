/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From something that can be written to a stream to a finished one: printed, or a file that appears
 * whole or not at all. Owns that way, its words and the temporary file; what is written is the
 * caller's. Functions return 0 or -errno and then leave a line in err. For processes that have
 * become their invoker.
 */
#ifndef PUBLISH_H
#define PUBLISH_H

#include <stdio.h>

#include "cachemon/base/errtext.h"

/* A file that appears whole or not at all: written next to its place and renamed into it. Pipes and
 * devices are written directly. */
struct output {
	FILE *out; /* write here */
	char *path;
	char *temporary; /* NULL: written directly */
};

/* 0, or -errno with a line in err. */
int publish_open(const char *path, struct output *ret, struct errtext *err);
/* Puts the file in its place. On failure nothing new remains, and an existing file is
 * unchanged. */
int publish_commit(struct output *o, struct errtext *err);
/* Drops what was written; nothing to do after a commit. */
void publish_abort(struct output *o);

struct publication {
	const char *name; /* in messages: "the report" */
	const void *content;
	/* 0 or -errno; whether the stream took it all is looked at afterwards. */
	int (*write)(const void *content, FILE *out);
};

int publish_print(const struct publication *p, FILE *out, struct errtext *err);
/* To a file that appears whole or not at all. */
int publish_write(const struct publication *p, const char *out_path, struct errtext *err);
/* To out_path, or to out where that is NULL. */
int publish(const struct publication *p, const char *out_path, FILE *out, struct errtext *err);
/* The result of writing to out. */
int publish_written(const char *name, int ret, FILE *out, struct errtext *err);

/* Whether publish_write() could make that file, before there is anything to write. */
int publish_place(const char *out_path, struct errtext *err);
/* -EINVAL: out_path is the database that it would be made from; NULL: it is not written to a file.
 */
int publish_not_over(const char *name, const char *db, const char *out_path, struct errtext *err);

#endif
