/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/llm/check_impl.h"
#include "advisor/llm/figures.h"
#include "advisor/llm/phrase.h"
#include "advisor/llm/words.h"

/* Where in a plain text the check is. */
struct place {
	const struct basis *basis;
	const char *text, *at;
	size_t placeholder; /* that comes next */
	const struct said *said;
};

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static char before(const struct place *p)
{
	return p->at > p->text ? p->at[-1] : '\0';
}

/* Letters, digits and what joins them, from at: "6.12.9-amd64", "/data/x.1". */
static size_t joined(const char *at)
{
	size_t n = 0;

	while (is_word(at[n]) || (at[n] && strchr("./-", at[n])))
		n++;
	while (n && strchr(".-/", at[n - 1]))
		n--;
	return n;
}

/* "(2)" as behind a page of the manual. */
static size_t section(const char *at)
{
	return at[0] == '(' && isdigit((unsigned char)at[1]) && at[2] == ')' ? 3 : 0;
}

/* A word, a version or a path: no plain number, wherever that was sent. */
static bool is_no_number(const char *at, size_t len)
{
	size_t letters = 0, dots = 0, digits = 0;

	for (size_t i = 0; i < len; i++) {
		letters += isalpha((unsigned char)at[i]) || at[i] == '_';
		dots += at[i] == '.';
		digits += isdigit((unsigned char)at[i]) != 0;
	}
	return digits && (letters || dots > 1);
}

/* The longest of what may be a term at, that is one. */
static size_t term_at(const struct pack *pack, const char *at)
{
	size_t lens[4], all = joined(at), ident = 0;

	while (is_word(at[ident]))
		ident++;
	lens[0] = all + section(at + all);
	lens[1] = all;
	lens[2] = ident + section(at + ident);
	lens[3] = ident;
	for (size_t i = 0; i < 4; i++)
		if (is_no_number(at, lens[i]) && find_term(pack, at, lens[i]))
			return lens[i];
	return 0;
}

static bool is_key(const struct pack *p, const char *at, size_t len)
{
	return find_evidence(p, at, len) || find_finding(p, at, len) || find_note(p, at, len) ||
	       find_action(p, at, len);
}

/* "XIV": not one letter, and in the order that such numbers have. Larger ones look like what CLI,
 * MMC and CD stand for. */
static bool is_roman(const char *at, size_t len)
{
	static const char *const places[] = {"XC", "XL", "X", "X", "X", "IX",
					     "V",  "IV", "I", "I", "I"};
	size_t n = 0;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		size_t letters = strlen(places[i]);

		if (n + letters <= len && memcmp(at + n, places[i], letters) == 0)
			n += letters;
	}
	return n == len && len >= 2;
}

/* A unit, or a number's word, at: what would make another number of one before it. */
static bool scales(const char *at)
{
	struct quantity q;
	struct unit u;
	size_t len;

	return *at == '%' || unit_parse(at, true, &u) || words_parse(at, &q, &len) != WORDS_NONE;
}

/* Whether a number may stand behind what is in front of it, and be read as it is. */
static bool is_clear_before(const struct place *p)
{
	char front = before(p);

	if (front == '-') /* a range of two placeholders */
		return p->at - 1 > p->text && p->at[-2] == MARK_PLACEHOLDER;
	return !is_word(front) && front != MARK_ALIAS && (!front || !strchr("+.,/#~'", front));
}

static bool is_clear_behind(const char *behind)
{
	if (*behind == '-')
		return behind[1] == MARK_PLACEHOLDER;
	/* "B+" is another grade, and "92 %+" more than it was. */
	if (is_word(*behind) || *behind == '%' || *behind == '+' || *behind == MARK_PLACEHOLDER ||
	    *behind == MARK_ALIAS)
		return false;
	return !*behind || !strchr(".,:/'", *behind) || !isalnum((unsigned char)behind[1]);
}

/* Whether the value that comes for a placeholder stays what it is between what stands around it. */
static bool take_placeholder(struct place *p)
{
	const struct pack_evidence *e = p->said->filled[p->placeholder++];
	const char *behind = p->at + 1 + figures_unit_again(e, p->at + 1);
	struct unit u, own = unit_of_figure(e->unit);
	bool clear = is_clear_before(p) && is_clear_behind(behind) && !unit_rate_behind(behind, &u);

	p->at = behind;
	if (!clear || *behind != ' ' || !scales(behind + 1))
		return clear;
	/* A unit behind a figure that has none must be its own. */
	if (figures_has_unit(e) || !unit_parse(behind + 1, false, &u) ||
	    u.per_second != own.per_second)
		return false;
	return (u.dim == own.dim && u.scale == own.scale) ||
	       (u.dim == DIM_TIMES && own.dim == DIM_NONE);
}

/* "3-5 s", "3 to 5 s": the first number has the second's unit. */
static void take_unit_of_range(const char *behind, struct quantity *q)
{
	struct quantity second;
	size_t gap = *behind == '-'			? 1
		     : strncmp(behind, " to ", 4) == 0	? 4
		     : strncmp(behind, " and ", 5) == 0 ? 5
							: 0;

	if (gap && q->unit.dim == DIM_NONE && isdigit((unsigned char)behind[gap]) &&
	    quantity_parse(behind + gap, ' ', &second))
		q->unit = second.unit;
}

/* A number of few digits, that does not begin with 0; how much of the text it is. */
static size_t take_small(const char *at, double *ret)
{
	size_t n = 0;

	*ret = 0;
	for (; isdigit((unsigned char)at[n]); n++)
		*ret = *ret * 10 + (at[n] - '0');
	return *at == '0' || n > 4 ? 0 : n;
}

/* "1/2": how much of the text it is. */
static size_t take_fraction(const char *at, char front, struct quantity *ret)
{
	double above, below;
	size_t n = front && !strchr(" (['\"", front) ? 0 : take_small(at, &above), m;

	if (!n || at[n] != '/')
		return 0;
	n++;
	m = take_small(at + n, &below);
	n += m;
	if (!m || is_word(at[n]) || (at[n] && strchr("./,:", at[n]) && is_word(at[n + 1])))
		return 0;
	*ret = (struct quantity){above / below, 0.01, 2, {DIM_RATIO, 1, 0, false, "", 0}};
	return n;
}

static bool take_digits(struct place *p)
{
	const struct pack *pack = p->basis->pack;
	struct quantity q;
	size_t used = take_fraction(p->at, before(p), &q);

	if (used) {
		p->at += used;
		return figures_have(p->basis, &q);
	}
	used = quantity_parse(p->at, before(p), &q);
	if (!used) {
		used = term_at(pack, p->at);
		p->at += used;
		return used > 0;
	}
	take_unit_of_range(p->at + used, &q);
	if (!figures_have(p->basis, &q) && !figures_in_fact(pack, p->text, p->at, used))
		return false;
	p->at += used;
	return true;
}

/* A word with digits in it, or with a section of the manual behind it. */
static bool take_term(struct place *p, size_t len)
{
	const struct pack *pack = p->basis->pack;
	size_t used = term_at(pack, p->at);

	if (!used && is_key(pack, p->at, len))
		used = len;
	if (!used && memchr(p->at, '0', len) == NULL && strcspn(p->at, "123456789") >= len)
		used = len; /* no digit in it: a word, and what is behind it is looked at next */
	p->at += used;
	return used > 0;
}

static bool take_word(struct place *p)
{
	const char *word = p->at;
	struct quantity q;
	size_t len = 0, used = 0;
	enum words_kind kind;

	while (is_word(word[len]))
		len++;
	if (strcspn(word, "0123456789") < len || section(word + len))
		return take_term(p, len);
	if (is_roman(word, len) && !find_term(p->basis->pack, word, len))
		return false;
	kind = words_parse(word, &q, &used);
	p->at += used > len ? used : len;
	if (kind == WORDS_NUMBER)
		return figures_have(p->basis, &q);
	/* A unit of numbers alone: what it is of was not taken for one. */
	return kind == WORDS_NONE && (len != 7 || strncasecmp(word, "percent", len) != 0);
}

/* A path is looked at as a whole first. */
static bool take_path(struct place *p)
{
	size_t used = is_word(before(p)) ? 0 : term_at(p->basis->pack, p->at);

	p->at += used ? used : 1;
	return true;
}

static bool take(struct place *p)
{
	char c = *p->at;

	if (c == MARK_PLACEHOLDER)
		return take_placeholder(p);
	if (isalpha((unsigned char)c) || c == '_')
		return take_word(p);
	if (isdigit((unsigned char)c))
		return take_digits(p);
	if (c && strchr("+-.", c) && isdigit((unsigned char)p->at[1]) && !is_word(before(p)) &&
	    before(p) != MARK_PLACEHOLDER)
		return take_digits(p);
	if (c == '/')
		return take_path(p);
	p->at++;
	return c != '%'; /* of a number, it was taken with it */
}

bool numbers_hold(const struct basis *b, const struct said *s)
{
	struct place p = {b, s->plain, s->plain, 0, s};

	while (*p.at)
		if (!take(&p))
			return false;
	return true;
}
