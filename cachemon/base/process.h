/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps other processes of the user from tracing this one, and survives the limit of file sizes.
 * Set first thing in main().
 */
#ifndef PROCESS_H
#define PROCESS_H

/*
 * From now on only root can trace this process: nobody else can read its memory, attach to it or
 * take its descriptors (ptrace, /proc/PID/mem, pidfd_getfd). A child inherits it until it executes
 * a program. A change of user sets it to fs.suid_dumpable, which does the same unless it is 1.
 */
int process_untraceable(void);

/*
 * At the limit of file sizes (RLIMIT_FSIZE) a write fails with EFBIG and does not end the process.
 * A program that it executes finds SIGXFSZ as this process did, ignored or not.
 */
void process_survive_file_limit(void);

#endif
