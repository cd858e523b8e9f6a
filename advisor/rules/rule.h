/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A rule and a note as they were read: plain text and values, no database. Owns the types; all
 * memory is an arena's. rule_parse.c reads rules, note.c notes, rule_set.c whole directories.
 */
#ifndef RULE_H
#define RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cachemon/base/arena.h"
#include "cachemon/base/errtext.h"

/* A threshold. The text is as it was written; either is what is bound. */
struct rule_param {
	const char *name;
	const char *text;
	bool is_integer;
	int64_t integer;
	double real;
	const char *unit;   /* "": none */
	const char *why;    /* "": not said */
	const char *set_by; /* "FILE:LINE" of a site's value; NULL: the rule's own */
	int line;
};

/* Words after a key of the front matter. */
struct rule_words {
	const char **word;
	size_t nr;
	int line;
};

/* How near to the cause what a finding asks for is: of one cause the nearest finding stays. */
enum rule_lever {
	LEVER_DIRECT,  /* one setting or one call takes the cause away */
	LEVER_CAUSE,   /* what the rule names is the cause, and its remedy is more work */
	LEVER_SYMPTOM, /* the rule names what a cause leads to */
	LEVER_NR
};

extern const char *const lever_names[LEVER_NR];

/* When a rule runs; one that does not run first sees what those before it found. */
enum rule_order { ORDER_FIRST, ORDER_LATE, ORDER_LAST, ORDER_NR };


struct rule {
	const char *id, *title, *severity, *version;
	enum rule_lever lever;
	enum rule_order order;
	bool builtin;		    /* the program's own */
	struct rule_words counters; /* columns of v_job */
	struct rule_words tables;
	struct rule_words facts; /* VIEW.COLUMN */
	struct rule_param *params;
	size_t nr_params;
	const char *sql;  /* NULL: only thresholds for another file's rule */
	const char *file; /* for messages */
	int sql_line;	  /* of the first line of sql */
};

struct note_snippet {
	const char *language; /* "c", "python", "shell" */
	const char *code;     /* ends with a newline */
};

enum { NOTE_FINDINGS_MAX = 32 };

/* Findings that a note is of use for; the own one of a finding's note comes first. */
struct note_findings {
	const char *text; /* as it was written; NULL: not said */
	const char **id;
	size_t nr;
};

/* Keys that were not said are NULL; id, title, risk, undo and verify never are in a whole note. */
struct note {
	const char *id, *title, *applies_to, *precondition, *facts, *keywords, *risk, *undo,
		*verify, *source;
	struct note_findings findings;
	const char *body;   /* Markdown, after the front matter, with the shared texts */
	const char *action; /* the key; else the first paragraph of "What to do", on one line */
	struct note_snippet *snippets;
	size_t nr_snippets;
	const char *file;
};

/*
 * file names the text in messages; its id must be expected_id. 0, -EINVAL with "FILE:LINE: what is
 * wrong; what to do" in err, or -ENOMEM.
 */
int rule_parse(struct arena *a, const char *file, const char *expected_id, const char *text,
	       struct rule *ret, struct errtext *err);
int note_parse(struct arena *a, const char *file, const char *expected_id, const char *text,
	       struct note *ret, struct errtext *err);
/* A user's: only a title and a text are needed, keys of other programs are passed over, and its id
 * is the one that is given, which must live as long. */
int note_parse_lenient(struct arena *a, const char *file, const char *id, const char *text,
		       struct note *ret, struct errtext *err);

/* "NAME = VALUE UNIT -- why", for a rule's own param and a site's. */
int rule_param_parse(struct arena *a, const char *file, int line, const char *text,
		     struct rule_param *ret, struct errtext *err);
/* NULL: the rule has no such parameter. */
struct rule_param *rule_param_find(const struct rule *rule, const char *name);
/* The value and its unit of one replace those of the other, which keeps its reason. */
int rule_param_override(struct arena *a, const struct rule *rule, const char *file,
			const struct rule_param *value, struct errtext *err);

#endif
