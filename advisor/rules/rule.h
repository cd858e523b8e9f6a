/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A parsed rule and a parsed note: plain text and values, no database. Owns the types; all memory
 * belongs to an arena. rule_parse.c reads rules, note.c notes, rule_set.c whole directories.
 */
#ifndef RULE_H
#define RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cachemon/base/arena.h"
#include "cachemon/base/errtext.h"

/* A threshold. text is as written; value or text is bound. */
struct rule_param {
	const char *name;
	const char *text;
	bool is_integer;
	int64_t integer;
	double real;
	const char *unit;   /* "": none */
	const char *why;    /* "": not given */
	const char *set_by; /* "FILE:LINE" of a site's value; NULL: the rule's own */
	int line;
};

/* Words after a key of the front matter. */
struct rule_words {
	const char **word;
	size_t nr;
	int line;
};

/* How directly the fix of a finding acts on the cause: of findings with one cause, the most
 * direct one stays. */
enum rule_lever {
	LEVER_DIRECT,  /* one setting or call removes the cause */
	LEVER_CAUSE,   /* the rule names the cause, and its remedy is more work */
	LEVER_SYMPTOM, /* the rule names a symptom */
	LEVER_NR
};

/* When a rule runs; a later rule sees the findings of earlier ones. */
enum rule_order { ORDER_FIRST, ORDER_LATE, ORDER_LAST, ORDER_NR };

struct rule {
	const char *id, *title, *severity, *version;
	enum rule_lever lever;
	enum rule_order order;
	bool builtin;		    /* a built-in rule */
	struct rule_words counters; /* columns of v_job */
	struct rule_words tables;
	struct rule_words facts; /* VIEW.COLUMN */
	struct rule_param *params;
	size_t nr_params;
	const char *sql;  /* NULL: only thresholds for another file's rule */
	const char *file; /* for messages */
	int sql_line;	  /* line number of the first line of sql */
};

struct note_snippet {
	const char *language; /* "c", "python", "shell" */
	const char *code;     /* ends with a newline */
};

enum { NOTE_FINDINGS_MAX = 32 };

/* Rules whose findings the note helps with; the note's own rule comes first. */
struct note_findings {
	const char *text; /* as written; NULL: not given */
	const char **id;
	size_t nr;
};

/* Absent keys are NULL; a complete note has id, title, risk, undo and verify. */
struct note {
	const char *id, *title, *applies_to, *precondition, *facts, *keywords, *risk, *undo,
		*verify, *source;
	struct note_findings findings;
	const char *body;   /* Markdown, after the front matter, with the shared texts */
	const char *action; /* the key, else the first paragraph of "What to do", on one line */
	struct note_snippet *snippets;
	size_t nr_snippets;
	const char *file;
};

/*
 * file: name of the text in messages; its id must equal expected_id. 0, -EINVAL with "FILE:LINE:
 * what is wrong; what to do" in err, or -ENOMEM.
 */
int rule_parse(struct arena *a, const char *file, const char *expected_id, const char *text,
	       struct rule *ret, struct errtext *err);
int note_parse(struct arena *a, const char *file, const char *expected_id, const char *text,
	       struct note *ret, struct errtext *err);
/* For a user's note: needs only a title and a text, ignores keys of other programs, and takes
 * the given id, which must live as long. */
int note_parse_lenient(struct arena *a, const char *file, const char *id, const char *text,
		       struct note *ret, struct errtext *err);

/* "NAME = VALUE UNIT -- why", for a rule's own param and a site's. */
int rule_param_parse(struct arena *a, const char *file, int line, const char *text,
		     struct rule_param *ret, struct errtext *err);
/* NULL: the rule has no such parameter. */
struct rule_param *rule_param_find(const struct rule *rule, const char *name);
/* Replaces the value and unit of one parameter by the other's, but keeps its reason. */
int rule_param_override(struct arena *a, const struct rule *rule, const char *file,
			const struct rule_param *value, struct errtext *err);

#endif
