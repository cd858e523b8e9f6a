/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This process: prevents the user's other processes from tracing it, survives the limit of file
 * sizes (main() sets both first), closes what a child must not inherit, and keeps its original
 * environment.
 */
#ifndef PROCESS_H
#define PROCESS_H

#include <stddef.h>

/*
 * From now on only root can trace this process: no other process can read its memory, attach to it
 * or take its descriptors (ptrace, /proc/PID/mem, pidfd_getfd). A child inherits this until it
 * executes a program. A change of user sets it to fs.suid_dumpable, which has the same effect
 * unless it is 1.
 */
int process_untraceable(void);

/* For a child that executes no program: these descriptors become 0, 1, ..., and all others are
 * closed. 0 or -errno. */
enum { PROCESS_KEPT_MOST = 3 };
int process_keep_only(const int fds[], size_t nr);

/*
 * At the limit of file sizes (RLIMIT_FSIZE) a write fails with EFBIG instead of ending the process.
 * An executed program inherits the original action of SIGXFSZ, ignored or not.
 */
void process_survive_file_limit(void);

/*
 * The environment with which the process was started. If the program file has capabilities, the
 * loader removes LD_LIBRARY_PATH, TMPDIR and others from environ for its own safety; a command that
 * runs without capabilities must get all of it. NULL-terminated; lives as long as the process. It
 * is environ itself if nothing was removed, or if the original cannot be read.
 */
char **process_environment(void);

/* The beginning of a field (3 or later) in the text of a /proc/PID/stat (proc_pid_stat(5)), or
 * NULL. Field 2, the name, may contain anything, even ')'. */
const char *process_stat_field(const char *stat, int number);

#endif
