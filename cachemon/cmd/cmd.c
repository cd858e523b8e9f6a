/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/cmd/cmd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/rules/rule_set.h"
#include "cachemon/access/invoker.h"
#include "cachemon/access/paths.h"
#include "cachemon/base/escape.h"
#include "cachemon/cmd/spec.h"

void cmd_say(const char *text)
{
	char shown[1200];

	escape_inert_to(shown, sizeof(shown), text);
	fprintf(stderr, "cachemon: %s\n", shown);
}

int cmd_finish(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	fprintf(stderr, "cachemon: cannot write to standard output\n");
	return status ? status : EXIT_FAILED;
}

int cmd_default_db(const struct invoker *inv, char **ret_path, struct errtext *err)
{
	return paths_default_db(inv, getenv("CACHEMON_DB"), getenv("XDG_STATE_HOME"), ret_path,
				err);
}

int cmd_rules(const struct invoker *inv, const char *named, struct rule_dirs *ret,
	      struct errtext *err)
{
	if (rule_dirs_make(inv->home, getenv("XDG_CONFIG_HOME"), getenv("CACHEMON_RULES"), named,
			   ret))
		return errtext_set(err, -ENOMEM, "not enough memory to look for rules");
	return 0;
}

void cmd_print_rule_problem(void *arg, const char *problem)
{
	size_t *nr = arg;

	cmd_say(problem);
	++*nr;
}

bool option_spec_end(const struct option_spec *o)
{
	return !o->option.name && !o->option.doc;
}

bool option_spec_heading(const struct option_spec *o)
{
	return !o->option.name && o->option.doc;
}

char option_spec_letter(const struct option_spec *o)
{
	return o->option.key > ' ' && o->option.key < 0x7f ? (char)o->option.key : 0;
}

const struct option_spec *option_spec_help(void)
{
	static const struct option_spec help = {
		{"help", 'h', NULL, 0, "Show this help", 0},
		VALUE_NONE,
	};

	return &help;
}

size_t choice_of(const char *words, size_t i, const char **ret_word)
{
	for (; i; i--) {
		words += strcspn(words, "|");
		if (!*words)
			return 0;
		words++;
	}
	*ret_word = words;
	return strcspn(words, "|");
}

const struct verb_spec *const *verbs_all(size_t *ret_nr)
{
	static const struct verb_spec *const verbs[] = {
		&watch_spec, &top_spec,	    &report_spec,   &advise_spec,
		&ask_spec,   &explain_spec, &whatif_spec,   &compare_spec,
		&runs_spec,  &mark_spec,    &daemon_spec,   &jobs_spec,
		&merge_spec, &doctor_spec,  &selftest_spec, &complete_spec,
	};

	*ret_nr = sizeof(verbs) / sizeof(verbs[0]);
	return verbs;
}

const struct verb_spec *verb_find(const char *name)
{
	size_t nr = 0;
	const struct verb_spec *const *verbs = verbs_all(&nr);

	for (size_t i = 0; i < nr; i++)
		if (strcmp(verbs[i]->name, name) == 0)
			return verbs[i];
	return NULL;
}

const struct example *program_examples(void)
{
	static const struct example examples[] = {
		{"sudo cachemon watch -- python3 train.py",
		 "Run a command and record its page-cache activity"},
		{"cachemon report -o report.html",
		 "Write a report of the last run as an HTML page"},
		{"cachemon advise", "Show what to change and what it gains"},
		{"cachemon compare last-1 last", "Show whether the change helped"},
		{0},
	};

	return examples;
}
