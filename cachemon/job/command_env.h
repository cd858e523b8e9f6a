/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The environment of the watched command: the caller's, with what sudo did to it undone. When the
 * command changes users (invoker.switched):
 *   - SUDO_COMMAND, SUDO_UID, SUDO_GID, SUDO_USER, SUDO_HOME and SUDO_TTY are dropped; they speak
 *     of cachemon's own start. SUDO_ASKPASS, SUDO_EDITOR and SUDO_PROMPT are the user's, kept;
 *   - HOME, SHELL, USER, LOGNAME that are root's become the user's, MAIL of root's is dropped;
 *     values that somebody set (sudo HOME=…, sudo -E) stay;
 *   - all else stays, PATH too: what it was before sudo's secure_path is not to be known.
 */
#ifndef COMMAND_ENV_H
#define COMMAND_ENV_H

#include "cachemon/access/invoker.h"

/* root_home, root_shell: of root's account, NULL when unknown. NULL-terminated, the caller's. */
int command_env_build(char *const env[], const struct invoker *inv, const char *root_home,
		      const char *root_shell, char ***ret_env);
void command_env_free(char **env);

#endif
