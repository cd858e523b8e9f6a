/* SPDX-License-Identifier: BSD-2-Clause */
/* Internals of the checks: a statement's text, and one file per kind of check. */
#ifndef LLM_CHECK_IMPL_H
#define LLM_CHECK_IMPL_H

#include "advisor/llm/check.h"

/* Marks for a placeholder and an alias in plain text, which never has these bytes otherwise. */
enum { MARK_PLACEHOLDER = 1, MARK_ALIAS = 2 };

/* A statement's text. */
struct said {
	/* The text to show: printable ASCII and Latin letters; typographic signs become ASCII. */
	char text[3 * STATEMENT_MAX + 1];
	/* The text to check: one byte per character, letters without accents, marks for
	 * placeholders and aliases. */
	char plain[3 * STATEMENT_MAX + 1];
	char words[3 * STATEMENT_MAX + 3]; /* of plain: see words_put() */
	/* One for each placeholder, in order. */
	const struct pack_evidence *filled[STATEMENT_MAX];
	size_t nr_filled;
};

/* said.c: finds a key in a list whose members begin with their key; NULL: it was not in the
 * prompt. */
const void *find_key(const void *list, size_t nr, size_t size, const char *key, size_t len);
#define FIND_KEY(p, list, key, len)                                                                \
	find_key((p)->list, (p)->nr_##list, sizeof((p)->list[0]), key, len)
/* The key of anything in the prompt. */
bool find_any(const struct pack *p, const char *key, size_t len);
/* Whether a word with digits occurs verbatim in the trusted parts of the prompt. */
bool find_term(const struct pack *p, const char *term, size_t len);

/* said.c: false: it has a character that may not be shown. */
bool clean_text(const char *text, size_t len, struct said *ret);
/* Replaces known placeholders and aliases by marks. names NULL: no aliases. */
void marks_put(const struct pack *p, const struct redact *names, struct said *s);
/* The text to show, with numbers filled in. NULL: no memory. */
const char *marks_fill(const struct said *s, struct arena *a);
/* The next key in a plain text, such as "E3", as a separate word at or after `at`; NULL: none. */
const char *marks_key(const char *text, const char *at, size_t *ret_len);

/* Letters and digits of a text as lowercase words, each surrounded by blanks; ret needs room for
 * three bytes more than the text. */
void words_put(const char *text, char *ret);

/* forbidden.c: whether a POSIX extended expression matches, ignoring case. True on -ENOMEM,
 * because every expression describes something forbidden. */
bool expression_in(const char *expression, const char *text);

/* forbidden.c: each returns true if the text has what its name says. */
bool echo_in(const struct pack *p, const struct said *s);
bool command_in(const struct said *s);
bool markup_in(const struct pack *p, const char *text);
/* about NULL: the job */
bool severity_differs(const struct pack *p, const struct pack_finding *about, const struct said *s);
/* numbers.c: whether all numbers are placeholders whose values stay unchanged. */
bool numbers_hold(const struct pack *p, const struct said *s);
/* Length of the text after a placeholder that repeats the unit of its value. */
size_t numbers_unit_again(const struct pack_evidence *e, const char *behind);

#endif
