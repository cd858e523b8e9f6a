/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/cmd/help.h"

#include <string.h>

enum { WIDTH = 79, AT_VERB = 12, AT_OPTION = 22, AT_WHY = 6 };

/* One paragraph, its lines from a column on; the cursor is at the column `at`. */
static void put_paragraph(FILE *out, const char *text, size_t len, int from, int at)
{
	const char *end = text + len;

	while (text < end) {
		size_t word = strcspn(text, " \n");

		if (text + word > end)
			word = (size_t)(end - text);
		if (at > from && at + 1 + (int)word > WIDTH) {
			putc('\n', out);
			at = 0;
		}
		if (at < from)
			at += fprintf(out, "%*s", from - at, "");
		else if (at > from)
			at += fprintf(out, " ");
		at += fprintf(out, "%.*s", (int)word, text);
		text += word;
		text += strspn(text, " \n");
	}
	putc('\n', out);
}

static void put_examples(FILE *out, const struct example *examples)
{
	fputs("EXAMPLES\n", out);
	for (const struct example *e = examples; e->command; e++) {
		fprintf(out, "  %s\n", e->command);
		put_paragraph(out, e->why, strlen(e->why), AT_WHY, 0);
	}
}

/* What stands for a value; one of many words goes on below. Returns the column behind it. */
static int put_value(FILE *out, const char *value, int at)
{
	at += fprintf(out, " ");
	while (*value) {
		int len = (int)strcspn(value, "|");

		len += value[len] == '|';
		if (at + len > WIDTH)
			at = fprintf(out, "\n%*s", AT_WHY, "") - 1;
		at += fprintf(out, "%.*s", len, value);
		value += len;
	}
	return at;
}

static void put_option(FILE *out, const struct option_spec *o)
{
	const struct argp_option *option = &o->option;
	char letter = option_spec_letter(o);
	int at = fprintf(out, "  ");

	if (letter)
		at += fprintf(out, "-%c, ", letter);
	at += fprintf(out, "--%s", option->name);
	if (option->arg)
		at = put_value(out, option->arg, at);
	if (at + 2 > AT_OPTION) {
		putc('\n', out);
		at = 0;
	}
	put_paragraph(out, option->doc, strlen(option->doc), AT_OPTION, at);
}

static void put_options(FILE *out, const struct verb_spec *spec)
{
	fputs("\nOPTIONS\n", out);
	for (const struct option_spec *o = spec->options; !option_spec_end(o); o++) {
		if (option_spec_heading(o))
			fprintf(out, "%s %s\n", o == spec->options ? "" : "\n", o->option.doc);
		else
			put_option(out, o);
	}
	if (option_spec_heading(spec->options))
		putc('\n', out);
	put_option(out, option_spec_help());
}

static void put_notes(FILE *out, const char *notes)
{
	while (notes) {
		const char *next = strstr(notes, "\n\n");

		putc('\n', out);
		put_paragraph(out, notes, next ? (size_t)(next - notes) : strlen(notes), 0, 0);
		notes = next ? next + 2 : NULL;
	}
}

void help_verb(FILE *out, const struct verb_spec *spec)
{
	int at = fprintf(out, "cachemon %s:", spec->name);

	/* The first line may go on below itself, but not from the margin's other side. */
	put_paragraph(out, spec->help, strlen(spec->help), 2, at);
	putc('\n', out);
	put_examples(out, spec->examples);
	fprintf(out, "\nUSAGE\n  cachemon %s [OPTION...]%s%s\n", spec->name,
		spec->operands ? " " : "", spec->operands ? spec->operands : "");
	put_options(out, spec);
	put_notes(out, spec->notes);
	fprintf(out, "\nMore: man cachemon-%s\n", spec->name);
}

void help_program(FILE *out)
{
	size_t nr = 0;
	const struct verb_spec *const *verbs = verbs_all(&nr);

	fputs("cachemon: what the page cache does for a job: hits, misses, readahead, evictions\n"
	      "\n",
	      out);
	put_examples(out, program_examples());
	fputs("\nUSAGE\n"
	      "  cachemon VERB [OPTION...]\n"
	      "  cachemon help VERB      examples and options of a verb\n"
	      "  cachemon --version      version\n"
	      "\n"
	      "VERBS\n",
	      out);
	for (size_t i = 0; i < nr; i++) {
		int at = 0;

		if (verbs[i]->hidden)
			continue;
		at = fprintf(out, "  %s", verbs[i]->name);
		put_paragraph(out, verbs[i]->help, strlen(verbs[i]->help), AT_VERB, at);
	}
	fputs("\nMore: man cachemon\n", out);
}
