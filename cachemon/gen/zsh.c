/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "cachemon/gen/docs.h"

/* Between single quotes, where ':' ends a part and brackets hold one. */
static void put_text(FILE *out, const char *text)
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

static void put_verb(const struct docs *d, const struct verb_spec *verb)
{
	fprintf(d->out, "\t\t'%s:", verb->name);
	put_text(d->out, verb->help);
	fputs("'\n", d->out);
}

int zsh_verbs(const struct docs *d)
{
	docs_verbs(d, put_verb);
	return 0;
}

static void put_action(const struct docs *d, enum value_kind kind, const char *placeholder)
{
	static const char *const actions[VALUE_NR] = {
		[VALUE_FILE] = "_files",
		[VALUE_PATH] = "_files",
		[VALUE_DIRECTORY] = "_files -/",
		[VALUE_RUN] = "_cachemon_names run",
		[VALUE_JOB] = "_cachemon_names job",
		[VALUE_FINDING] = "_cachemon_names finding",
		[VALUE_PID] = "_pids",
	};

	if (kind == VALUE_CHOICE) {
		fputs("(", d->out);
		docs_choices(d->out, placeholder, " ");
		fputs(")", d->out);
	} else {
		/* Of a number only the message is shown. */
		fputs(actions[kind] ? actions[kind] : " ", d->out);
	}
}

static void put_value(const struct docs *d, const struct option_spec *o)
{
	if (o->value == VALUE_NONE)
		return;
	fputs(":", d->out);
	put_text(d->out, o->value == VALUE_CHOICE ? o->option.name : o->option.arg);
	fputs(":", d->out);
	put_action(d, o->value, o->option.arg);
}

static void put_option(const struct docs *d, const struct verb_spec *verb,
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
	put_text(d->out, o->option.doc);
	fputs("]", d->out);
	put_value(d, o);
	fputs("' \\\n", d->out);
}

/* Each word of the operands is one; a command has all that follow, and is completed by itself
 * ("*:::" leaves out the words before it). */
static void put_operands(const struct docs *d, const struct verb_spec *verb)
{
	const char *at = verb->operands;

	if (verb->operand == VALUE_COMMAND) {
		fputs("\t\t'*::: : _normal'\n", d->out);
		return;
	}
	for (; at && *at; at += strspn(at, " ")) {
		size_t len = strcspn(at, " ");
		bool optional = *at == '[';

		fprintf(d->out, "\t\t'%s:%.*s:", optional ? ":" : "", (int)len - 2 * optional,
			at + optional);
		put_action(d, verb->operand, verb->operands);
		fputs("' \\\n", d->out);
		at += len;
	}
	fputs("\t\t&& return\n", d->out);
}

static void put_function(const struct docs *d, const struct verb_spec *verb)
{
	fprintf(d->out, "_cachemon_%s() {\n\t_arguments -s -S \\\n", verb->name);
	docs_options(d, verb, put_option);
	put_operands(d, verb);
	fputs("}\n\n", d->out);
}

int zsh_functions(const struct docs *d)
{
	docs_verbs(d, put_function);
	return 0;
}
