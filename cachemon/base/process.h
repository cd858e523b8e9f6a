/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This process: keeps others of the user from tracing it, survives the limit of file sizes (both
 * are set first thing in main()), closes what a child must not hold, and has the environment that
 * it was started with.
 */
#ifndef PROCESS_H
#define PROCESS_H

#include <stddef.h>

/*
 * From now on only root can trace this process: nobody else can read its memory, attach to it or
 * take its descriptors (ptrace, /proc/PID/mem, pidfd_getfd). A child inherits it until it executes
 * a program. A change of user sets it to fs.suid_dumpable, which does the same unless it is 1.
 */
int process_untraceable(void);

/* For a child that executes no program: these descriptors become 0, 1, ..., and no other stays
 * open. 0 or -errno. */
enum { PROCESS_KEPT_MOST = 3 };
int process_keep_only(const int fds[], size_t nr);

/*
 * At the limit of file sizes (RLIMIT_FSIZE) a write fails with EFBIG and does not end the process.
 * A program that it executes finds SIGXFSZ as this process did, ignored or not.
 */
void process_survive_file_limit(void);

/*
 * The environment that the process was started with. Where the program file has capabilities the
 * loader takes LD_LIBRARY_PATH, TMPDIR and others out of environ, for its own safety; a command
 * that runs without them has a right to the whole. NULL-terminated; lives as long as the process.
 * environ itself where nothing was taken out, or where what there was cannot be read.
 */
char **process_environment(void);

/* The beginning of a field (3 or later) in the text of a /proc/PID/stat (proc_pid_stat(5)), or
 * NULL. Field 2, the name, may hold anything, even ')'. */
const char *process_stat_field(const char *stat, int number);

#endif
