/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/gen/docs.h"

static void put_flag(const struct docs *d, const struct verb_spec *verb,
		     const struct option_spec *o)
{
	if (option_spec_letter(o))
		fprintf(d->out, " -%c", option_spec_letter(o));
	fprintf(d->out, " --%s", o->option.name);
}

static void put_verb_flags(const struct docs *d, const struct verb_spec *verb)
{
	fprintf(d->out, "\t%s) flags=(", verb->name);
	docs_options(d, verb, put_flag);
	fputs(" ) ;;\n", d->out);
}

int bash_flags(const struct docs *d)
{
	docs_verbs(d, put_verb_flags);
	return 0;
}

static void put_verb(const struct docs *d, const struct verb_spec *verb)
{
	fprintf(d->out, "\t%s\n", verb->name);
}

int bash_verbs(const struct docs *d)
{
	docs_verbs(d, put_verb);
	return 0;
}

static const char *kind_word(enum value_kind kind)
{
	static const char *const words[VALUE_NR] = {
		[VALUE_FILE] = "file",	       [VALUE_PATH] = "file",
		[VALUE_DIRECTORY] = "dir",     [VALUE_CHOICE] = "choice",
		[VALUE_RUN] = "run",	       [VALUE_JOB] = "job",
		[VALUE_FINDING] = "finding",   [VALUE_PID] = "pid",
		[VALUE_DURATION] = "duration", [VALUE_PERCENT] = "number",
		[VALUE_NUMBER] = "number",     [VALUE_COMMAND] = "command",
		[VALUE_TEXT] = "text",	       [VALUE_NONE] = "none",
	};

	return words[kind];
}

static void put_kind(const struct docs *d, enum value_kind kind, const char *placeholder)
{
	fprintf(d->out, ") kind='%s'", kind_word(kind));
	if (kind == VALUE_CHOICE) {
		fputs(" choices=(", d->out);
		docs_choices(d->out, placeholder, " ");
		fputs(")", d->out);
	}
	fputs(" ;;\n", d->out);
}

static void put_value(const struct docs *d, const struct verb_spec *verb,
		      const struct option_spec *o)
{
	if (o->value == VALUE_NONE)
		return;
	fprintf(d->out, "\t'%s --%s'", verb->name, o->option.name);
	if (option_spec_letter(o))
		fprintf(d->out, " | '%s -%c'", verb->name, option_spec_letter(o));
	put_kind(d, o->value, o->option.arg);
}

static void put_verb_values(const struct docs *d, const struct verb_spec *verb)
{
	docs_options(d, verb, put_value);
	if (!verb->operands)
		return;
	fprintf(d->out, "\t'%s '", verb->name);
	put_kind(d, verb->operand, verb->operands);
}

int bash_values(const struct docs *d)
{
	docs_verbs(d, put_verb_values);
	return 0;
}
