/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include "advisor/rules/rule.h"
#include "advisor/rules/text.h"
#include "cachemon/base/suggest.h"

/* Each name of a parameter is compared with all others; each need is a query. */
enum { PARAMS_MAX = 64, WORDS_MAX = 64 };

enum key {
	KEY_ID,
	KEY_TITLE,
	KEY_SEVERITY,
	KEY_VERSION,
	KEY_ORDER,
	KEY_COUNTERS,
	KEY_TABLES,
	KEY_FACTS,
	KEY_SPDX,
	KEY_NR
};

static const char *const key_names[KEY_NR] = {
	"id",		"title",       "severity",
	"version",	"order",       "needs counters",
	"needs tables", "needs facts", "SPDX-License-Identifier",
};

struct parser {
	struct arena *arena;
	struct rule *rule;
	struct errtext *err;
	struct span value[KEY_NR]; /* len 0: not given */
	int line[KEY_NR];
	size_t room;  /* of params */
	int last_key; /* that a continued line belongs to; -1: none */
};

static int unknown_key(struct parser *p, int line, struct span key)
{
	const char *name = span_copy(p->arena, key);
	const char *near = name ? suggest_nearest(name, key_names, KEY_NR) : NULL;

	return errtext_set(p->err, -EINVAL, "%s:%d: unknown key '%s'; %s%s%s", p->rule->file, line,
			   name ? name : "", near ? "did you mean '" : "see docs/advisor.md",
			   near ? near : "", near ? "'?" : "");
}

static int add_param(struct parser *p, struct span text, int line)
{
	const char *copy = span_copy(p->arena, text);
	struct rule_param *params;
	int ret;

	if (!copy)
		return -ENOMEM;
	if (p->rule->nr_params == PARAMS_MAX)
		return errtext_set(p->err, -EINVAL,
				   "%s:%d: more than %d parameters; leave some out", p->rule->file,
				   line, PARAMS_MAX);
	if (p->rule->nr_params == p->room) {
		p->room = p->room ? 2 * p->room : 8;
		params = arena_alloc(p->arena, p->room * sizeof(*params));
		if (!params)
			return -ENOMEM;
		if (p->rule->nr_params)
			memcpy(params, p->rule->params, p->rule->nr_params * sizeof(*params));
		p->rule->params = params;
	}
	ret = rule_param_parse(p->arena, p->rule->file, line, copy,
			       &p->rule->params[p->rule->nr_params], p->err);
	if (ret)
		return ret;
	if (strpbrk(p->rule->params[p->rule->nr_params].name, "-."))
		return errtext_set(p->err, -EINVAL,
				   "%s:%d: the name of a parameter may have a-z, 0-9 and _ only",
				   p->rule->file, line);
	if (rule_param_find(p->rule, p->rule->params[p->rule->nr_params].name))
		return errtext_set(p->err, -EINVAL, "%s:%d: a second param %s; leave one of them",
				   p->rule->file, line, p->rule->params[p->rule->nr_params].name);
	p->rule->nr_params++;
	return 0;
}

static int take_line(struct parser *p, struct span text, int line)
{
	struct span key, value;

	if (!text.len || text.at[0] == '\t' || (text.len > 1 && span_begins(text, "  "))) {
		/* The text of the key above goes on. */
		if (p->last_key >= 0 && span_trim(text).len)
			p->value[p->last_key].len =
				(size_t)(text.at + text.len - p->value[p->last_key].at);
		return 0;
	}
	text = span_trim(text);
	p->last_key = -1;
	if (span_begins(text, "param "))
		return add_param(p, (struct span){text.at + 6, text.len - 6}, line);
	if (!span_cut(text, ':', &key, &value))
		return unknown_key(p, line, text);
	for (int k = 0; k < KEY_NR; k++) {
		if (!span_is(key, key_names[k]))
			continue;
		if (p->value[k].at)
			return errtext_set(p->err, -EINVAL,
					   "%s:%d: a second '%s'; leave one of them", p->rule->file,
					   line, key_names[k]);
		p->value[k] = value;
		p->line[k] = line;
		p->last_key = k;
		return 0;
	}
	return unknown_key(p, line, key);
}

/* A value that may go on over several comment lines, on one. */
static const char *one_line(struct arena *a, struct span s)
{
	struct bytes copy = arena_bytes(a, s.at, s.len);
	char *to = (char *)copy.data;
	bool blank = false;

	if (!to)
		return NULL;
	for (const char *from = copy.data; *from; from++) {
		bool comment = from[0] == '\n' && from[1] == '-' && from[2] == '-';

		if (comment)
			from += 2;
		if (comment || *from == ' ' || *from == '\t' || *from == '\r') {
			blank = true;
			continue;
		}
		if (blank && to != copy.data)
			*to++ = ' ';
		blank = false;
		*to++ = *from;
	}
	*to = '\0';
	return copy.data;
}

static int take_words(struct parser *p, enum key k, const char *also, struct rule_words *ret)
{
	const char *text = one_line(p->arena, p->value[k]);
	struct span rest, word;

	if (!text)
		return -ENOMEM;
	rest = (struct span){text, strlen(text)};
	ret->line = p->line[k];
	ret->word = arena_alloc(p->arena, WORDS_MAX * sizeof(*ret->word));
	while (ret->word && span_word(&rest, &word)) {
		if (!span_is_name(word, also))
			return errtext_set(p->err, -EINVAL,
					   "%s:%d: '%.*s' is no name; write '%s' with names "
					   "between blanks",
					   p->rule->file, p->line[k], (int)word.len, word.at,
					   key_names[k]);
		if (k == KEY_FACTS && !memchr(word.at, '.', word.len))
			return errtext_set(p->err, -EINVAL,
					   "%s:%d: '%.*s' is no fact; write VIEW.COLUMN",
					   p->rule->file, p->line[k], (int)word.len, word.at);
		if (ret->nr == WORDS_MAX)
			return errtext_set(p->err, -EINVAL,
					   "%s:%d: more than %d names in '%s'; leave some out",
					   p->rule->file, p->line[k], WORDS_MAX, key_names[k]);
		ret->word[ret->nr++] = span_copy(p->arena, word);
	}
	return p->arena->failed ? -ENOMEM : 0;
}

static int check_keys(struct parser *p, const char *expected_id)
{
	static const enum key needed[] = {KEY_TITLE, KEY_SEVERITY, KEY_VERSION};
	struct rule *r = p->rule;

	if (!p->value[KEY_ID].at || !span_is(p->value[KEY_ID], expected_id))
		return errtext_set(
			p->err, -EINVAL,
			"%s:%d: the id is not that of the file's name; write '-- id: %s'", r->file,
			p->value[KEY_ID].at ? p->line[KEY_ID] : 1, expected_id);
	if (!span_is_name(p->value[KEY_ID], "-"))
		return errtext_set(p->err, -EINVAL,
				   "%s:%d: the id may have a-z, 0-9 and '-' only; rename the file",
				   r->file, p->line[KEY_ID]);
	for (size_t i = 0; r->sql && i < sizeof(needed) / sizeof(needed[0]); i++)
		if (!p->value[needed[i]].len)
			return errtext_set(
				p->err, -EINVAL,
				"%s:%d: no '%s'; add a line '-- %s: ...' above the query", r->file,
				r->sql_line, key_names[needed[i]], key_names[needed[i]]);
	if (p->value[KEY_ORDER].at && !span_is(p->value[KEY_ORDER], "last"))
		return errtext_set(p->err, -EINVAL, "%s:%d: order can only be 'last'", r->file,
				   p->line[KEY_ORDER]);
	if (!r->sql && !r->nr_params)
		return errtext_set(p->err, -EINVAL,
				   "%s:1: neither a query nor a param; add a SELECT, or param "
				   "lines to change thresholds of %s",
				   r->file, expected_id);
	return 0;
}

static int finish(struct parser *p)
{
	struct rule *r = p->rule;
	int ret;

	r->id = one_line(p->arena, p->value[KEY_ID]);
	r->title = one_line(p->arena, p->value[KEY_TITLE]);
	r->severity = one_line(p->arena, p->value[KEY_SEVERITY]);
	r->version = one_line(p->arena, p->value[KEY_VERSION]);
	r->last = p->value[KEY_ORDER].at != NULL;
	ret = take_words(p, KEY_COUNTERS, "_", &r->counters);
	if (!ret)
		ret = take_words(p, KEY_TABLES, "_", &r->tables);
	if (!ret)
		ret = take_words(p, KEY_FACTS, "_.", &r->facts);
	return ret;
}

int rule_parse(struct arena *a, const char *file, const char *expected_id, const char *text,
	       struct rule *ret, struct errtext *err)
{
	struct rule rule = {.file = file};
	struct parser p = {.arena = a, .rule = &rule, .err = err, .last_key = -1};
	struct lines lines = {.next = text};
	const char *begin = text;
	struct span line;
	int e = 0;

	while (!e && (begin = lines.next, lines_next(&lines, &line))) {
		if (!span_trim(line).len)
			continue;
		if (!span_begins(line, "--")) {
			rule.sql = begin;
			rule.sql_line = lines.number;
			break;
		}
		line = (struct span){line.at + 2, line.len - 2};
		if (line.len && line.at[0] == ' ')
			line = (struct span){line.at + 1, line.len - 1};
		e = take_line(&p, line, lines.number);
	}
	if (!e)
		e = check_keys(&p, expected_id);
	if (!e)
		e = finish(&p);
	if (!e)
		*ret = rule;
	return e;
}
