/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a shell may offer where a run or a job is to be named: a line each, the name, a tab, what it
 * is. Names that hold anything but characters to be seen have no line: they cannot be told from
 * several lines, and nobody types them.
 */
#ifndef REPORT_CANDIDATES_H
#define REPORT_CANDIDATES_H

#include <stddef.h>
#include <stdio.h>

#include "cachemon/base/errtext.h"

/* The newest first, after "last". 0 or -errno, with a line in err. */
int candidates_runs(const char *db, FILE *out, struct errtext *err);
int candidates_jobs(const char *db, FILE *out, struct errtext *err);
/* One line; or none. */
void candidates_put(FILE *out, const char *name, size_t len, const char *what);

#endif
