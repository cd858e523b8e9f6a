/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What of a model's answer may be shown. The answer is a JSON object of statements
 * (prompts/reply.schema.json); each is kept whole or dropped whole, for one reason that is counted.
 * Numbers are placeholders that are filled here. Owns the checks and their reasons: pure.
 */
#ifndef LLM_CHECK_H
#define LLM_CHECK_H

#include "advisor/llm/pack.h"
#include "advisor/llm/redact.h"
#include "cachemon/base/errtext.h"

enum drop_reason {
	DROP_SHAPE,	  /* not an object of the schema's keys and types */
	DROP_UNKNOWN_ID,  /* cites what was not sent */
	DROP_NO_EVIDENCE, /* cites nothing that was measured */
	DROP_NUMBER,	  /* a number, in digits or words, that is no placeholder */
	DROP_MARKUP,	  /* HTML, Markdown, links, addresses */
	DROP_COMMAND,	  /* something to be typed into a shell */
	DROP_CHARACTERS,  /* control characters, other scripts' digits, marks of direction */
	DROP_LENGTH,	  /* empty, or longer than STATEMENT_MAX */
	DROP_ECHO,	  /* says the prompt again, or speaks of it */
	DROP_SEVERITY,	  /* says how grave it is otherwise than the rule does, or plays it down */
	DROP_TOO_MANY,	  /* behind the STATEMENTS_MAX first */
	DROP_NR
};

extern const struct drop_text {
	const char *name; /* "unknown_id": for JSON */
	const char *text; /* "cites what was not sent" */
} drop_reasons[DROP_NR];

enum { STATEMENTS_MAX = 64, STATEMENT_MAX = 600 /* bytes */ };

/* confidence of a statement, as the model has it; a rule's is its own. */
enum llm_confidence { LLM_LOW, LLM_MEDIUM, LLM_HIGH };

struct llm_statement {
	const struct pack_finding *about; /* NULL: the job as a whole */
	const char *text; /* numbers filled in; aliases still stand (redact_restore) */
	const struct pack_evidence **evidence; /* at least one; those of placeholders too */
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
	/* All findings of the pack: by severity, inside one severity as the answer ranks them,
	 * those that it leaves out behind the others. */
	const struct pack_finding **ranking;
	size_t nr_ranking;
	bool answered; /* the answer's own "answered"; false: the data does not say */
};

/*
 * reply: the text of the answer: the object, also inside of fences, behind <think>...</think>,
 * among other words or inside of another object; the first one that has "statements". pack outlives
 * ret; names may be NULL: no aliases. 0; -EBADMSG with a text: no such object in it (nothing of it
 * may be shown); -ENOMEM.
 */
int llm_check(const struct pack *pack, const struct redact *names, const char *reply, size_t len,
	      struct llm_checked *ret, struct errtext *err);
void llm_checked_free(struct llm_checked *c);

#endif
