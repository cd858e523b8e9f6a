/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A real 'cachemon watch' around a running process: started on a terminal of its own, ready when
 * its first live line is there, ended by the interrupt key's signal as a user would.
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
	pid_t pid;			    /* whom to watch */
	const char *args[WATCHER_ARGS_MAX]; /* more options, NULL-terminated */
};

struct watcher {
	pid_t pid;
	int tty;
	uint64_t ready_ns; /* from exec to the first live line */
};

/* Returns when the first live line is shown; exits with cachemon's own words when it fails. */
void watcher_start(const struct watcher_config *config, struct watcher *ret);
/* Takes what cachemon has written meanwhile: a full terminal would stop it. */
void watcher_drain(struct watcher *w);
/* Returns when it is gone. */
void watcher_stop(struct watcher *w);

#endif
