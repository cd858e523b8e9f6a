/* SPDX-License-Identifier: BSD-2-Clause */
/* The place of cachemon's database, and paths as strings: prefixes by whole components. */
#ifndef PATHS_H
#define PATHS_H

#include "cachemon/access/invoker.h"

/*
 * The default database: $CACHEMON_DB unchanged, else cachemon/cachemon.db in $XDG_STATE_HOME (if
 * absolute, as its specification demands), else in ~/.local/state of the invoker, who under sudo is
 * not root. Empty variables count as unset. -ENOENT: no home directory.
 */
int paths_default_db(const struct invoker *inv, const char *cachemon_db, const char *xdg_state_home,
		     char **ret_path, struct errtext *err);

/* cachemon/NAME in the user's configuration: in config_home (XDG_CONFIG_HOME, if absolute), else
 * in .config of home. 0 or -ENOMEM; *ret_path is NULL if there is neither. */
int paths_user_config(const char *home, const char *config_home, const char *name, char **ret_path);

/* Creates the missing parent directories of path as the invoker, with mode 0700. */
int paths_make_parents(const char *path, const struct invoker *inv, struct errtext *err);

/*
 * The part of path below prefix: "" if they are equal, "x/y" for "/a/x/y" below "/a", NULL if path
 * is not below. Both are absolute and have no empty components; every path is below "/".
 */
const char *paths_below(const char *path, const char *prefix);

/* The last component: what follows the last '/'. */
const char *paths_last(const char *path);

#endif
