/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/gen/docs.h"

#include <string.h>

static void put_bash_flag(const struct docs *d, const struct verb_spec *verb,
			  const struct option_spec *o)
{
	if (option_spec_letter(o))
		fprintf(d->out, " -%c", option_spec_letter(o));
	fprintf(d->out, " --%s", o->option.name);
}

static void put_bash_flags(const struct docs *d, const struct verb_spec *verb)
{
	fprintf(d->out, "\t%s) flags=(", verb->name);
	docs_options(d, verb, put_bash_flag);
	fputs(" ) ;;\n", d->out);
}

int bash_flags(const struct docs *d)
{
	docs_verbs(d, put_bash_flags);
	return 0;
}

static void put_bash_verb(const struct docs *d, const struct verb_spec *verb)
{
	fprintf(d->out, "\t%s\n", verb->name);
}

int bash_verbs(const struct docs *d)
{
	docs_verbs(d, put_bash_verb);
	return 0;
}

static const char *bash_kind(enum value_kind kind)
{
	static const char *const words[VALUE_NR] = {
		[VALUE_FILE] = "file",	     [VALUE_PATH] = "file",
		[VALUE_DIRECTORY] = "dir",   [VALUE_CHOICE] = "choice",
		[VALUE_RUN] = "run",	     [VALUE_RUNS] = "runs",
		[VALUE_JOB] = "job",	     [VALUE_FINDING] = "finding",
		[VALUE_PID] = "pid",	     [VALUE_DURATION] = "duration",
		[VALUE_PERCENT] = "number",  [VALUE_NUMBER] = "number",
		[VALUE_COMMAND] = "command", [VALUE_TEXT] = "text",
		[VALUE_NONE] = "none",
	};

	return words[kind];
}

static void put_bash_kind(const struct docs *d, enum value_kind kind, const char *placeholder)
{
	fprintf(d->out, ") kind='%s'", bash_kind(kind));
	if (kind == VALUE_CHOICE) {
		fputs(" choices=(", d->out);
		docs_choices(d->out, placeholder);
		fputs(")", d->out);
	}
	fputs(" ;;\n", d->out);
}

static void put_bash_value(const struct docs *d, const struct verb_spec *verb,
			   const struct option_spec *o)
{
	if (o->value == VALUE_NONE)
		return;
	fprintf(d->out, "\t'%s --%s'", verb->name, o->option.name);
	if (option_spec_letter(o))
		fprintf(d->out, " | '%s -%c'", verb->name, option_spec_letter(o));
	put_bash_kind(d, o->value, o->option.arg);
}

static void put_bash_values(const struct docs *d, const struct verb_spec *verb)
{
	docs_options(d, verb, put_bash_value);
	if (!verb->operands)
		return;
	fprintf(d->out, "\t'%s '", verb->name);
	put_bash_kind(d, verb->operand, verb->operands);
}

int bash_values(const struct docs *d)
{
	docs_verbs(d, put_bash_values);
	return 0;
}

/* Inside single quotes, where ':' ends a part and brackets enclose one. */
static void put_zsh_text(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", out);
		else if (strchr(":\\[]", *text))
			fprintf(out, "\\%c", *text);
		else
			putc(*text, out);
	}
}

static void put_zsh_verb(const struct docs *d, const struct verb_spec *verb)
{
	fprintf(d->out, "\t\t'%s:", verb->name);
	put_zsh_text(d->out, verb->help);
	fputs("'\n", d->out);
}

int zsh_verbs(const struct docs *d)
{
	docs_verbs(d, put_zsh_verb);
	return 0;
}

static void put_zsh_action(const struct docs *d, enum value_kind kind, const char *placeholder)
{
	static const char *const actions[VALUE_NR] = {
		[VALUE_FILE] = "_files",
		[VALUE_PATH] = "_files",
		[VALUE_DIRECTORY] = "_files -/",
		[VALUE_RUN] = "_cachemon_names run",
		[VALUE_RUNS] = "_cachemon_names runs",
		[VALUE_JOB] = "_cachemon_names job",
		[VALUE_FINDING] = "_cachemon_names finding",
		[VALUE_PID] = "_pids",
	};

	if (kind == VALUE_CHOICE) {
		fputs("(", d->out);
		docs_choices(d->out, placeholder);
		fputs(")", d->out);
	} else {
		/* For a number only the message is shown. */
		fputs(actions[kind] ? actions[kind] : " ", d->out);
	}
}

static void put_zsh_value(const struct docs *d, const struct option_spec *o)
{
	if (o->value == VALUE_NONE)
		return;
	fputs(":", d->out);
	put_zsh_text(d->out, o->value == VALUE_CHOICE ? o->option.name : o->option.arg);
	fputs(":", d->out);
	put_zsh_action(d, o->value, o->option.arg);
}

static void put_zsh_option(const struct docs *d, const struct verb_spec *verb,
			   const struct option_spec *o)
{
	const char *name = o->option.name;
	char letter = option_spec_letter(o);
	bool has_value = o->value != VALUE_NONE;

	if (letter)
		fprintf(d->out, "\t\t'(-%c --%s)'{-%c%s,--%s%s}'[", letter, name, letter,
			has_value ? "+" : "", name, has_value ? "=" : "");
	else
		fprintf(d->out, "\t\t'--%s%s[", name, has_value ? "=" : "");
	put_zsh_text(d->out, o->option.doc);
	fputs("]", d->out);
	put_zsh_value(d, o);
	fputs("' \\\n", d->out);
}

/* Each word of the operands is one operand, or any number if it ends in dots; a command takes
 * all that follow and completes separately ("*:::" drops the words before it). */
static void put_zsh_operands(const struct docs *d, const struct verb_spec *verb)
{
	const char *at = verb->operands;

	if (verb->operand == VALUE_COMMAND) {
		fputs("\t\t'*::: : _normal'\n", d->out);
		return;
	}
	for (; at && *at; at += strspn(at, " ")) {
		size_t len = strcspn(at, " ");
		bool optional = *at == '[';

		bool many = len > 3 && !memcmp(at + len - 3, "...", 3);

		fprintf(d->out, "\t\t'%s:%.*s:",
			many	   ? "*"
			: optional ? ":"
				   : "",
			(int)len - 2 * optional, at + optional);
		put_zsh_action(d, verb->operand, verb->operands);
		fputs("' \\\n", d->out);
		at += many ? strlen(at) : len;
	}
	fputs("\t\t&& return\n", d->out);
}

static void put_zsh_function(const struct docs *d, const struct verb_spec *verb)
{
	fprintf(d->out, "_cachemon_%s() {\n\t_arguments -s -S \\\n", verb->name);
	docs_options(d, verb, put_zsh_option);
	put_zsh_operands(d, verb);
	fputs("}\n\n", d->out);
}

int zsh_functions(const struct docs *d)
{
	docs_verbs(d, put_zsh_function);
	return 0;
}

/* Between single quotes. */
static void put_fish_text(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			putc('\\', out);
		putc(*text, out);
	}
}

static void put_fish_verb(const struct docs *d, const struct verb_spec *verb)
{
	static const char *const when[] = {"__cachemon_needs_verb", "'__cachemon_verb help'"};

	for (int i = 0; i < 2; i++) {
		fprintf(d->out, "complete -c cachemon -n %s -a %s -d '", when[i], verb->name);
		put_fish_text(d->out, verb->help);
		fputs("'\n", d->out);
	}
}

int fish_verbs(const struct docs *d)
{
	docs_verbs(d, put_fish_verb);
	return 0;
}

static void put_fish_kind(const struct docs *d, enum value_kind kind, const char *placeholder)
{
	static const char *const words[VALUE_NR] = {
		[VALUE_FILE] = "-F",
		[VALUE_PATH] = "-F",
		[VALUE_DIRECTORY] = "-a '(__fish_complete_directories)'",
		[VALUE_RUN] = "-a '(__cachemon_names run)'",
		[VALUE_RUNS] = "-a '(__cachemon_names runs)'",
		[VALUE_JOB] = "-a '(__cachemon_names job)'",
		[VALUE_FINDING] = "-a '(__cachemon_names finding)'",
		[VALUE_PID] = "-a '(__fish_complete_pids)'",
	};

	if (kind == VALUE_CHOICE) {
		fputs(" -a '", d->out);
		docs_choices(d->out, placeholder);
		fputs("'", d->out);
	} else if (words[kind]) {
		fprintf(d->out, " %s", words[kind]);
	}
}

static void put_fish_option(const struct docs *d, const struct verb_spec *verb,
			    const struct option_spec *o)
{
	fprintf(d->out, "complete -c cachemon -n '__cachemon_verb %s' -l %s", verb->name,
		o->option.name);
	if (option_spec_letter(o))
		fprintf(d->out, " -s %c", option_spec_letter(o));
	if (o->value != VALUE_NONE)
		fputs(o->value == VALUE_FILE || o->value == VALUE_PATH ? " -r" : " -x", d->out);
	put_fish_kind(d, o->value, o->option.arg);
	fputs(" -d '", d->out);
	put_fish_text(d->out, o->option.doc);
	fputs("'\n", d->out);
}

static void put_fish_options(const struct docs *d, const struct verb_spec *verb)
{
	docs_options(d, verb, put_fish_option);
	if (verb->operand == VALUE_COMMAND) {
		fprintf(d->out,
			"complete -c cachemon -n '__cachemon_behind_dashes %s' -a "
			"'(__cachemon_command)'\n",
			verb->name);
	} else if (verb->operands) {
		fprintf(d->out, "complete -c cachemon -n '__cachemon_verb %s'", verb->name);
		put_fish_kind(d, verb->operand, verb->operands);
		fputs("\n", d->out);
	}
}

int fish_options(const struct docs *d)
{
	docs_verbs(d, put_fish_options);
	return 0;
}
