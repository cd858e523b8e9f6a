/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decides what of a model's answer may be shown. The answer is a JSON object of statements
 * (prompts/reply.schema.json); each is kept or dropped as a whole, for one reason, and the reasons
 * are counted. Numbers are placeholders, which are filled in here. Owns the checks and their
 * reasons. Pure.
 */
#ifndef LLM_CHECK_H
#define LLM_CHECK_H

#include "advisor/llm/pack.h"
#include "advisor/llm/redact.h"
#include "cachemon/base/errtext.h"

/* The name in JSON, and the text for people. */
#define DROP_REASONS(X)                                                                            \
	X(SHAPE, "shape", "does not follow the schema")                                            \
	X(UNKNOWN_ID, "unknown_id", "cites what was not sent")                                     \
	X(NO_EVIDENCE, "no_evidence", "cites nothing that was measured")                           \
	X(NUMBER, "number", "states a number outside a placeholder")                               \
	X(MARKUP, "markup", "contains markup, a link or an address")                               \
	X(COMMAND, "command", "contains a command")                                                \
	X(CHARACTERS, "characters", "contains characters that cannot be shown")                    \
	X(LENGTH, "length", "is empty or too long")                                                \
	X(ECHO, "echo", "repeats the instructions or speaks of them")                              \
	X(SEVERITY, "severity", "contradicts the severity of the rule")                            \
	X(TOO_MANY, "too_many", "exceeds the limit of 64 statements")

#define X(id, name, text) DROP_##id,
enum drop_reason { DROP_REASONS(X) DROP_NR };
#undef X

extern const struct drop_text {
	const char *name, *text;
} drop_reasons[DROP_NR];

enum { STATEMENTS_MAX = 64, STATEMENT_MAX = 600 /* bytes */ };

/* A model's confidence in a statement; a rule's confidence is separate. */
enum llm_confidence { LLM_LOW, LLM_MEDIUM, LLM_HIGH };
extern const char *const llm_confidence_names[LLM_HIGH + 1];

struct llm_statement {
	const struct pack_finding *about;      /* NULL: the job as a whole */
	const char *text;		       /* with numbers; aliases remain (redact_restore) */
	const struct pack_evidence **evidence; /* at least one, placeholders included */
	size_t nr_evidence;
	const struct pack_note **notes;
	size_t nr_notes;
	const struct pack_action *action; /* NULL: none */
	enum llm_confidence confidence;
};

struct llm_checked {
	struct arena arena;
	struct llm_statement *statements; /* in the answer's order */
	size_t nr_statements;
	size_t dropped[DROP_NR];
	/* All findings of the pack, sorted by severity, then by the answer's rank. Findings that
	 * the answer leaves out come last of their severity. */
	const struct pack_finding **ranking;
	size_t nr_ranking;
	bool answered; /* the answer's "answered"; false: the data does not answer the question */
};

/*
 * reply: the text of the answer. The object may be in fences, after <think>...</think>, among other
 * words or inside another object; the first object with "statements" counts. pack must outlive ret.
 * names NULL: no aliases. 0; -EBADMSG with a text: no such object, and nothing may be shown;
 * -ENOMEM.
 */
int llm_check(const struct pack *pack, const struct redact *names, const char *reply, size_t len,
	      struct llm_checked *ret, struct errtext *err);
void llm_checked_free(struct llm_checked *c);

#endif
