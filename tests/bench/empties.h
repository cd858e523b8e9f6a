/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The base cost of tracing: empty programs on the same hooks that another set of programs uses.
 * Their links end with the process at the latest.
 */
#ifndef BENCH_EMPTIES_H
#define BENCH_EMPTIES_H

#include "scan.h"

struct empties {
	int fds[2 * SCAN_MAX]; /* programs and links */
	int nr;
};

/* One empty program on each tracepoint of like; exits if the kernel refuses one. */
void empties_attach(const struct scan *like, struct empties *ret);
/* One on a hook named as by doctor: tp_btf:NAME or fentry:NAME. */
void empties_attach_hook(const char *hook, struct empties *ret);
void empties_detach(struct empties *e);

#endif
