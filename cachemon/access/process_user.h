/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whose process it is: whether a user may learn which files it reads. Owns that rule. The directory
 * is a parameter, for tests.
 */
#ifndef PROCESS_USER_H
#define PROCESS_USER_H

#include <stdbool.h>
#include <sys/types.h>

/* All of its user ids are this user's, its group ids are one, and it has no capability. proc:
 * "/proc". False also if there is no such process. */
bool process_user_is(const char *proc, pid_t pid, uid_t uid);

#endif
