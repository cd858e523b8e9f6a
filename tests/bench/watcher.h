/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A real 'cachemon watch' of a running process: started on its own terminal, ready after its first
 * live line, and ended by the interrupt signal, as by a user.
 */
#ifndef BENCH_WATCHER_H
#define BENCH_WATCHER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define WATCHER_ARGS_MAX 8

struct watcher_config {
	const char *cachemon;
	const char *db;
	pid_t pid;			    /* the watched process */
	const char *args[WATCHER_ARGS_MAX]; /* more options, NULL-terminated */
};

struct watcher {
	pid_t pid;
	int tty;
	uint64_t ready_ns; /* from exec to the first live line */
};

/* Returns when the first live line is shown; exits with cachemon's messages if it fails. */
void watcher_start(const struct watcher_config *config, struct watcher *ret);
/* Reads cachemon's output: a full terminal would block it. */
void watcher_drain(struct watcher *w);
/* Returns when it has ended. */
void watcher_stop(struct watcher *w);

#endif
