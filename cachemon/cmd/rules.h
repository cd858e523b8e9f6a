/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the verbs that analyse look for a site's rules: /etc, the user's own, $CACHEMON_RULES,
 * --rules. Owns the reading of the environment.
 */
#ifndef CMD_RULES_H
#define CMD_RULES_H

#include "advisor/rules/rule_set.h"
#include "cachemon/access/invoker.h"

/* named: of --rules, or NULL. 0, or -ENOMEM with a text. Free with rule_dirs_free(). */
int rules_of_environment(const struct invoker *inv, const char *named, struct rule_dirs *ret,
			 struct errtext *err);

/* A report_options.on_problem: prints to stderr and counts in *(size_t *)arg. */
void rules_print_problem(void *arg, const char *problem);

#endif
