/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies one run of a database, with all of its rows and nothing of others, to a file in memory
 * that nobody can change: a database for a user who may not read the whole one.
 */
#ifndef STORE_COPY_H
#define STORE_COPY_H

#include "cachemon/store/store.h"

/* *ret_fd: a sealed memfd with one consistent state, also while the run is written. 0, or -errno
 * with a text; -ENOENT: no such run. */
int store_copy_run(const char *path, int64_t run_id, int *ret_fd, struct errtext *err);

enum { STORE_COPY_NEWEST = 128 };

/* Of its timeline only the intervals after that one, and STORE_COPY_NEWEST at most; after: 0, or
 * the id of an interval, without effect if the run does not have it. *ret_fd is -1 if it is the
 * newest one. */
int store_copy_new(const char *path, int64_t run_id, int64_t after, int *ret_fd,
		   struct errtext *err);

#endif
