/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Publishes what a callback writes to a stream: prints it, or creates a file that appears
 * completely or not at all. Owns that procedure, its messages and the temporary file; the content
 * is the caller's. Functions return 0, or -errno with a line in err. For processes that have become
 * their invoker, or act as it (access_enter()).
 */
#ifndef PUBLISH_H
#define PUBLISH_H

#include <stdio.h>

#include "cachemon/base/errtext.h"

/* A file that appears completely or not at all: written in the same directory and renamed. Pipes
 * and devices are written directly. */
struct output {
	FILE *out; /* write here */
	char *path;
	char *temporary; /* NULL: written directly */
};

/* 0, or -errno with a line in err. */
int publish_open(const char *path, struct output *ret, struct errtext *err);
/* Renames the file into place. On failure no new file remains, and an existing file is
 * unchanged. */
int publish_commit(struct output *o, struct errtext *err);
/* The same for a file that is soon replaced again: it does not wait for the disk. */
int publish_replace(struct output *o, struct errtext *err);
/* The same for a file that must not exist: -EEXIST, also for a link that leads nowhere. */
int publish_commit_new(struct output *o, struct errtext *err);
/* Discards the written data; does nothing after a commit. */
void publish_abort(struct output *o);

struct publication {
	const char *name; /* in messages: "the report" */
	const void *content;
	/* 0 or -errno; errors of the stream are checked afterwards. */
	int (*write)(const void *content, FILE *out);
};

int publish_print(const struct publication *p, FILE *out, struct errtext *err);
/* Writes a file that appears completely or not at all. */
int publish_write(const struct publication *p, const char *out_path, struct errtext *err);
/* Writes to out_path, or to out if that is NULL. */
int publish(const struct publication *p, const char *out_path, FILE *out, struct errtext *err);

/* Whether publish_write() could create that file; for use before the work begins. */
int publish_place(const char *out_path, struct errtext *err);
/* -EINVAL: out_path is the database that is the source; NULL: no output file. */
int publish_not_over(const char *name, const char *db, const char *out_path, struct errtext *err);

#endif
