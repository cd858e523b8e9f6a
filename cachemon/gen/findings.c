/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/gen/docs.h"

#include "advisor/rules/rule_set.h"

static void put_rule(FILE *out, const struct rule *r)
{
	fputs("*", out);
	scd_text(out, r->id);
	fputs("*\n\t", out);
	scd_text(out, r->title);
	fputs(".\n\n", out);
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

static void put_note(FILE *out, const struct note *n)
{
	fputs("*", out);
	scd_text(out, n->id);
	fputs("*\n\t", out);
	scd_text(out, n->title);
	fputs(".\n\n", out);
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
			put_note(d->out, &set.notes[i]);
	rule_set_free(&set);
	return ret;
}
