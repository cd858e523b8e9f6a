/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside of check: a statement's text on its way through the checks, one file for each kind of
 * them. */
#ifndef LLM_CHECK_IMPL_H
#define LLM_CHECK_IMPL_H

#include "advisor/llm/check.h"

/* Stand in a plain text for a placeholder and for an alias: no text has these bytes of its own. */
enum { MARK_PLACEHOLDER = 1, MARK_ALIAS = 2 };

/* A statement's text. */
struct said {
	/* To be shown: printable ASCII and Latin letters; typographic signs are plain ones. */
	char text[3 * STATEMENT_MAX + 1];
	/* To be looked at: a byte a character, letters without their accents, marks for
	 * placeholders and aliases. */
	char plain[3 * STATEMENT_MAX + 1];
	char words[3 * STATEMENT_MAX + 3]; /* of plain: see words_put() */
	/* Of each placeholder, in their order. */
	const struct pack_evidence *filled[STATEMENT_MAX];
	size_t nr_filled;
};

/* said.c: by key among things whose first member is their key; NULL: was not sent. */
const void *find_key(const void *list, size_t nr, size_t size, const char *key, size_t len);
#define FIND_KEY(list, nr, key, len) find_key(list, nr, sizeof((list)[0]), key, len)
/* The key of anything that was sent. */
bool find_any(const struct pack *p, const char *key, size_t len);
/* Whether a word with digits in it stands, just so, in what was sent and is ours. */
bool find_term(const struct pack *p, const char *term, size_t len);

/* said.c: false: a character that is not for showing. */
bool clean_text(const char *text, size_t len, struct said *ret);
/* Known placeholders and aliases become marks. names NULL: there are none. */
void marks_put(const struct pack *p, const struct redact *names, struct said *s);
/* What is shown: numbers filled in. NULL: no memory. */
const char *marks_fill(const struct said *s, struct arena *a);
/* The next key in a plain text, "E3", as a word of its own, at or behind at; NULL: there is none.
 */
const char *marks_key(const char *text, const char *at, size_t *ret_len);

/* Whether a character is a letter, a digit or '_'. */
bool word_char(char c);
/* The letters and digits of a text in words of small letters, with a blank around each; ret has
 * room for three bytes more than the text. */
void words_put(const char *text, char *ret);
/* Whether one of the list, "git clone, docker run" or "rm|dd", stands in words that were put. */
bool words_have(const char *words, const char *list);

/* forbidden.c: whether a POSIX extended expression matches, of small or capital letters. Without
 * memory to look: true, for what it looks for is forbidden. */
bool expression_in(const char *expression, const char *text);

/* forbidden.c: each true: it is that. */
bool echo_in(const struct pack *p, const struct said *s);
bool command_in(const struct said *s);
bool markup_in(const struct pack *p, const char *text);
/* about NULL: the job */
bool severity_differs(const struct pack *p, const struct pack_finding *about, const struct said *s);
/* numbers.c: all of them are placeholders, whose values stay what they are. */
bool numbers_hold(const struct pack *p, const struct said *s);
/* How much of the text behind a placeholder is the unit that the value is shown with. */
size_t numbers_unit_again(const struct pack_evidence *e, const char *behind);

#endif
