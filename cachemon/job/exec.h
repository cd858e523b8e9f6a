/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Executing a command by its name as a shell does. Async-signal-safe but for reading PATH.
 */
#ifndef EXEC_H
#define EXEC_H

/*
 * Returns only on failure: -ENOENT when there is no such command, -EACCES and others when there
 * is one that cannot be executed. Unlike execvp(3), a directory of PATH that may not be searched
 * (root's, after sudo) counts as one without the command. Scripts without "#!" run by /bin/sh.
 */
int exec_command(char *const argv[], char *const env[]);

#endif
