/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/gen/docs.h"

/* Between single quotes. */
static void put_text(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			putc('\\', out);
		putc(*text, out);
	}
}

static void put_verb(const struct docs *d, const struct verb_spec *verb)
{
	static const char *const when[] = {"__cachemon_needs_verb", "'__cachemon_verb help'"};

	for (int i = 0; i < 2; i++) {
		fprintf(d->out, "complete -c cachemon -n %s -a %s -d '", when[i], verb->name);
		put_text(d->out, verb->help);
		fputs("'\n", d->out);
	}
}

int fish_verbs(const struct docs *d)
{
	docs_verbs(d, put_verb);
	return 0;
}

static void put_kind(const struct docs *d, enum value_kind kind, const char *placeholder)
{
	static const char *const words[VALUE_NR] = {
		[VALUE_FILE] = "-F",
		[VALUE_PATH] = "-F",
		[VALUE_DIRECTORY] = "-a '(__fish_complete_directories)'",
		[VALUE_RUN] = "-a '(__cachemon_names run)'",
		[VALUE_JOB] = "-a '(__cachemon_names job)'",
		[VALUE_FINDING] = "-a '(__cachemon_names finding)'",
		[VALUE_PID] = "-a '(__fish_complete_pids)'",
	};

	if (kind == VALUE_CHOICE) {
		fputs(" -a '", d->out);
		docs_choices(d->out, placeholder, " ");
		fputs("'", d->out);
	} else if (words[kind]) {
		fprintf(d->out, " %s", words[kind]);
	}
}

static void put_option(const struct docs *d, const struct verb_spec *verb,
		       const struct option_spec *o)
{
	fprintf(d->out, "complete -c cachemon -n '__cachemon_verb %s' -l %s", verb->name,
		o->option.name);
	if (option_spec_letter(o))
		fprintf(d->out, " -s %c", option_spec_letter(o));
	if (o->value != VALUE_NONE)
		fputs(o->value == VALUE_FILE || o->value == VALUE_PATH ? " -r" : " -x", d->out);
	put_kind(d, o->value, o->option.arg);
	fputs(" -d '", d->out);
	put_text(d->out, o->option.doc);
	fputs("'\n", d->out);
}

static void put_verb_options(const struct docs *d, const struct verb_spec *verb)
{
	docs_options(d, verb, put_option);
	if (verb->operand == VALUE_COMMAND) {
		fprintf(d->out,
			"complete -c cachemon -n '__cachemon_behind_dashes %s' -a "
			"'(__cachemon_command)'\n",
			verb->name);
	} else if (verb->operands) {
		fprintf(d->out, "complete -c cachemon -n '__cachemon_verb %s'", verb->name);
		put_kind(d, verb->operand, verb->operands);
		fputs("\n", d->out);
	}
}

int fish_options(const struct docs *d)
{
	docs_verbs(d, put_verb_options);
	return 0;
}
