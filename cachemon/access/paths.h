/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where cachemon keeps its database, and paths as strings: prefixes by whole components.
 */
#ifndef PATHS_H
#define PATHS_H

#include "cachemon/access/invoker.h"

/*
 * The default database: $CACHEMON_DB as it is, else cachemon/cachemon.db in $XDG_STATE_HOME (when
 * absolute, as its specification demands), else in ~/.local/state of the invoker, which under sudo
 * is not root. NULL or empty variables are unset ones. -ENOENT when there is no home directory.
 */
int paths_default_db(const struct invoker *inv, const char *cachemon_db, const char *xdg_state_home,
		     char **ret_path, struct errtext *err);

/* cachemon/NAME of a user's configuration: in config_home (XDG_CONFIG_HOME, when absolute), else in
 * .config of home. 0 or -ENOMEM; *ret_path is NULL where there is no such place. */
int paths_user_config(const char *home, const char *config_home, const char *name, char **ret_path);

/* The directories above path that are missing, made by and for the invoker, mode 0700. */
int paths_make_parents(const char *path, const struct invoker *inv, struct errtext *err);

/*
 * The part of path below prefix: "" if they are equal, "x/y" for "/a/x/y" below "/a", NULL if path
 * is not below. Both are absolute and without empty components; "/" is above everything.
 */
const char *paths_below(const char *path, const char *prefix);

/* The last component: what follows the last '/'. */
const char *paths_last(const char *path);

#endif
