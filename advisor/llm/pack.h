/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a model is told of a run, and all that its answer may speak of: evidence, findings, notes
 * and actions, each with a key of its own. Owns the types; wording/pack_model.c fills them from a
 * report, prompt.c writes them down, check.c holds an answer against them. All strings are an
 * arena's, and hold aliases where names stood (redact.h).
 */
#ifndef LLM_PACK_H
#define LLM_PACK_H

#include "advisor/rules/finding.h"
#include "cachemon/base/arena.h"

/* A figure that may be cited. */
struct pack_evidence {
	const char *key;     /* "E1" */
	const char *metric;  /* as a report's JSON has it */
	const char *value;   /* a JSON number; other text when is_text; NULL: not measured */
	const char *unit;    /* "pages", "bytes", "ns", "s", "ratio", "kb", "count", "": none */
	const char *scope;   /* what it is of: "job", "<dir-1>" */
	const char *shown;   /* what its placeholder becomes: "81.2 %", "267 MiB" */
	const char *quality; /* "" exact; "estimated", "at least", "at most",
				"computed", "measured" */
	bool is_text;
};

/* A rule's finding. Severity, subject and gain are the rule's, whatever an answer says. */
struct pack_finding {
	const char *key; /* "F1": in the order of what they gain */
	const char *id;	 /* "prefetch-waste" */
	enum severity severity;
	double confidence;
	const char *title, *subject, *summary;
	size_t evidence, nr_evidence; /* evidence[evidence ...] are its own */
	const char *action;	      /* key of its action; NULL: there is none */
};

/* A note that was retrieved. */
struct pack_note {
	const char *key; /* "N1" */
	const char *id;
	const char *text; /* what of it is sent */
	bool of_user;	  /* from a directory of the user: cited, but no source of actions */
};

/* Something to do, in our words: an answer names its key. */
struct pack_action {
	const char *key;     /* "A1" */
	const char *note_id; /* whose action it is */
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
	const char **facts; /* of the machine and the run, a line each: "kernel 6.12, x86_64" */
	size_t nr_facts;
	const char *question; /* NULL: none was asked */
	/* What no answer may say again; NULL: not looked for. */
	const char *instructions; /* as they are sent */
	const char *canary;	  /* a word that stands there and nowhere else */
};

#endif
