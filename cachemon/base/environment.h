/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The environment that the process was started with. Where the program file has capabilities the
 * loader takes LD_LIBRARY_PATH, TMPDIR and others out of environ, for its own safety; a command
 * that runs without them has a right to the whole.
 */
#ifndef ENVIRONMENT_H
#define ENVIRONMENT_H

/* NULL-terminated; lives as long as the process. environ itself where nothing was taken out, or
 * where what there was cannot be read. */
char **environment_whole(void);

#endif
