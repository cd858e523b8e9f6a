/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Executing the watched command: with which environment, and by its name as a shell does.
 *
 * The environment is the caller's, without what sudo did to it. When the command changes users
 * (invoker.switched):
 *   - SUDO_COMMAND, SUDO_UID, SUDO_GID, SUDO_USER, SUDO_HOME and SUDO_TTY are dropped, because they
 *     describe the start of cachemon. SUDO_ASKPASS, SUDO_EDITOR and SUDO_PROMPT are the user's, and
 *     stay;
 *   - HOME, SHELL, USER and LOGNAME of root become the user's, and MAIL of root is dropped; values
 *     that somebody set (sudo HOME=..., sudo -E) stay;
 *   - everything else stays, PATH too: its value before sudo's secure_path cannot be known.
 */
#ifndef COMMAND_EXEC_H
#define COMMAND_EXEC_H

#include "cachemon/access/invoker.h"

/* root_home, root_shell: of root's account, NULL: unknown. variable: "NAME=value" to add or
 * replace; or NULL. NULL-terminated; the caller frees it. */
int command_exec_env(char *const env[], const struct invoker *inv, const char *root_home,
		     const char *root_shell, const char *variable, char ***ret_env);
void command_exec_env_free(char **env);

/*
 * Async-signal-safe except for reading PATH. Returns only on failure: -ENOENT if there is no such
 * command, -EACCES and others if it cannot be executed. Unlike execvp(3), a directory of PATH that
 * may not be searched (root's, after sudo) counts as one without the command. Scripts without "#!"
 * run by /bin/sh.
 */
int command_exec(char *const argv[], char *const env[]);

#endif
