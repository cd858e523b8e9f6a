/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/rules/rule.h"
#include "advisor/rules/text.h"
#include "cachemon/base/suggest.h"

/* Limits: each name of a parameter is compared with all others, and each need is a query. */
enum { PARAMS_MAX = 64, WORDS_MAX = 64 };

enum key {
	KEY_ID,
	KEY_TITLE,
	KEY_SEVERITY,
	KEY_VERSION,
	KEY_ORDER,
	KEY_LEVER,
	KEY_COUNTERS,
	KEY_TABLES,
	KEY_FACTS,
	KEY_SPDX,
	KEY_NR
};

static const char *const key_names[KEY_NR] = {
	"id",	 "title",	   "severity",	   "version",	  "order",
	"lever", "needs counters", "needs tables", "needs facts", "SPDX-License-Identifier",
};

static const char *const lever_names[LEVER_NR] = {"direct", "cause", "symptom"};

struct parser {
	struct arena *arena;
	struct rule *rule;
	struct errtext *err;
	struct span value[KEY_NR]; /* len 0: not given */
	int line[KEY_NR];
	int last_key; /* key of a continued line; -1: none */
};

static int unknown_key(struct parser *p, int line, struct span key)
{
	const char *name = span_copy(p->arena, key);
	const char *near = name ? suggest_nearest(name, key_names, KEY_NR) : NULL;

	return errtext_set(p->err, -EINVAL, "%s:%d: unknown key '%s'; %s", p->rule->file, line,
			   name ? name : "", suggest_text(near, "see docs/advisor.md").text);
}

static int add_param(struct parser *p, struct span text, int line)
{
	struct rule *rule = p->rule;
	struct rule_param *param;
	const char *copy = span_copy(p->arena, text);
	int ret;

	if (!copy)
		return -ENOMEM;
	if (rule->nr_params == PARAMS_MAX)
		return errtext_set(p->err, -EINVAL,
				   "%s:%d: more than %d parameters; leave some out", rule->file,
				   line, PARAMS_MAX);
	if (!rule->params)
		rule->params = arena_alloc(p->arena, PARAMS_MAX * sizeof(*rule->params));
	if (!rule->params)
		return -ENOMEM;
	param = &rule->params[rule->nr_params];
	ret = rule_param_parse(p->arena, rule->file, line, copy, param, p->err);
	if (ret)
		return ret;
	if (strpbrk(param->name, "-."))
		return errtext_set(p->err, -EINVAL,
				   "%s:%d: the name of a parameter may contain only a-z, 0-9 and _",
				   rule->file, line);
	if (rule_param_find(rule, param->name))
		return errtext_set(p->err, -EINVAL, "%s:%d: a second param %s; leave one of them",
				   rule->file, line, param->name);
	rule->nr_params++;
	return 0;
}

static int take_line(struct parser *p, struct span text, int line)
{
	struct span key, value;

	if (!text.len || text.at[0] == '\t' || (text.len > 1 && span_begins(text, "  "))) {
		/* A continuation line of the key above. */
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

/* Joins a value that spans several comment lines. */
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
					   "%s:%d: '%.*s' is not a name; write '%s' with names "
					   "between blanks",
					   p->rule->file, p->line[k], (int)word.len, word.at,
					   key_names[k]);
		if (k == KEY_FACTS && !memchr(word.at, '.', word.len))
			return errtext_set(p->err, -EINVAL,
					   "%s:%d: '%.*s' is not a fact; write VIEW.COLUMN",
					   p->rule->file, p->line[k], (int)word.len, word.at);
		if (ret->nr == WORDS_MAX)
			return errtext_set(p->err, -EINVAL,
					   "%s:%d: more than %d names in '%s'; leave some out",
					   p->rule->file, p->line[k], WORDS_MAX, key_names[k]);
		ret->word[ret->nr++] = span_copy(p->arena, word);
	}
	return p->arena->failed ? -ENOMEM : 0;
}

/* The index of the key's word in names; dflt without the key, -1 for another word. */
static int word_of(const struct parser *p, enum key k, const char *const names[], int nr, int dflt)
{
	if (!p->value[k].at)
		return dflt;
	for (int i = 0; i < nr; i++)
		if (names[i] && span_is(p->value[k], names[i]))
			return i;
	return -1;
}

static int take_lever(struct parser *p)
{
	int lever = word_of(p, KEY_LEVER, lever_names, LEVER_NR, LEVER_CAUSE);

	p->rule->lever = (enum rule_lever)lever;
	if (lever >= 0)
		return 0;
	return errtext_set(p->err, -EINVAL,
			   "%s:%d: lever can only be 'direct', 'cause' or 'symptom'", p->rule->file,
			   p->line[KEY_LEVER]);
}

static int check_keys(struct parser *p, const char *expected_id)
{
	static const enum key needed[] = {KEY_TITLE, KEY_SEVERITY, KEY_VERSION};
	static const char *const order_names[ORDER_NR] = {NULL, "late", "last"};
	struct rule *r = p->rule;
	int order;

	if (!p->value[KEY_ID].at || !span_is(p->value[KEY_ID], expected_id))
		return errtext_set(
			p->err, -EINVAL,
			"%s:%d: the id differs from the name of the file; write '-- id: %s'",
			r->file, p->value[KEY_ID].at ? p->line[KEY_ID] : 1, expected_id);
	if (!span_is_name(p->value[KEY_ID], "-"))
		return errtext_set(
			p->err, -EINVAL,
			"%s:%d: the id may contain only a-z, 0-9 and '-'; rename the file", r->file,
			p->line[KEY_ID]);
	for (size_t i = 0; r->sql && i < sizeof(needed) / sizeof(needed[0]); i++)
		if (!p->value[needed[i]].len)
			return errtext_set(
				p->err, -EINVAL,
				"%s:%d: no '%s'; add a line '-- %s: ...' above the query", r->file,
				r->sql_line, key_names[needed[i]], key_names[needed[i]]);
	order = word_of(p, KEY_ORDER, order_names, ORDER_NR, ORDER_FIRST);
	if (order < 0)
		return errtext_set(p->err, -EINVAL, "%s:%d: order can only be 'late' or 'last'",
				   r->file, p->line[KEY_ORDER]);
	r->order = (enum rule_order)order;
	if (!r->sql && !r->nr_params)
		return errtext_set(p->err, -EINVAL,
				   "%s:1: neither a query nor a param; add a SELECT, or param "
				   "lines to change thresholds of %s",
				   r->file, expected_id);
	return 0;
}

static int finish_rule(struct parser *p)
{
	struct rule *r = p->rule;
	int ret;

	r->id = one_line(p->arena, p->value[KEY_ID]);
	r->title = one_line(p->arena, p->value[KEY_TITLE]);
	r->severity = one_line(p->arena, p->value[KEY_SEVERITY]);
	r->version = one_line(p->arena, p->value[KEY_VERSION]);
	ret = take_lever(p);
	if (!ret)
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
		e = finish_rule(&p);
	if (!e)
		*ret = rule;
	return e;
}

/* Digits, at most one point, a sign: every locale and SQLite read these alike. */
static bool is_number(struct span s)
{
	size_t digits = 0;
	size_t points = 0;

	for (size_t i = 0; i < s.len; i++) {
		if (s.at[i] >= '0' && s.at[i] <= '9')
			digits++;
		else if (s.at[i] == '.')
			points++;
		else if (s.at[i] != '-' || i)
			return false;
	}
	return digits > 0 && points <= 1;
}

/* Avoids strtod(), whose decimal point depends on the locale. */
static double to_real(const char *text)
{
	double value = 0;
	double scale = 1;
	bool behind = false;

	for (const char *p = text; *p; p++) {
		if (*p == '.') {
			behind = true;
		} else if (*p != '-') {
			value = value * 10 + (*p - '0');
			scale *= behind ? 10 : 1;
		}
	}
	return (text[0] == '-' ? -value : value) / scale;
}

static int set_value(struct arena *a, struct span number, struct rule_param *p)
{
	char *end = NULL;

	p->text = span_copy(a, number);
	if (!p->text)
		return -ENOMEM;
	p->real = to_real(p->text);
	p->is_integer = !strchr(p->text, '.');
	errno = 0;
	if (p->is_integer)
		p->integer = strtoll(p->text, &end, 10);
	return (p->is_integer && errno) || !isfinite(p->real) ? -ERANGE : 0;
}

int rule_param_parse(struct arena *a, const char *file, int line, const char *text,
		     struct rule_param *ret, struct errtext *err)
{
	struct rule_param p = {.line = line};
	struct span name, rest, number, unit, why = {"", 0};
	const char *reason = strstr(text, "--");
	int e;

	if (!span_cut((struct span){text, reason ? (size_t)(reason - text) : strlen(text)}, '=',
		      &name, &rest) ||
	    !span_word(&rest, &number))
		return errtext_set(err, -EINVAL,
				   "%s:%d: no value; write NAME = VALUE UNIT -- why, as in "
				   "'min_pages = 4096 pages -- 16 MiB'",
				   file, line);
	if (!span_is_name(name, "_-."))
		return errtext_set(err, -EINVAL,
				   "%s:%d: '%.*s' is not a parameter name; use a-z, 0-9 and _",
				   file, line, (int)name.len, name.at);
	e = is_number(number) ? set_value(a, number, &p) : -ERANGE;
	if (e == -ERANGE)
		return errtext_set(err, -EINVAL,
				   "%s:%d: '%.*s' is not a number; write it as 12, -3 or 0.25, "
				   "with its unit after a blank",
				   file, line, (int)number.len, number.at);
	span_word(&rest, &unit);
	if (span_trim(rest).len)
		return errtext_set(err, -EINVAL,
				   "%s:%d: the unit '%.*s' is more than one word; put the reason "
				   "after --",
				   file, line, (int)(unit.len + rest.len), unit.at);
	if (reason)
		why = span_trim((struct span){reason + 2, strlen(reason + 2)});
	p.name = span_copy(a, name);
	p.unit = span_copy(a, unit);
	p.why = span_copy(a, why);
	if (a->failed)
		return -ENOMEM;
	*ret = p;
	return 0;
}

struct rule_param *rule_param_find(const struct rule *rule, const char *name)
{
	for (size_t i = 0; i < rule->nr_params; i++)
		if (strcmp(rule->params[i].name, name) == 0)
			return &rule->params[i];
	return NULL;
}

int rule_param_override(struct arena *a, const struct rule *rule, const char *file,
			const struct rule_param *value, struct errtext *err)
{
	struct rule_param *p = rule_param_find(rule, value->name);

	if (!p)
		return errtext_set(err, -EINVAL,
				   "%s:%d: rule %s has no parameter '%s'; 'cachemon explain %s' "
				   "lists its parameters",
				   file, value->line, rule->id, value->name, rule->id);
	if (value->unit[0] && strcmp(value->unit, p->unit) != 0)
		return errtext_set(
			err, -EINVAL, "%s:%d: %s is in %s, not in %s; give the value in that unit",
			file, value->line, p->name, p->unit[0] ? p->unit : "no unit", value->unit);
	p->text = value->text;
	p->is_integer = value->is_integer;
	p->integer = value->integer;
	p->real = value->real;
	p->set_by = arena_print(a, "%s:%d", file, value->line);
	return a->failed ? -ENOMEM : 0;
}
