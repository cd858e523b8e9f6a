/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/llm/check_impl.h"
#include "advisor/llm/redact_path.h"
#include "cachemon/base/escape.h"

/*
 * Letters of U+00C0 to U+017F without their accents. '*': not shown, because it is not a letter or
 * folds to another one.
 */
static const char folded[] = "AAAAAAACEEEEIIIIDNOOOOO*OUUUUYTsaaaaaaaceeeeiiiidnooooo*ouuuuyty"
			     "AaAaAaCcCcCcCcDdDdEeEeEeEeEeGgGgGgGgHhHhIiIiIiIiIiJjJjKkkLlLlLlLlLl"
			     "NnNnNn*NnOoOoOoOoRrRrRrSsSsSsSsTtTtTtUuUuUuUuUuUuWwYyYZzZzZz*";

enum { FOLDED_FIRST = 0xc0, FOLDED_LAST = 0x17f };
_Static_assert(sizeof(folded) - 1 == FOLDED_LAST - FOLDED_FIRST + 1, "a letter for each");

/* Typographic signs and their ASCII replacements. */
static const struct {
	uint32_t first, last;
	const char *plain;
} signs[] = {
	{0x00a0, 0x00a0, " "},	 {0x00ab, 0x00ab, "\""}, {0x00bb, 0x00bb, "\""},
	{0x00d7, 0x00d7, "x"},	 {0x2009, 0x2009, " "},	 {0x2010, 0x2013, "-"},
	{0x2014, 0x2015, " - "}, {0x2018, 0x201b, "'"},	 {0x201c, 0x201f, "\""},
	{0x2026, 0x2026, "..."}, {0x202f, 0x202f, " "},	 {0x2039, 0x203a, "'"},
	{0x2212, 0x2212, "-"},
};

static const char *sign_of(uint32_t c)
{
	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
		if (c >= signs[i].first && c <= signs[i].last)
			return signs[i].plain;
	return NULL;
}

/* The ASCII look of another character; '\0': it may not be shown. */
static char plain_letter(uint32_t c)
{
	if (c == 0xb5 || c == 0x3bc) /* of microseconds */
		return 'u';
	if (c < FOLDED_FIRST || c > FOLDED_LAST || folded[c - FOLDED_FIRST] == '*')
		return '\0';
	return folded[c - FOLDED_FIRST];
}

/* A single backtick is a quote; several are a fence. */
static char quote_of(const char *text, size_t len, size_t at)
{
	bool fence = (at && text[at - 1] == '`') || (at + 1 < len && text[at + 1] == '`');

	return text[at] == '`' && !fence ? '\'' : text[at];
}

bool clean_text(const char *text, size_t len, struct said *ret)
{
	char *shown = ret->text, *plain = ret->plain;

	for (size_t at = 0, used; at < len; at += used) {
		uint32_t c = 0;
		char letter[2] = "";
		const char *sign, *as;

		used = escape_decode(text + at, len - at, &c);
		letter[0] = c < 0x80 ? quote_of(text, len, at) : plain_letter(c);
		sign = sign_of(c);
		as = sign ?: letter;
		if (!used || c < ' ' || c == 0x7f || !*as)
			return false;
		plain = stpcpy(plain, as);
		shown = sign || c < 0x80 ? stpcpy(shown, as) : mempcpy(shown, text + at, used);
	}
	*shown = *plain = '\0';
	return true;
}

/* Length of a placeholder at text, "{E3}", of evidence in the prompt; 0: none. */
static size_t placeholder_at(const struct pack *p, const char *text,
			     const struct pack_evidence **ret)
{
	const char *end = *text == '{' ? strchr(text, '}') : NULL;

	*ret = end ? FIND_KEY(p, evidence, text + 1, (size_t)(end - text) - 1) : NULL;
	return *ret ? (size_t)(end - text) + 1 : 0;
}

void marks_put(const struct pack *p, const struct redact *names, struct said *s)
{
	char *out = s->plain;

	s->nr_filled = 0;
	for (const char *at = s->plain; *at;) {
		const struct pack_evidence *e;
		size_t n = placeholder_at(p, at, &e);

		if (n && s->nr_filled < STATEMENT_MAX) {
			s->filled[s->nr_filled++] = e;
			*out++ = MARK_PLACEHOLDER;
			at += n;
			continue;
		}
		n = names ? redact_alias_len(names, at, strlen(at)) : 0;
		*out++ = n ? MARK_ALIAS : *at;
		at += n ? n : 1;
	}
	*out = '\0';
}

const char *marks_fill(const struct said *s, struct arena *a)
{
	size_t len = strlen(s->text) + 1, nr = 0;
	char *text, *out;

	for (size_t i = 0; i < s->nr_filled; i++)
		len += strlen(s->filled[i]->shown);
	text = out = arena_alloc(a, len);
	for (const char *at = s->text; text && *at;) {
		const char *end = *at == '{' ? strchr(at, '}') : NULL;

		if (end && nr < s->nr_filled) {
			out = stpcpy(out, s->filled[nr]->shown);
			at = end + 1 + numbers_unit_again(s->filled[nr], end + 1);
			nr++;
		} else {
			*out++ = *at++;
		}
	}
	return text;
}

const char *marks_key(const char *text, const char *at, size_t *ret_len)
{
	for (; *at; at++) {
		size_t n = 1 + strspn(at + 1, "0123456789");

		if (!strchr("EFNA", *at) || n == 1 || redact_path_word(at[n]) ||
		    (at > text && redact_path_word(at[-1])))
			continue;
		*ret_len = n;
		return at;
	}
	return NULL;
}

const void *find_key(const void *list, size_t nr, size_t size, const char *key, size_t len)
{
	for (size_t i = 0; i < nr; i++) {
		const char *const *of = (const void *)((const char *)list + i * size);

		if (strlen(*of) == len && memcmp(*of, key, len) == 0)
			return of;
	}
	return NULL;
}

_Static_assert(!offsetof(struct pack_evidence, key) && !offsetof(struct pack_finding, key) &&
		       !offsetof(struct pack_note, key) && !offsetof(struct pack_action, key),
	       "the first member");

bool find_any(const struct pack *p, const char *key, size_t len)
{
	return FIND_KEY(p, evidence, key, len) || FIND_KEY(p, findings, key, len) ||
	       FIND_KEY(p, notes, key, len) || FIND_KEY(p, actions, key, len);
}

/* Characters that continue a word: "6.12" is not a word of "6.12.9", nor "x1" of "/data/x1". */
static bool goes_on(char c)
{
	return redact_path_word(c) || (c & 0x80) || (c && strchr("/-", c));
}

static bool has_term(const char *text, const char *term, size_t len)
{
	for (const char *hit = text; text && (hit = memmem(hit, strlen(hit), term, len)); hit++) {
		const char *behind = hit + len;
		bool dot = *behind == '.' && goes_on(behind[1]);

		if ((hit == text || (!goes_on(hit[-1]) && hit[-1] != '.')) && !goes_on(*behind) &&
		    !dot)
			return true;
	}
	return false;
}

/* Whether this member of any element of a list contains the term. */
static bool any_has(const void *list, size_t nr, size_t size, size_t member, const char *term,
		    size_t len)
{
	for (size_t i = 0; i < nr; i++)
		if (has_term(*(const char *const *)((const char *)list + i * size + member), term,
			     len))
			return true;
	return false;
}

#define ANY_HAS(list, member)                                                                      \
	any_has(p->list, p->nr_##list, sizeof(p->list[0]),                                         \
		offsetof(__typeof__(p->list[0]), member), term, len)

/* Subjects, scopes and summaries contain names chosen by users, so only their whole paths count. */
bool find_term(const struct pack *p, const char *term, size_t len)
{
	for (size_t i = 0; i < p->nr_notes; i++)
		if (!p->notes[i].of_user && has_term(p->notes[i].text, term, len))
			return true;
	return any_has(p->facts, p->nr_facts, sizeof(p->facts[0]), 0, term, len) ||
	       ANY_HAS(evidence, metric) || ANY_HAS(evidence, shown) || ANY_HAS(findings, id) ||
	       ANY_HAS(findings, title) || ANY_HAS(actions, text) ||
	       (*term == '/' && (ANY_HAS(findings, subject) || ANY_HAS(findings, summary) ||
				 ANY_HAS(evidence, scope)));
}
