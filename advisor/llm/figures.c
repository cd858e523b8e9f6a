/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/llm/figures.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Whether the text has the number; of notes those with a unit only. */
static bool text_has(const char *text, bool with_unit, const struct quantity *said)
{
	char front = '\0';

	while (*text) {
		struct quantity q;
		bool sign = (*text == '-' || *text == '+') && isdigit((unsigned char)text[1]);
		bool begins =
			(sign || isdigit((unsigned char)*text)) && !is_word(front) && front != '.';
		size_t used = begins ? quantity_parse(text, front, &q) : 0;

		if (used && (!with_unit || q.unit.dim != DIM_NONE) && quantity_same(said, &q))
			return true;
		text += used ? used : 1;
		front = text[-1];
	}
	return false;
}

/* "1m 12s" is neither a minute nor twelve seconds. */
static size_t nr_numbers(const char *text)
{
	size_t nr = 0;

	for (; *text; text++)
		if (isdigit((unsigned char)*text) &&
		    !strchr("0123456789.,", text[1] ? text[1] : ' '))
			nr++;
	return nr;
}

static bool evidence_has(const struct pack_evidence *e, const struct quantity *said)
{
	struct unit unit = unit_of_figure(e->unit);
	char *end;
	double value;

	/* "yes" of a flag is no 1. */
	if (!e->value || e->is_text || !strpbrk(e->shown, "0123456789"))
		return false;
	value = strtod(e->value, &end);
	if (end > e->value && quantity_is(said, value, &unit))
		return true;
	return nr_numbers(e->shown) == 1 && text_has(e->shown, false, said);
}

bool figures_have(const struct basis *b, const struct quantity *said)
{
	const struct llm_statement *s = b->statement;

	for (size_t i = 0; i < s->nr_evidence; i++)
		if (evidence_has(s->evidence[i], said))
			return true;
	/* What a user's notes say was not measured here, and need not be true. */
	for (size_t i = 0; i < s->nr_notes; i++)
		if (!s->notes[i]->of_user && text_has(s->notes[i]->text, true, said))
			return true;
	return false;
}

/* Whether the fact has the words, and the number ends there as it does in the text. */
static bool stands_in(const char *fact, const char *words, size_t len, size_t number)
{
	for (const char *hit = fact; (hit = memmem(hit, strlen(hit), words, len)); hit++) {
		const char *at = hit + len - number;
		struct quantity q;

		if ((hit == fact || !is_word(hit[-1])) && quantity_parse(at, at[-1], &q) == number)
			return true;
	}
	return false;
}

bool figures_in_fact(const struct pack *p, const char *text, const char *at, size_t len)
{
	const char *begin = at;

	if (at == text || at[-1] != ' ')
		return false;
	for (begin--; begin > text && is_word(begin[-1]);)
		begin--;
	if (begin == at - 1)
		return false;
	for (size_t i = 0; i < p->nr_facts; i++)
		if (stands_in(p->facts[i], begin, (size_t)(at - begin) + len, len))
			return true;
	return false;
}

static bool shown_unit(const struct pack_evidence *e, struct unit *ret)
{
	const char *number = strpbrk(e->shown, "0123456789");
	struct quantity q;

	if (!number || !quantity_parse(number, number > e->shown ? number[-1] : '\0', &q))
		return false;
	*ret = q.unit;
	return true;
}

bool figures_has_unit(const struct pack_evidence *e)
{
	struct unit u;

	return !shown_unit(e, &u) || u.dim != DIM_NONE || u.per_second;
}

/* " files" behind "12 files" */
static size_t noun_again(const char *shown, const char *behind)
{
	const char *noun = strrchr(shown, ' ');
	size_t len = noun ? strlen(noun) : 0;

	if (len < 2 || !isalpha((unsigned char)noun[1]) || strncasecmp(noun, behind, len) != 0)
		return 0;
	return is_word(behind[len]) ? 0 : len;
}

size_t figures_unit_again(const struct pack_evidence *e, const char *behind)
{
	size_t gap = *behind == ' ' ? 1 : 0, used;
	struct unit shown, u;

	if (!shown_unit(e, &shown))
		return 0;
	used = shown.dim == DIM_NONE ? 0 : unit_parse(behind + gap, false, &u);
	if (used && u.dim == shown.dim && u.scale == shown.scale &&
	    u.per_second == shown.per_second)
		return gap + used;
	return noun_again(e->shown, behind);
}
