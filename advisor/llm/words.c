/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/llm/words.h"

#include <ctype.h>
#include <string.h>

#include "advisor/llm/phrase.h"

enum kind { ONES, TENS, HUNDRED, SCALE, FRACTION, FACTOR, VAGUE };

struct number_word {
	const char *word;
	enum kind kind;
	double value;
};

static const struct number_word table[] = {
	{"zero", ONES, 0},
	{"nil", ONES, 0},
	{"naught", ONES, 0},
	{"nought", ONES, 0},
	{"one", ONES, 1},
	{"two", ONES, 2},
	{"three", ONES, 3},
	{"four", ONES, 4},
	{"five", ONES, 5},
	{"six", ONES, 6},
	{"seven", ONES, 7},
	{"eight", ONES, 8},
	{"nine", ONES, 9},
	{"ten", ONES, 10},
	{"eleven", ONES, 11},
	{"twelve", ONES, 12},
	{"thirteen", ONES, 13},
	{"fourteen", ONES, 14},
	{"fifteen", ONES, 15},
	{"sixteen", ONES, 16},
	{"seventeen", ONES, 17},
	{"eighteen", ONES, 18},
	{"nineteen", ONES, 19},
	{"couple", ONES, 2},
	{"twenty", TENS, 20},
	{"thirty", TENS, 30},
	{"forty", TENS, 40},
	{"fourty", TENS, 40},
	{"fifty", TENS, 50},
	{"sixty", TENS, 60},
	{"seventy", TENS, 70},
	{"eighty", TENS, 80},
	{"ninety", TENS, 90},
	{"ninty", TENS, 90},
	{"dozen", HUNDRED, 12},
	{"hundred", HUNDRED, 100},
	{"thousand", SCALE, 1e3},
	{"million", SCALE, 1e6},
	{"billion", SCALE, 1e9},
	{"trillion", SCALE, 1e12},
	{"half", FRACTION, 1 / 2.0},
	{"halves", FRACTION, 1 / 2.0},
	{"halfway", FRACTION, 1 / 2.0},
	{"third", FRACTION, 1 / 3.0},
	{"quarter", FRACTION, 1 / 4.0},
	{"fourth", FRACTION, 1 / 4.0},
	{"fifth", FRACTION, 1 / 5.0},
	{"sixth", FRACTION, 1 / 6.0},
	{"seventh", FRACTION, 1 / 7.0},
	{"eighth", FRACTION, 1 / 8.0},
	{"ninth", FRACTION, 1 / 9.0},
	{"tenth", FRACTION, 1 / 10.0},
	{"hundredth", FRACTION, 1 / 100.0},
	{"thousandth", FRACTION, 1 / 1000.0},
	{"millionth", FRACTION, 1 / 1000000.0},
	{"twice", FACTOR, 2},
	{"double", FACTOR, 2},
	{"doubled", FACTOR, 2},
	{"doubling", FACTOR, 2},
	{"thrice", FACTOR, 3},
	{"triple", FACTOR, 3},
	{"tripled", FACTOR, 3},
	{"tripling", FACTOR, 3},
	{"treble", FACTOR, 3},
	{"quadruple", FACTOR, 4},
	{"quadrupled", FACTOR, 4},
	{"quintuple", FACTOR, 5},
	{"halve", FACTOR, 0.5},
	{"halved", FACTOR, 0.5},
	{"halving", FACTOR, 0.5},
	{"tens", VAGUE, 0},
	{"dozens", VAGUE, 0},
	{"hundreds", VAGUE, 0},
	{"thousands", VAGUE, 0},
	{"millions", VAGUE, 0},
	{"billions", VAGUE, 0},
	{"trillions", VAGUE, 0},
	{"bn", VAGUE, 0},
	{"mn", VAGUE, 0},
	{"mln", VAGUE, 0},
	{"bln", VAGUE, 0},
	{"mio", VAGUE, 0},
	{"lakh", VAGUE, 0},
	{"lakhs", VAGUE, 0},
	{"crore", VAGUE, 0},
	{"crores", VAGUE, 0},
	{"myriad", VAGUE, 0},
	{"myriads", VAGUE, 0},
	{"umpteen", VAGUE, 0},
	{"zillion", VAGUE, 0},
	{"gazillion", VAGUE, 0},
	{"fortnight", VAGUE, 0},
	{"squared", VAGUE, 0},
	{"cubed", VAGUE, 0},
	{"minus", VAGUE, 0},
	{"magnitude", VAGUE, 0},
	{"magnitudes", VAGUE, 0},
	{"eleventh", VAGUE, 0},
	{"twelfth", VAGUE, 0},
	{"twentieth", VAGUE, 0},
};

enum { NR_WORDS = sizeof(table) / sizeof(table[0]) };

/* Digits that a fraction in words has: "a third" is 0.33 to 0.34. */
#define FRACTION_STEP 0.01

static bool is_begin_of(struct word w, const char *text, size_t len)
{
	return w.len == len && strncasecmp(w.at, text, len) == 0;
}

static const struct number_word *find(struct word w)
{
	for (size_t i = 0; i < NR_WORDS; i++) {
		const struct number_word *n = &table[i];
		size_t len = strlen(n->word);

		if (is_begin_of(w, n->word, len))
			return n;
		if (w.len == len + 1 && tolower((unsigned char)w.at[len]) == 's' &&
		    (n->kind == FRACTION || n->kind == FACTOR) &&
		    strncasecmp(w.at, n->word, len) == 0)
			return n;
	}
	return NULL;
}

/* "fortyfour", "fiftypercent", "threefold": two words in one. */
static const struct number_word *find_solid(struct word w, bool *ret_fold)
{
	static const char *const units[] = {"percent", "fold", "times"};

	for (size_t len = 3; len + 3 <= w.len; len++) {
		const struct number_word *first = find((struct word){w.at, len});
		struct word rest = {w.at + len, w.len - len};

		if (!first || first->kind == FACTOR || first->kind == VAGUE)
			continue;
		*ret_fold = word_is(rest, "fold");
		for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
			if (word_is(rest, units[i]))
				return first;
		if (find(rest))
			return first;
	}
	return NULL;
}

struct sum {
	double total, current;
	bool any, tens; /* tens: ones may follow */
	size_t end;	/* of what was taken */
	size_t nr;
};

/* Whether the word goes on with the number, as "five" in "twenty-five" and not in "five five". */
static bool add(struct sum *s, const struct number_word *n)
{
	switch (n->kind) {
	case ONES:
		if (s->any && !s->tens && s->current > 0 && (long)s->current % 100 != 0)
			return false;
		s->current += n->value;
		s->tens = false;
		break;
	case TENS:
		if (s->current > 0 && (long)s->current % 100 != 0)
			return false;
		s->current += n->value;
		s->tens = true;
		break;
	case HUNDRED:
		s->current = (s->current > 0 ? s->current : 1) * n->value;
		s->tens = false;
		break;
	case SCALE:
		s->total += (s->current > 0 ? s->current : 1) * n->value;
		s->current = 0;
		s->tens = false;
		break;
	default:
		return false;
	}
	s->any = true;
	s->nr++;
	return true;
}

/* The next word of a number: behind one blank or hyphen, or behind "and". */
static bool next_word(const char *text, size_t at, bool may_and, struct word *ret)
{
	const char *c = text + at;

	if (at && *c != ' ' && *c != '-')
		return false;
	c += at ? 1 : 0;
	if (at && may_and && strncasecmp(c, "and ", 4) == 0)
		c += 4;
	return isalpha((unsigned char)*c) && word_next(&c, ret);
}

static struct sum sum_words(const char *text)
{
	struct sum s = {0};
	struct word w;

	while (next_word(text, s.end, s.any, &w)) {
		const struct number_word *n = find(w);

		if (!n || !add(&s, n))
			break;
		s.end = (size_t)(w.at + w.len - text);
	}
	s.total += s.current;
	return s;
}

/* "two point five" */
static bool has_point(const char *text, size_t at)
{
	struct word w;

	return next_word(text, at, false, &w) && (word_is(w, "point") || word_is(w, "comma"));
}

/* A unit behind, "a" between them: "half a second". */
static size_t take_unit(const char *text, struct unit *ret)
{
	size_t gap = *text == ' ' || *text == '-' ? 1 : 0, used;

	if (gap && strncasecmp(text + gap, "a ", 2) == 0)
		gap += 2;
	else if (gap && strncasecmp(text + gap, "of a ", 5) == 0)
		gap += 5;
	used = gap ? unit_parse(text + gap, false, ret) : 0;
	return used ? gap + used : 0;
}

static void set(struct quantity *q, double value, enum dimension dim, bool fraction)
{
	*q = (struct quantity){
		value, fraction ? FRACTION_STEP : 0, fraction ? 2 : 0, {dim, 1, 0, false, "", 0}};
}

static enum words_kind one_word(struct word w, struct quantity *ret)
{
	const struct number_word *n = find(w);
	bool fold = false;

	if (!n) {
		n = find_solid(w, &fold);
		if (n && fold)
			set(ret, n->value, DIM_TIMES, false);
		return !n ? WORDS_NONE : fold ? WORDS_NUMBER : WORDS_VAGUE;
	}
	if (n->kind == VAGUE)
		return WORDS_VAGUE;
	if (n->kind == FACTOR)
		set(ret, n->value, DIM_TIMES, false);
	else
		set(ret, n->value, DIM_RATIO, true);
	return WORDS_NUMBER;
}

enum words_kind words_parse(const char *text, struct quantity *ret, size_t *ret_len)
{
	struct sum s = sum_words(text);
	const char *at = text;
	const struct number_word *n;
	enum words_kind kind = WORDS_NUMBER;
	struct word w = {0};
	size_t unit;

	if (!s.nr) {
		word_next(&at, &w);
		s.end = w.len;
		/* "third party", "third-party" */
		if (word_is(w, "third") && next_word(text, s.end, false, &w) &&
		    (word_is(w, "party") || word_is(w, "parties"))) {
			*ret_len = (size_t)(w.at + w.len - text);
			return WORDS_NONE;
		}
		kind = one_word((struct word){text, s.end}, ret);
	} else {
		set(ret, s.total, DIM_NONE, false);
		n = next_word(text, s.end, false, &w) ? find(w) : NULL;
		if (n && n->kind == FRACTION) {
			set(ret, s.total * n->value, DIM_RATIO, true);
			s.end = (size_t)(w.at + w.len - text);
			s.nr++;
		} else if ((n && n->kind != VAGUE) || has_point(text, s.end)) {
			kind = WORDS_VAGUE;
		}
	}
	unit = kind == WORDS_NUMBER ? take_unit(text + s.end, &ret->unit) : 0;
	*ret_len = s.end + unit;
	if (kind == WORDS_NUMBER && !ret->unit.per_second)
		unit_rate_behind(text + *ret_len, &ret->unit);
	if (s.nr == 1 && s.total == 1 && !unit && kind == WORDS_NUMBER &&
	    ret->unit.dim == DIM_NONE && !ret->unit.per_second)
		return WORDS_NONE; /* "one" is a pronoun, too */
	return kind;
}
