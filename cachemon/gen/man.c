/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include "advisor/rules/rule_set.h"
#include "cachemon/gen/docs.h"

/* A backslash before these makes scdoc take them literally; some act only at the start of a line. A
 * full stop there needs no backslash, because scdoc itself hides it from roff. */
static const char acts[] = "\\_*+#";
static const char acts_first[] = "-;|[]`<>";

void scd_bytes(FILE *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		bool first = i == 0 || text[i - 1] == '\n';

		if (strchr(acts, text[i]) || (first && strchr(acts_first, text[i])))
			putc('\\', out);
		putc(text[i], out);
	}
}

void scd_text(FILE *out, const char *text)
{
	scd_bytes(out, text, strlen(text));
}

static void put_name(const struct docs *d)
{
	fputs("cachemon", d->out);
	if (d->verb)
		fprintf(d->out, "-%s", d->verb->name);
}

int man_header(const struct docs *d)
{
	put_name(d);
	fprintf(d->out, "(1) \"cachemon %s\" \"cachemon manual\"\n", CACHEMON_VERSION);
	return 0;
}

int man_name(const struct docs *d)
{
	put_name(d);
	fputs(" - ", d->out);
	scd_text(d->out, d->verb ? d->verb->help : "show what the page cache does for a job");
	fputs("\n", d->out);
	return 0;
}

/* Sets placeholders apart from literal text. */
static void put_operands(FILE *out, const char *operands)
{
	static const char marks[] = "[]|. ";

	while (*operands) {
		size_t len = strcspn(operands, marks);
		bool literal = *operands == '-' || (*operands >= 'a' && *operands <= 'z');

		if (len) {
			putc(literal ? '*' : '_', out);
			scd_bytes(out, operands, len);
			putc(literal ? '*' : '_', out);
			operands += len;
		}
		while (*operands && strchr(marks, *operands))
			putc(*operands++, out);
	}
}

int man_synopsis(const struct docs *d)
{
	fprintf(d->out, "*cachemon %s* [_OPTION_...]", d->verb->name);
	if (d->verb->operands) {
		fputs(" ", d->out);
		put_operands(d->out, d->verb->operands);
	}
	fputs("\n", d->out);
	return 0;
}

int man_examples(const struct docs *d)
{
	const struct example *examples = d->verb ? d->verb->examples : program_examples();

	for (const struct example *e = examples; e->command; e++) {
		fputs("*", d->out);
		scd_text(d->out, e->command);
		fputs("*\n\t", d->out);
		scd_text(d->out, e->why);
		fputs(".\n\n", d->out);
	}
	return 0;
}

int man_description(const struct docs *d)
{
	fputs("*cachemon ", d->out);
	fprintf(d->out, "%s*: ", d->verb->name);
	scd_text(d->out, d->verb->help);
	fputs(".\n", d->out);
	if (d->verb->notes) {
		fputs("\n", d->out);
		scd_text(d->out, d->verb->notes);
		fputs("\n", d->out);
	}
	return 0;
}

static void put_option(const struct docs *d, const struct option_spec *o)
{
	fputs("*", d->out);
	if (option_spec_letter(o))
		fprintf(d->out, "-%c*, *", option_spec_letter(o));
	fprintf(d->out, "--%s*", o->option.name);
	if (o->option.arg) {
		fputs(" ", d->out);
		put_operands(d->out, o->option.arg);
	}
	fputs("\n\t", d->out);
	scd_text(d->out, o->option.doc);
	fputs(".\n\n", d->out);
}

int man_options(const struct docs *d)
{
	for (const struct option_spec *o = d->verb->options; !option_spec_end(o); o++) {
		if (!option_spec_heading(o)) {
			put_option(d, o);
			continue;
		}
		/* "How:" is a heading without the colon. */
		fprintf(d->out, "## ");
		scd_bytes(d->out, o->option.doc, strcspn(o->option.doc, ":"));
		fputs("\n\n", d->out);
	}
	put_option(d, option_spec_help());
	return 0;
}

static void put_verb(const struct docs *d, const struct verb_spec *verb)
{
	fprintf(d->out, "*cachemon-%s*(1)\n\t", verb->name);
	scd_text(d->out, verb->help);
	fputs(".\n\n", d->out);
}

int man_verbs(const struct docs *d)
{
	docs_verbs(d, put_verb);
	return 0;
}

static void put_see(const struct docs *d, const struct verb_spec *verb)
{
	if (verb != d->verb)
		fprintf(d->out, "*cachemon-%s*(1), ", verb->name);
}

int man_see_also(const struct docs *d)
{
	if (d->verb)
		fputs("*cachemon*(1), ", d->out);
	docs_verbs(d, put_see);
	fputs("*cachemon-db*(5), *cachemon-terms*(7), *cachemon-findings*(7)\n", d->out);
	return 0;
}

static void put_entry(FILE *out, const char *id, const char *title)
{
	fputs("*", out);
	scd_text(out, id);
	fputs("*\n\t", out);
	scd_text(out, title);
	fputs(".\n\n", out);
}

static void put_rule(FILE *out, const struct rule *r)
{
	put_entry(out, r->id, r->title);
	for (size_t i = 0; i < r->nr_params; i++) {
		const struct rule_param *p = &r->params[i];

		fputs("\t_", out);
		scd_text(out, p->name);
		fputs("_ = ", out);
		scd_text(out, p->text);
		fprintf(out, "%s%s: ", p->unit[0] ? " " : "", p->unit);
		scd_text(out, p->why);
		fputs(".\n\n", out);
	}
}

int man_findings(const struct docs *d)
{
	struct rule_set set = {0};
	int ret = rule_set_load(NULL, &set);

	for (size_t i = 0; !ret && i < set.nr_rules; i++)
		put_rule(d->out, &set.rules[i]);
	rule_set_free(&set);
	return ret;
}

int man_notes(const struct docs *d)
{
	struct rule_set set = {0};
	int ret = rule_set_load(NULL, &set);

	for (size_t i = 0; !ret && i < set.nr_notes; i++)
		if (!rule_set_rule(&set, set.notes[i].id))
			put_entry(d->out, set.notes[i].id, set.notes[i].title);
	rule_set_free(&set);
	return ret;
}
