/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The content of the prompt about a run, and everything that an answer may cite: evidence,
 * findings, notes and actions, each with a key. Owns the types; wording/pack_model.c fills them
 * from a report, prompt.c writes them, check.c checks answers against them. Strings belong to an
 * arena and hold aliases instead of names (redact.h).
 */
#ifndef LLM_PACK_H
#define LLM_PACK_H

#include "advisor/rules/finding.h"
#include "cachemon/base/arena.h"

/* A figure that may be cited. */
struct pack_evidence {
	const char *key;     /* "E1" */
	const char *metric;  /* as in a report's JSON */
	const char *value;   /* a JSON number; a text if is_text; NULL: not measured */
	const char *unit;    /* "pages", "bytes", "ns", "s", "ratio", "kb", "count", "": none */
	const char *scope;   /* its subject: "job", "<dir-1>" */
	const char *shown;   /* the text for its placeholder: "81.2 %", "267 MiB" */
	const char *quality; /* "" exact; "estimated", "at least", "at most",
				"computed", "measured" */
	bool is_text;
};

/* A rule's finding. An answer cannot change its severity, subject and gain. */
struct pack_finding {
	const char *key; /* "F1": in order of gain */
	const char *id;	 /* "prefetch-waste" */
	enum severity severity;
	double confidence;
	const char *title, *subject, *summary;
	size_t evidence, nr_evidence; /* its own evidence begins at evidence[evidence] */
	const char *action;	      /* key of its action; NULL: none */
};

/* A note that was retrieved. */
struct pack_note {
	const char *key; /* "N1" */
	const char *id;
	const char *text; /* the part to send */
	bool of_user;	  /* from the user's directory: cited, but never a source of actions */
};

/* An action, in fixed words: an answer names its key. */
struct pack_action {
	const char *key;     /* "A1" */
	const char *note_id; /* the finding or note that it belongs to */
	const char *text;
};

struct pack {
	struct arena arena;
	struct pack_evidence *evidence;
	size_t nr_evidence;
	struct pack_finding *findings;
	size_t nr_findings;
	struct pack_note *notes;
	size_t nr_notes;
	struct pack_action *actions;
	size_t nr_actions;
	const char **facts; /* of the machine and the run, one per line: "kernel 6.12, x86_64" */
	size_t nr_facts;
	const char *question; /* NULL: no question */
	/* Text that no answer may repeat; NULL: not checked. */
	const char *instructions; /* the instructions as sent */
	const char *canary;	  /* a unique word in the instructions */
};

#endif
