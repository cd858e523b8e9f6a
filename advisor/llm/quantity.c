/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/llm/quantity.h"

/* No figure of a run needs more; beyond, a number would become another one, or none. */
enum { DIGITS_MAX = 40, EXPONENT_MAX = 30, SIGNIFICANT_MIN = 2 };

/* The digits of a number, without the commas between thousands. */
struct digits {
	char text[DIGITS_MAX + 1];
	size_t nr;
	int decimals;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool take(struct digits *d, char c)
{
	if (d->nr == DIGITS_MAX)
		return false;
	d->text[d->nr++] = c;
	d->text[d->nr] = '\0';
	return true;
}

static bool is_thousands(const char *text)
{
	return *text == ',' && is_digit(text[1]) && is_digit(text[2]) && is_digit(text[3]) &&
	       !is_digit(text[4]);
}

/* "1,234.5" at text; how much of it, 0: too long. */
static size_t take_digits(const char *text, struct digits *d)
{
	size_t at = 0, first;

	if (*text == '0' && (is_digit(text[1]) || is_thousands(text + 1)))
		return 0;
	while (is_digit(text[at]))
		if (!take(d, text[at++]))
			return 0;
	first = at;
	while (first && first <= 3 && is_thousands(text + at)) {
		for (int i = 1; i <= 3; i++)
			if (!take(d, text[at + (size_t)i]))
				return 0;
		at += 4;
	}
	if (text[at] != '.' || !is_digit(text[at + 1]))
		return at;
	if (!take(d, text[at++]))
		return 0;
	for (; is_digit(text[at]); d->decimals++)
		if (!take(d, text[at++]))
			return 0;
	return at;
}

static size_t take_exponent(const char *text, struct digits *d, int *ret_exponent)
{
	size_t sign = text[0] && (text[1] == '+' || text[1] == '-') ? 1 : 0, at = 1 + sign;
	int exponent = 0;

	if ((*text != 'e' && *text != 'E') || !is_digit(text[at]))
		return 0;
	for (; is_digit(text[at]); at++)
		exponent = exponent < 1000 ? exponent * 10 + (text[at] - '0') : exponent;
	*ret_exponent = sign && text[1] == '-' ? -exponent : exponent;
	return at;
}

static int significant(const struct digits *d)
{
	bool begun = false;
	int nr = 0;

	for (size_t i = 0; i < d->nr; i++) {
		begun |= is_digit(d->text[i]) && d->text[i] != '0';
		nr += begun && is_digit(d->text[i]);
	}
	return nr;
}

/* "million" behind a number; how much of text, and by how much. */
static size_t multiplier(const char *text, double *ret)
{
	static const struct {
		const char *word;
		double by;
	} words[] = {{"hundred", 1e2}, {"thousand", 1e3},  {"million", 1e6},
		     {"billion", 1e9}, {"trillion", 1e12}, {"dozen", 12}};
	size_t gap = *text == ' ' || *text == '-' ? 1 : 0;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t n = strlen(words[i].word);

		if (strncasecmp(text + gap, words[i].word, n) == 0 &&
		    !isalnum((unsigned char)text[gap + n])) {
			*ret = words[i].by;
			return gap + n;
		}
	}
	return 0;
}

/* The unit behind a number, with the blank or the hyphen before it. */
static size_t take_unit(const char *text, struct unit *ret)
{
	size_t gap = (*text == ' ' || *text == '-') ? 1 : 0, used;

	used = unit_parse(text + gap, true, ret);
	return used ? gap + used : 0;
}

/* Whether what is behind a number makes something else of it. */
static bool goes_on(const char *text)
{
	if (isalnum((unsigned char)*text) || *text == '_')
		return true;
	return *text && strchr(".,:'/^", *text) && is_digit(text[1]);
}

size_t quantity_parse(const char *text, char before, struct quantity *ret)
{
	bool open = !before || strchr(" (['\"~", before);
	bool sign = (*text == '-' || *text == '+') && open;
	size_t at = sign ? 1 : 0, used;
	struct digits d = {0};
	double by = 1;
	int exponent = 0;

	*ret = (struct quantity){.unit = {DIM_NONE, 1, 0, false, "", 0}};
	if (!is_digit(text[at]) && (text[at] != '.' || !open || !is_digit(text[at + 1])))
		return 0;
	used = take_digits(text + at, &d);
	if (!used)
		return 0;
	at += used;
	at += take_exponent(text + at, &d, &exponent);
	used = multiplier(text + at, &by);
	at += used;
	at += take_unit(text + at, &ret->unit);
	if (!ret->unit.per_second && ret->unit.dim != DIM_OTHER)
		unit_rate_behind(text + at, &ret->unit);
	if (goes_on(text + at) || exponent > EXPONENT_MAX || exponent < -EXPONENT_MAX)
		return 0;
	ret->value = strtod(d.text, NULL) * pow(10, exponent) * by * (*text == '-' ? -1 : 1);
	ret->step = pow(10, exponent - d.decimals) * by;
	ret->significant = significant(&d);
	return at;
}

/* Whether one reading of what is said gives the value. */
static bool equal(const struct quantity *said, double scale, double value)
{
	double is = said->value * scale, off = fabs(is - value);
	double exact = 1e-9 * fmax(fabs(is), fabs(value));

	if (said->significant < SIGNIFICANT_MIN)
		return off <= exact;
	return off <= said->step * scale / 2 * (1 + 1e-9) + exact;
}

static bool comparable(const struct unit *said, const struct unit *u)
{
	if (said->per_second != u->per_second)
		return false;
	switch (said->dim) {
	case DIM_NONE: /* the noun behind it says of what */
		return u->dim == DIM_NONE || u->dim == DIM_RATIO || u->dim == DIM_PAGES ||
		       u->dim == DIM_TIMES || u->dim == DIM_OTHER;
	case DIM_TIMES:
		return u->dim == DIM_NONE || u->dim == DIM_RATIO || u->dim == DIM_TIMES;
	case DIM_RATIO:
		return u->dim == DIM_RATIO || u->dim == DIM_TIMES;
	case DIM_OTHER:
		return u->dim == DIM_OTHER && u->len == said->len &&
		       strncasecmp(u->word, said->word, u->len) == 0;
	default:
		return u->dim == said->dim;
	}
}

bool quantity_is(const struct quantity *said, double value, const struct unit *unit)
{
	double base = value * unit->scale;

	if (!comparable(&said->unit, unit))
		return false;
	return equal(said, said->unit.scale, base) ||
	       (said->unit.other_scale > 0 && equal(said, said->unit.other_scale, base));
}

bool quantity_same(const struct quantity *said, const struct quantity *other)
{
	return quantity_is(said, other->value, &other->unit);
}
