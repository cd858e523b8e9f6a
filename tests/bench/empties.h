/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The floor of tracing: programs that do nothing, on the very hooks another set of programs uses.
 * Owns their links; they are gone with the process at the latest.
 */
#ifndef BENCH_EMPTIES_H
#define BENCH_EMPTIES_H

#include "scan.h"

struct empties {
	int fds[2 * SCAN_MAX]; /* programs and links */
	int nr;
};

/* One empty program on each tracepoint of like; exits where the kernel refuses one. */
void empties_attach(const struct scan *like, struct empties *ret);
/* One on a hook that is named as doctor does: tp_btf:NAME or fentry:NAME. */
void empties_attach_hook(const char *hook, struct empties *ret);
void empties_detach(struct empties *e);

#endif
