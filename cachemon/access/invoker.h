/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The user who invoked cachemon. Under sudo that is the caller of sudo, not root: commands run and
 * files are created as that user. Owns the account's data.
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
	bool switched; /* the process runs as another user */
};

/* The inputs: ids of the process and its environment. Strings may be NULL. */
struct invoker_facts {
	uid_t ruid;
	uid_t euid;
	gid_t rgid;
	const char *sudo_uid; /* trusted only if both uids are root's, as sudo leaves them */
	const char *sudo_gid;
	const char *sudo_user;
	const char *home;
};

int invoker_from_facts(const struct invoker_facts *facts, struct invoker *ret, struct errtext *err);
int invoker_current(struct invoker *ret, struct errtext *err);
void invoker_free(struct invoker *inv);

/* Permanently becomes the invoker: groups, gids, uids, capabilities. For the forked child of a
 * single-threaded process. If the user does not change, the capabilities for measuring are removed
 * from the inheritable set. */
int invoker_drop_permanently(const struct invoker *inv);

/*
 * Permanently becomes the invoker, HOME included, as verbs that do not measure do before they parse
 * their options. Root without sudo stays root. 0 or -errno with a line in err.
 */
int invoker_become(struct errtext *err);

/*
 * Calls run in a child that has permanently become the invoker, and waits for it; used for reading
 * a database or writing a report. stdout and stderr are shared. 0; -EIO with the line that run left
 * in err, or with how the child was killed.
 */
int invoker_run(const struct invoker *inv, int (*run)(void *arg, struct errtext *err), void *arg,
		struct errtext *err);

/* The owner of a file, for access_enter(): with the account's groups, or only gid if the user has
 * no account. */
int invoker_of_owner(uid_t uid, gid_t gid, struct invoker *ret);

/*
 * The user whose access was denied, as a suffix for strerror(): " (as user ann)", "" for other
 * errors. Under sudo also explains how to reach root's own files.
 */
void invoker_as_whom(int error, char *ret_text, size_t size);

/* The user's account name, else "uid N". */
void invoker_user_name(uid_t uid, char *ret_text, size_t size);

/* Supplementary groups of the process; malloc'ed. */
int invoker_own_groups(gid_t **ret_groups, size_t *ret_nr);

#endif
