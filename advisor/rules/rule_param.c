/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/rules/rule.h"
#include "advisor/rules/text.h"

/* Digits, one point at most, a sign: what every locale and SQLite read alike. */
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

/* No locale: strtod() would take its point. */
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
				   "%s:%d: '%.*s' is no name of a parameter; use a-z, 0-9 and _",
				   file, line, (int)name.len, name.at);
	e = is_number(number) ? set_value(a, number, &p) : -ERANGE;
	if (e == -ERANGE)
		return errtext_set(err, -EINVAL,
				   "%s:%d: '%.*s' is not a number; write it as 12, -3 or 0.25, "
				   "its unit behind a blank",
				   file, line, (int)number.len, number.at);
	span_word(&rest, &unit);
	if (span_trim(rest).len)
		return errtext_set(err, -EINVAL,
				   "%s:%d: the unit '%.*s' is more than one word; put the reason "
				   "behind --",
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
	char where[512];

	if (!p)
		return errtext_set(err, -EINVAL,
				   "%s:%d: rule %s has no parameter '%s'; 'cachemon explain %s' "
				   "lists those it has",
				   file, value->line, rule->id, value->name, rule->id);
	if (value->unit[0] && strcmp(value->unit, p->unit) != 0)
		return errtext_set(
			err, -EINVAL, "%s:%d: %s is in %s, not in %s; give the value in that unit",
			file, value->line, p->name, p->unit[0] ? p->unit : "no unit", value->unit);
	snprintf(where, sizeof(where), "%s:%d", file, value->line);
	p->text = value->text;
	p->is_integer = value->is_integer;
	p->integer = value->integer;
	p->real = value->real;
	p->set_by = arena_bytes(a, where, strlen(where)).data;
	return a->failed ? -ENOMEM : 0;
}
