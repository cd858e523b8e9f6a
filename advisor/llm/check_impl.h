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
	/* Of each placeholder, in their order. */
	const struct pack_evidence *filled[STATEMENT_MAX];
	size_t nr_filled;
};

/* What a statement is held against. */
struct basis {
	const struct pack *pack;
	const struct redact *names;	       /* NULL: none */
	const struct llm_statement *statement; /* what it cites is known */
};

/* forbidden.c: words of a text, whatever stands between them and however they are written. */
struct word {
	const char *at;
	size_t len;
};

/* The next run of letters and digits at *at or behind, which then is behind it. */
bool word_next(const char **at, struct word *ret);
/* Whether a word is this one of small letters. */
bool word_is(struct word w, const char *text);
/* Whether it is one of the list, "sudo rm echo". */
bool word_is_one_of(struct word w, const char *list);
/* Whether one of the list, "git clone, docker run", stands in a text: its words in a row. */
bool phrase_in_any(const char *text, const char *list);

/* said.c: false: a character that is not for showing. */
bool clean_text(const char *text, size_t len, struct said *ret);
/* Known placeholders and aliases become marks. */
void marks_put(const struct basis *b, struct said *s);
/* What is shown: numbers filled in. NULL: no memory. */
const char *marks_fill(const struct said *s, struct arena *a);
/* Keys in the text: false: one was not sent. Calls for each that was. */
bool marks_keys(const struct basis *b, const struct said *s,
		void (*cited)(void *arg, const struct pack_evidence *e), void *arg);

/* Whether a placeholder or an alias is left that nobody sent: "{E99}", "<file-7>". */
bool marks_unknown(const char *plain);

/* statement.c: by key; NULL: was not sent. */
const struct pack_evidence *find_evidence(const struct pack *p, const char *key, size_t len);
const struct pack_finding *find_finding(const struct pack *p, const char *key, size_t len);
const struct pack_note *find_note(const struct pack *p, const char *key, size_t len);
const struct pack_action *find_action(const struct pack *p, const char *key, size_t len);
/* Whether a word with digits in it stands, just so, in what was sent and is ours. */
bool find_term(const struct pack *p, const char *term, size_t len);

/* forbidden.c: each true: it is that. text: a plain text. */
bool echo_in(const struct pack *p, const char *text);
bool command_in(const char *text);
bool markup_in(const struct pack *p, const char *text);
/* about NULL: the job */
bool severity_differs(const struct pack *p, const struct pack_finding *about, const char *text);
/* numbers.c: all of them are placeholders, whose values stay what they are. */
bool numbers_hold(const struct basis *b, const struct said *s);
/* How much of the text behind a placeholder is the unit that the value is shown with. */
size_t numbers_unit_again(const struct pack_evidence *e, const char *behind);

/*
 * split.c: the one way in which the object of an answer and its statements are found, for a stream
 * that is cut anywhere and for a whole answer. It reads no more of JSON than where strings, objects
 * and arrays begin and end; cJSON reads what it finds.
 */
enum { SPLIT_TEXT_MAX = 4 << 20, SPLIT_DEPTH_MAX = 32, SPLIT_STATEMENT_MAX = 64 * 1024 };

/* Where in all that came the object is, when it is whole. */
struct split_object {
	size_t begin, end;
	size_t others; /* things between the statements that are none */
};

/* false: it is not whole, or not there. */
bool llm_split_object(const struct llm_split *s, struct split_object *ret);

#endif
