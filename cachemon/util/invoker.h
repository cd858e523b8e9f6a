/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who invoked cachemon. Through sudo that is the user behind it, not root: commands run as that
 * user and files are made as that user. Owns the account's data; outlives no process.
 */
#ifndef INVOKER_H
#define INVOKER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "util/errtext.h"

struct invoker {
	uid_t uid;
	gid_t gid;
	char *name;    /* NULL: the uid has no account */
	char *home;    /* absolute; NULL: none known */
	char *shell;   /* NULL: none known */
	gid_t *groups; /* supplementary */
	size_t nr_groups;
	bool switched; /* the process runs as another user than this one */
};

/* What decides: of the process and of its environment. Strings may be NULL. */
struct invoker_facts {
	uid_t ruid;
	uid_t euid;
	gid_t rgid;
	const char *sudo_uid; /* believed only when both uids are root's, as sudo leaves them */
	const char *sudo_gid;
	const char *sudo_user;
	const char *home;
};

int invoker_from_facts(const struct invoker_facts *facts, struct invoker *ret, struct errtext *err);
int invoker_current(struct invoker *ret, struct errtext *err);
void invoker_free(struct invoker *inv);

/* Become the invoker for good: groups, gids, uids, capabilities. For the forked child of a process
 * of one thread. When not switched, what a user was given for measuring is not inherited. */
int invoker_drop_permanently(const struct invoker *inv);

/* The identity that file accesses had before invoker_fs_enter(). */
struct invoker_fs {
	bool entered;
	gid_t *groups;
	size_t nr_groups;
};

/*
 * Access files as the invoker until invoker_fs_leave(): what is created belongs to that user, and
 * no symlink in that user's directories makes root touch what the user could not.
 */
int invoker_fs_enter(const struct invoker *inv, struct invoker_fs *ret_saved);
void invoker_fs_leave(struct invoker_fs *saved);

#endif
