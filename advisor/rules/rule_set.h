/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All rules and notes: built-in ones, overridden by a site's directories. An error in a site's file
 * affects only that file: each error is kept with file and line. rule_dirs_make() and
 * rule_dirs_free() are in rule_set.c.
 */
#ifndef RULE_SET_H
#define RULE_SET_H

#include "advisor/rules/rule.h"

/* Directories of a site's rules. Later ones override earlier ones. */
struct rule_dir {
	const char *path;
	bool must_exist; /* given by the user */
};

enum { RULE_DIRS_MAX = 4 };

struct rule_dirs {
	struct rule_dir dir[RULE_DIRS_MAX];
	size_t nr;
	char *owned; /* a composed path */
};

struct rule_set {
	struct arena arena;
	struct rule *rules; /* by id */
	size_t nr_rules;
	struct note *notes; /* by id */
	size_t nr_notes;
	const char **problems; /* "FILE:LINE: what is wrong; what to do" */
	size_t nr_problems;
};

/*
 * /etc/cachemon/rules; cachemon/rules in config_home (XDG_CONFIG_HOME, if absolute), else in
 * .config of home; env ($CACHEMON_RULES); named (--rules). All except the first may be NULL or
 * empty.
 */
int rule_dirs_make(const char *home, const char *config_home, const char *env, const char *named,
		   struct rule_dirs *ret);
void rule_dirs_free(struct rule_dirs *d);

/* dirs NULL: built-in only. 0 or -ENOMEM; other errors are in problems. */
int rule_set_load(const struct rule_dirs *dirs, struct rule_set *ret);
void rule_set_free(struct rule_set *s);
/* Adds err to the problems. Returns 0 unless e is -ENOMEM. */
int rule_set_problem(struct rule_set *s, int e, const struct errtext *err);

const struct rule *rule_set_rule(const struct rule_set *s, const char *id);
const struct note *rule_set_note(const struct rule_set *s, const char *id);

#endif
