/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside of the rule set: how a set grows. rule_dir_load() is in rule_dirs.c.
 */
#ifndef RULE_SET_IMPL_H
#define RULE_SET_IMPL_H

#include "advisor/rules/rule_set.h"

/* 0, or -ENOMEM. A rule or note of the same id is replaced. */
int rule_set_put_rule(struct rule_set *s, const struct rule *rule);
int rule_set_put_note(struct rule_set *s, const struct note *note);
/* Keeps what err says. Returns 0 unless e is -ENOMEM. */
int rule_set_problem(struct rule_set *s, int e, const struct errtext *err);
struct rule *rule_set_find(struct rule_set *s, const char *id);

/* One directory on top of what is there. */
int rule_dir_load(struct rule_set *s, const struct rule_dir *dir);

#endif
