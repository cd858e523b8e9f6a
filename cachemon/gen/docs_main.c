/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/gen/docs.h"

static const struct {
	const char *line;
	docs_fill *fill;
} placeholders[] = {
	{"@BASH-VERBS@\n", bash_verbs},
	{"@BASH-FLAGS@\n", bash_flags},
	{"@BASH-VALUES@\n", bash_values},
	{"@ZSH-VERBS@\n", zsh_verbs},
	{"@ZSH-FUNCTIONS@\n", zsh_functions},
	{"@FISH-VERBS@\n", fish_verbs},
	{"@FISH-OPTIONS@\n", fish_options},
	{"@HEADER@\n", man_header},
	{"@NAME@\n", man_name},
	{"@SYNOPSIS@\n", man_synopsis},
	{"@EXAMPLES@\n", man_examples},
	{"@DESCRIPTION@\n", man_description},
	{"@OPTIONS@\n", man_options},
	{"@VERBS@\n", man_verbs},
	{"@SEE-ALSO@\n", man_see_also},
	{"@TABLES@\n", sql_tables},
	{"@TERMS@\n", sql_terms},
	{"@WORDS@\n", md_words},
	{"@FINDINGS@\n", man_findings},
	{"@NOTES@\n", man_notes},
};

void docs_verbs(const struct docs *d,
		void (*each)(const struct docs *d, const struct verb_spec *verb))
{
	size_t nr = 0;
	const struct verb_spec *const *verbs = verbs_all(&nr);

	for (size_t i = 0; i < nr; i++)
		if (!verbs[i]->hidden)
			each(d, verbs[i]);
}

void docs_options(const struct docs *d, const struct verb_spec *verb,
		  void (*each)(const struct docs *d, const struct verb_spec *verb,
			       const struct option_spec *o))
{
	for (const struct option_spec *o = verb->options; !option_spec_end(o); o++)
		if (!option_spec_heading(o))
			each(d, verb, o);
	each(d, verb, option_spec_help());
}

void docs_choices(FILE *out, const char *words)
{
	const char *word = NULL;
	size_t len = 0;

	for (size_t i = 0; (len = choice_of(words, i, &word)) > 0; i++)
		fprintf(out, "%s%.*s", i ? " " : "", (int)len, word);
}

static int put_line(const struct docs *d, const char *line)
{
	for (size_t i = 0; i < sizeof(placeholders) / sizeof(placeholders[0]); i++)
		if (strcmp(line, placeholders[i].line) == 0)
			return placeholders[i].fill(d);
	/* An unknown placeholder is an error of the template. */
	if (line[0] == '@')
		return -EINVAL;
	return fputs(line, d->out) < 0 ? -EIO : 0;
}

static int fill_template(const struct docs *d, FILE *template)
{
	char *line = NULL;
	size_t size = 0;
	int ret = 0;

	while (!ret && getline(&line, &size, template) > 0)
		ret = put_line(d, line);
	free(line);
	if (!ret && (ferror(template) || fflush(d->out) || ferror(d->out)))
		ret = -EIO;
	return ret;
}

/* cachemon-docs TEMPLATE PAGE [VERB | SQL-FILE...] */
int main(int argc, char **argv)
{
	FILE *template = argc > 2 ? fopen(argv[1], "re") : NULL;
	struct docs d = {.out = template ? fopen(argv[2], "we") : NULL, .files = argv + 3};
	int ret = 0;

	if (!d.out) {
		fprintf(stderr, "cachemon-docs: no template, or no page\n");
		return 2;
	}
	if (argc > 3)
		d.verb = verb_find(argv[3]);
	ret = fill_template(&d, template);
	fclose(template);
	if (fclose(d.out) && !ret)
		ret = -errno;
	if (ret)
		fprintf(stderr, "cachemon-docs: %s: %s\n", argv[1], strerror(-ret));
	return ret != 0;
}
