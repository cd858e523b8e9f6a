/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/cmd/rules.h"

#include <errno.h>
#include <stdlib.h>

#include "cachemon/cmd/cmd.h"

int rules_of_environment(const struct invoker *inv, const char *named, struct rule_dirs *ret,
			 struct errtext *err)
{
	if (rule_dirs_make(inv->home, getenv("XDG_CONFIG_HOME"), getenv("CACHEMON_RULES"), named,
			   ret))
		return errtext_set(err, -ENOMEM, "not enough memory to look for rules");
	return 0;
}

void rules_print_problem(void *arg, const char *problem)
{
	size_t *nr = arg;

	cmd_say(problem);
	++*nr;
}
