/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The user who invoked cachemon. Through sudo that is the caller of sudo, not root: commands run as
 * that user and files are made as that user. Owns the account's data; outlives no process.
 */
#ifndef INVOKER_H
#define INVOKER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "cachemon/base/errtext.h"

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

/*
 * Become the invoker for good, HOME included, as a verb that measures nothing does before it looks
 * at its options. Root without sudo stays root. 0 or -errno with a line in err.
 */
int invoker_become(struct errtext *err);

/*
 * Runs something in a child that has become the invoker for good, and waits for it: reading a
 * database, writing a report. stdout and stderr are shared. 0; -EIO with the line that run left in
 * err, or that says how the child was killed.
 */
int invoker_run(const struct invoker *inv, int (*run)(void *arg, struct errtext *err), void *arg,
		struct errtext *err);

/* Whom a file belongs to, to act as with access_enter(): the account's groups, or gid alone where
 * the user has no account. */
int invoker_of_owner(uid_t uid, gid_t gid, struct invoker *ret);

/*
 * As whom a file was refused, to be put after strerror(): " (as user ann)", "" for other errors.
 * Through sudo also how root's own files are reached.
 */
void invoker_as_whom(int error, char *ret_text, size_t size);

/* The name of a user's account, else "uid N". */
void invoker_user_name(uid_t uid, char *ret_text, size_t size);

/* Supplementary groups of the process, malloc'ed. */
int invoker_own_groups(gid_t **ret_groups, size_t *ret_nr);

#endif
