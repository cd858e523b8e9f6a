/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is said while a full screen has the terminal: kept by a process of its own, which shows it
 * when the watch has gone, also where it crashed or was killed; the view, which would stay then, is
 * ended before. Owns that process and how much it keeps: the first and the last part.
 */
#ifndef WATCH_SAID_H
#define WATCH_SAID_H

#include <sys/types.h>

enum { SAID_PART_BYTES = 32768 };

/* From here on this process' stderr goes there. *ret_stderr_fd is what it was. 0 or -errno. */
int watch_said_begin(int view_pidfd, pid_t *ret_keeper, int *ret_stderr_fd);
/* stderr is what it was, and what was kept has been written to it. */
void watch_said_end(pid_t keeper, int stderr_fd);

#endif
