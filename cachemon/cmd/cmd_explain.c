/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/rules/rule_set.h"
#include "advisor/rules/text.h"
#include "cachemon/access/invoker.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/base/escape.h"
#include "cachemon/base/pager.h"
#include "cachemon/base/parse.h"
#include "cachemon/base/suggest.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/cmd/cmd.h"
#include "cachemon/cmd/usage.h"
#include "cachemon/render/doc.h"
#include "cachemon/report/run/snippets.h"

enum { OPT_RULES = 256, OPT_FORMAT, IDS_MAX = 512 };

struct options {
	const char *id; /* NULL: list all */
	const char *rules;
	bool markdown;
};

static bool takes_markdown(const char *format, struct argp_state *state)
{
	static const char *const formats[] = {"text", "md"};
	size_t i = 0;

	if (parse_enum(format, formats, 2, &i))
		usage_error(state, "--format is '%s' (choose text or md)", format);
	return i;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case OPT_RULES:
		o->rules = usage_name(state, "--rules", arg);
		return 0;
	case OPT_FORMAT:
		o->markdown = takes_markdown(arg, state);
		return 0;
	case ARGP_KEY_ARG:
		if (o->id)
			usage_error(state, "unexpected '%s': give only one ID", arg);
		o->id = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void put_line(struct doc *d, const char *name, const char *text)
{
	if (text && *text)
		doc_words(d, "%s: %s", name, text);
}

static void put_list(struct doc *d, const char *name, const struct rule_words *w)
{
	struct text_builder b;
	FILE *out = text_begin(&b);
	_cleanup_free_ char *text = NULL;

	for (size_t i = 0; out && i < w->nr; i++)
		fprintf(out, "%s%s", i ? ", " : "", w->word[i]);
	text = text_end(&b);
	d->failed |= !text;
	put_line(d, name, text);
}

static void put_rule(struct doc *d, const struct rule *r)
{
	doc_heading(d, 2, "Rule");
	put_line(d, "File", r->file);
	put_line(d, "Version", r->version);
	put_line(d, "Severity", r->severity);
	put_list(d, "Counters", &r->counters);
	put_list(d, "Tables", &r->tables);
	put_list(d, "Facts", &r->facts);
	for (size_t i = 0; i < r->nr_params; i++) {
		const struct rule_param *p = &r->params[i];

		doc_words(d, "%s = %s%s%s%s%s%s%s%s", p->name, p->text, p->unit[0] ? " " : "",
			  p->unit, p->why[0] ? ": " : "", p->why, p->set_by ? " (set by " : "",
			  p->set_by ? p->set_by : "", p->set_by ? ")" : "");
	}
}

/* The collected lines of a paragraph. */
struct paragraph {
	struct text_builder builder;
	FILE *out; /* NULL: no paragraph has begun */
};

static void paragraph_add(struct paragraph *p, struct doc *d, struct span line)
{
	bool first = !p->out;

	if (first)
		p->out = text_begin(&p->builder);
	if (p->out)
		fprintf(p->out, "%s%.*s", first ? "" : " ", (int)line.len, line.at);
	else
		d->failed = true;
}

static void paragraph_end(struct paragraph *p, struct doc *d)
{
	_cleanup_free_ char *text = p->out ? text_end(&p->builder) : NULL;

	d->failed |= p->out && !text;
	if (text)
		doc_words(d, "%s", text);
	p->out = NULL;
}

static void put_code(FILE *out, struct span line)
{
	_cleanup_free_ char *text = strndup(line.at, line.len);

	snippet_words(out, text ? text : "");
	putc('\n', out);
}

/* The Markdown of a note: headings, paragraphs, list items and code blocks. */
static void put_body(struct doc *d, const char *body)
{
	struct lines lines = {.next = body};
	struct paragraph p = {0};
	struct text_builder code;
	struct span line;
	FILE *fence = NULL;
	bool shell = false;

	while (lines_next(&lines, &line)) {
		bool is_fence = span_begins(line, "```");

		if (fence && is_fence) {
			_cleanup_free_ char *text = text_end(&code);

			fence = NULL;
			doc_code(d, shell ? "shell" : NULL, text ? text : "");
		} else if (fence) {
			put_code(fence, line);
		} else if (is_fence || span_begins(line, "#") || span_begins(line, "- ") ||
			   !span_trim(line).len) {
			paragraph_end(&p, d);
			shell = span_begins(line, "```shell");
			if (is_fence)
				fence = text_begin(&code);
			else if (span_begins(line, "## "))
				doc_heading(d, 2, "%.*s", (int)line.len - 3, line.at + 3);
			else if (line.len)
				paragraph_add(&p, d, line);
		} else {
			paragraph_add(&p, d, line);
		}
	}
	paragraph_end(&p, d);
	if (fence)
		free(text_end(&code));
}

static void put_note(struct doc *d, const struct note *n, bool is_of_rule, bool markdown)
{
	if (markdown) {
		escape_lines(d->out, n->body);
		putc('\n', d->out);
	} else {
		put_body(d, n->body);
	}
	put_line(d, "Applies to", n->applies_to);
	put_line(d, "When", n->precondition);
	/* The text of a finding's note already has the action. */
	if (!is_of_rule)
		put_line(d, "Action", n->action);
	put_line(d, "Risk", n->risk);
	put_line(d, "Undo", n->undo);
	put_line(d, "Verify", n->verify);
	put_line(d, "Findings", n->findings.text);
	put_line(d, "Figures", n->facts);
	put_line(d, "Sources", n->source);
}

static void put_subject(struct doc_table *t, const char *id, const char *title)
{
	const struct bytes text = {title, strlen(title)};

	doc_cell(t, "%s", id);
	doc_cell_name(t, &text, "-");
}

static int put_all(void *arg, FILE *out, FILE *looks_like, struct errtext *err)
{
	static const struct doc_column columns[] = {{"ID", DOC_LEFT}, {"TITLE", DOC_WRAP}};
	struct doc_table rules = DOC_TABLE(NULL, columns), notes = DOC_TABLE(NULL, columns);
	const struct rule_set *s = arg;
	struct doc d = doc_text(out);

	d.looks_like = looks_like;
	doc_begin(&d, "Findings");
	for (size_t i = 0; i < s->nr_rules; i++)
		put_subject(&rules, s->rules[i].id, s->rules[i].title);
	doc_put_table(&d, &rules);
	doc_heading(&d, 2, "Notes on other subjects");
	/* Built-in and site notes also explain subjects without a rule. */
	for (size_t i = 0; i < s->nr_notes; i++)
		if (!rule_set_rule(s, s->notes[i].id))
			put_subject(&notes, s->notes[i].id, s->notes[i].title);
	doc_put_table(&d, &notes);
	return doc_end(&d) == -ENOMEM ? errtext_set(err, -ENOMEM, "out of memory") : 0;
}

static int show_paged(int (*put)(void *arg, FILE *out, FILE *looks_like, struct errtext *err),
		      void *arg)
{
	struct errtext err;

	if (!pager_put(put, arg, &err))
		return EXIT_DONE;
	fprintf(stderr, "cachemon: %s\n", err.text);
	return EXIT_FAILED;
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

/* A finding (rule, and its note if there is one) or a note of its own. */
struct explained {
	const char *id;
	const struct rule *rule;
	const struct note *note;
	bool markdown;
};

static int put_explained(void *arg, FILE *out, FILE *looks_like, struct errtext *err)
{
	const struct explained *e = arg;
	struct doc d = e->markdown ? doc_markdown(out) : doc_text(out);

	d.looks_like = looks_like;
	doc_begin(&d, "%s: %s", e->id, e->rule ? e->rule->title : e->note->title);
	if (e->note)
		put_note(&d, e->note, e->rule, e->markdown);
	else
		doc_para(&d, "This rule has no note.");
	if (e->rule)
		put_rule(&d, e->rule);
	return doc_end(&d) == -ENOMEM ? errtext_set(err, -ENOMEM, "out of memory") : 0;
}

static int explain_id(const struct rule_set *s, const struct options *o)
{
	struct explained e = {o->id, rule_set_rule(s, o->id), rule_set_note(s, o->id), o->markdown};

	if (!e.rule && !e.note)
		return refuse_id(s, o->id);
	return show_paged(put_explained, &e);
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
	OPTION("rules", OPT_RULES, "DIR", VALUE_DIRECTORY,
	       "Add the rules, notes and thresholds of a site"),
	OPTION("format", OPT_FORMAT, "text|md", VALUE_CHOICE,
	       "md: the note's own Markdown (default: text)"),
	OPTIONS_END,
};

static const struct example examples[] = {
	{"cachemon explain", "List all findings and notes"},
	{"cachemon explain prefetch-waste", "Explain one finding"},
	{0},
};

const struct verb_spec explain_spec = {
	.name = "explain",
	.help = "explain a finding: what it means, how it is decided, what to do, how to undo it",
	.operands = "[ID]",
	.operand = VALUE_FINDING,
	.examples = examples,
	.options = options,
	.notes = "ID names a finding, or a note on another subject. Without ID, all of them are "
		 "listed, findings first. In a command, replace the words in capitals, such as "
		 "UNIT.service and FILE. 'cachemon report' prints the command with the names of a "
		 "run. Text longer than the screen is shown in $PAGER.",
	.run = cmd_explain,
};

int cmd_explain(int argc, char **argv)
{
	struct options o = {0};
	struct rule_set set = {0};
	struct errtext err = {0};
	size_t problems = 0;
	int status;

	usage_parse(&explain_spec, parse_option, argc, argv, 0, &o);
	if (load_rules(&o, &set, &err)) {
		fprintf(stderr, "cachemon: %s\n", err.text);
		return EXIT_FAILED;
	}
	for (size_t i = 0; i < set.nr_problems; i++)
		cmd_print_rule_problem(&problems, set.problems[i]);
	status = o.id ? explain_id(&set, &o) : show_paged(put_all, &set);
	rule_set_free(&set);
	return status == EXIT_DONE && problems ? EXIT_FAILED : status;
}
