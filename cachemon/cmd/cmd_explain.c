/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cachemon/cmd/cmd.h"
#include "cachemon/cmd/usage.h"
#include "cachemon/base/escape.h"
#include "advisor/rules/rule_set.h"
#include "cachemon/access/invoker.h"
#include "cachemon/base/suggest.h"

enum { OPT_RULES = 256, IDS_MAX = 512 };

struct options {
	const char *id; /* NULL: list all */
	const char *rules;
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case OPT_RULES:
		o->rules = usage_name(state, "--rules", arg);
		return 0;
	case ARGP_KEY_ARG:
		if (o->id)
			usage_error(state, "'%s': one at a time", arg);
		o->id = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void print_line(const char *before, const char *text)
{
	if (!text || !*text)
		return;
	fputs(before, stdout);
	escape_lines(stdout, text);
}

static void print_words(const char *before, const struct rule_words *w)
{
	for (size_t i = 0; i < w->nr; i++)
		printf("%s%s", i ? " " : before, w->word[i]);
	if (w->nr)
		putchar('\n');
}

static void print_rule(const struct rule *r)
{
	puts("How it is decided");
	puts("-----------------");
	print_line("rule      ", r->file);
	print_line("version   ", r->version);
	print_line("severity  ", r->severity);
	print_words("counters  ", &r->counters);
	print_words("tables    ", &r->tables);
	print_words("facts     ", &r->facts);
	for (size_t i = 0; i < r->nr_params; i++) {
		const struct rule_param *p = &r->params[i];

		printf("\n%s = %s%s%s\n", p->name, p->text, p->unit[0] ? " " : "", p->unit);
		print_line("    ", p->why);
		print_line("    set by ", p->set_by);
	}
	putchar('\n');
}

static void print_note(const struct note *n, bool is_of_rule)
{
	escape_lines(stdout, n->body);
	putchar('\n');
	print_line("Applies to: ", n->applies_to);
	print_line("When: ", n->precondition);
	/* That of a finding is in the text. */
	if (!is_of_rule)
		print_line("Action: ", n->action);
	print_line("Risk: ", n->risk);
	print_line("Undo: ", n->undo);
	print_line("Verify: ", n->verify);
	print_line("Findings: ", n->findings.text);
	print_line("Figures: ", n->facts);
	print_line("Sources: ", n->source);
}

static void list_all(const struct rule_set *s)
{
	size_t others = 0;

	for (size_t i = 0; i < s->nr_rules; i++) {
		printf("%-30s ", s->rules[i].id);
		escape_lines(stdout, s->rules[i].title);
	}
	/* The program and a site also explain what no rule finds. */
	for (size_t i = 0; i < s->nr_notes; i++) {
		if (rule_set_rule(s, s->notes[i].id))
			continue;
		if (!others++)
			puts("\nNotes on other subjects:\n");
		printf("%-38s ", s->notes[i].id);
		escape_lines(stdout, s->notes[i].title);
	}
}

static int refuse_id(const struct rule_set *s, const char *id)
{
	const char *ids[IDS_MAX];
	const char *near;
	char shown[256];
	size_t nr = 0;

	for (; nr < s->nr_rules && nr < IDS_MAX; nr++)
		ids[nr] = s->rules[nr].id;
	for (size_t i = 0; i < s->nr_notes && nr < IDS_MAX; i++)
		if (!rule_set_rule(s, s->notes[i].id))
			ids[nr++] = s->notes[i].id;
	near = suggest_nearest(id, ids, nr);
	escape_inert_to(shown, sizeof(shown), id);
	if (near)
		fprintf(stderr, "cachemon: no finding or note '%s'; did you mean '%s'?\n", shown,
			near);
	else
		fprintf(stderr,
			"cachemon: no finding or note '%s'; 'cachemon explain' lists all of them\n",
			shown);
	return EXIT_USAGE;
}

static int explain_id(const struct rule_set *s, const char *id)
{
	const struct rule *rule = rule_set_rule(s, id);
	const struct note *note = rule_set_note(s, id);
	const char *title = note ? note->title : "";

	if (!rule && !note)
		return refuse_id(s, id);
	title = rule ? rule->title : title;
	printf("%s: ", id);
	escape_lines(stdout, title);
	putchar('\n');
	if (note)
		print_note(note, rule);
	else
		puts("There is no note on it.");
	putchar('\n');
	if (rule)
		print_rule(rule);
	return EXIT_DONE;
}

static int load_rules(const struct options *o, struct rule_set *ret_set, struct errtext *err)
{
	struct rule_dirs dirs = {0};
	struct invoker inv;
	int ret = invoker_current(&inv, err);

	if (ret)
		return ret;
	ret = cmd_rules(&inv, o->rules, &dirs, err);
	if (!ret && rule_set_load(&dirs, ret_set))
		ret = errtext_set(err, -ENOMEM, "not enough memory to read the rules");
	rule_dirs_free(&dirs);
	invoker_free(&inv);
	return ret;
}

static const struct option_spec options[] = {
	{{"rules", OPT_RULES, "DIR", 0,
	  "Rules, notes and thresholds of a site, on top of the program's", 0},
	 VALUE_DIRECTORY},
	OPTIONS_END,
};

static const struct example examples[] = {
	{"cachemon explain", "All findings and notes that there are"},
	{"cachemon explain prefetch-waste", "The whole text of one"},
	{0},
};

const struct verb_spec explain_spec = {
	.name = "explain",
	.help = "say what a finding means, how it is decided, what to do and how to undo it",
	.operands = "[ID]",
	.operand = VALUE_FINDING,
	.examples = examples,
	.options = options,
	.notes = "ID is a finding's or that of a note on another subject. Without one it lists all "
		 "of them, "
		 "findings first.",
	.run = cmd_explain,
};

int cmd_explain(int argc, char **argv)
{
	struct options o = {0};
	struct rule_set set = {0};
	struct errtext err = {0};
	size_t problems = 0;
	int status = EXIT_DONE;

	usage_parse(&explain_spec, parse_option, argc, argv, 0, &o);
	if (load_rules(&o, &set, &err)) {
		fprintf(stderr, "cachemon: %s\n", err.text);
		return EXIT_FAILED;
	}
	for (size_t i = 0; i < set.nr_problems; i++)
		cmd_print_rule_problem(&problems, set.problems[i]);
	if (o.id)
		status = explain_id(&set, o.id);
	else
		list_all(&set);
	rule_set_free(&set);
	return status == EXIT_DONE && problems ? EXIT_FAILED : status;
}
