/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by the verbs that may query a language model: whether, which model and how; `advise --llm`
 * and `report --llm`, a report with a model's explanations, which is printed even if the query
 * fails. Owns those options, and the messages about the model on stderr.
 */
#ifndef CMD_LLM_ARGS_H
#define CMD_LLM_ARGS_H

#include <argp.h>

#include "advisor/llm/http/client.h"
#include "cachemon/cmd/report_args.h"
#include "cachemon/cmd/spec.h"
#include "cachemon/wording/word.h"

enum {
	OPT_LLM = 512,
	OPT_LLM_DRY_RUN,
	OPT_LLM_URL, /* and the other members of llm_texts */
	OPT_LLM_MODEL,
	OPT_LLM_API,
	OPT_LLM_JSON,
	OPT_LLM_KEY_FILE,
	OPT_LLM_CA,
	OPT_LLM_CERT,
	OPT_LLM_CERT_KEY,
	OPT_LLM_HTTP,
	OPT_LLM_NAMES,
	OPT_LLM_NOTES,
};

/* Rows of an option table. */
#define LLM_ARGS                                                                                   \
	OPTION("llm", OPT_LLM, NULL, VALUE_NONE,                                                   \
	       "Add explanations by a language model; findings and numbers do not change"),        \
		OPTION("llm-dry-run", OPT_LLM_DRY_RUN, NULL, VALUE_NONE,                           \
		       "Print the request, byte for byte, without sending it"),                    \
		OPTION("llm-url", OPT_LLM_URL, "URL", VALUE_TEXT,                                  \
		       "Endpoint (default: $CACHEMON_LLM_URL)"),                                   \
		OPTION("llm-model", OPT_LLM_MODEL, "NAME", VALUE_TEXT,                             \
		       "Model (default: $CACHEMON_LLM_MODEL)"),                                    \
		OPTION("llm-api", OPT_LLM_API, "openai|anthropic", VALUE_CHOICE,                   \
		       "API of the endpoint (default: $CACHEMON_LLM_API, else guessed from the "   \
		       "URL)"),                                                                    \
		OPTION("llm-json", OPT_LLM_JSON, "schema|object|none", VALUE_CHOICE,               \
		       "How to request JSON, for servers without schemas (default: "               \
		       "$CACHEMON_LLM_JSON, else schema)"),                                        \
		OPTION("llm-key-file", OPT_LLM_KEY_FILE, "FILE", VALUE_FILE,                       \
		       "File with the key, mode 0600 (default: $CACHEMON_LLM_KEY_FILE; or the "    \
		       "key in $CACHEMON_LLM_KEY)"),                                               \
		OPTION("llm-ca", OPT_LLM_CA, "FILE", VALUE_FILE,                                   \
		       "CA certificates to verify the endpoint"),                                  \
		OPTION("llm-cert", OPT_LLM_CERT, "FILE", VALUE_FILE, "Client certificate"),        \
		OPTION("llm-cert-key", OPT_LLM_CERT_KEY, "FILE", VALUE_FILE,                       \
		       "Private key of the client certificate"),                                   \
		OPTION("llm-allow-http", OPT_LLM_HTTP, NULL, VALUE_NONE,                           \
		       "Allow http:// to other hosts (not encrypted)"),                            \
		OPTION("llm-no-redact", OPT_LLM_NAMES, NULL, VALUE_NONE,                           \
		       "Send names of files, jobs, users and hosts unchanged instead of aliases"), \
		OPTION("notes", OPT_LLM_NOTES, "DIR", VALUE_DIRECTORY,                             \
		       "Your own notes for the model to cite (default: $CACHEMON_NOTES, else the " \
		       "user's own)")

struct llm_args {
	struct report_args args; /* first: report_args_option() handles it */
	bool asked;		 /* --llm, or an option that implies it */
	bool dry_run;
	bool names; /* unredacted */
	const char *question, *notes;
	struct llm_config config; /* from the options; during the run from the environment too */
	bool given;		  /* an option that requires asked */
	/* Makes the output of the run, with arg this; NULL: a report. 0 or -errno with a text. */
	int (*use)(void *arg, const struct model *m, struct errtext *err);
	struct word_how how;
	struct wording wording;
	int status; /* the answer is usable, if everything else went well */
};

/* ARGP_ERR_UNKNOWN: not one of these options. At ARGP_KEY_END checks their combination. */
error_t llm_args_option(struct llm_args *o, int key, char *arg, struct argp_state *state);

/* Queries the model with the invoker's environment, or prints what would be sent. Returns the
 * exit status. An error in the environment only costs the model's text. */
int llm_args_run(struct llm_args *o);
/* Saves question and answer; prints where, if not in the database. */
void llm_args_keep(const struct llm_args *o, int64_t run_id);

/* A report, for usage_parse() and afterwards: returns the exit status. */
error_t llm_report_parse(int key, char *arg, struct argp_state *state);
int llm_report_show(struct llm_args *o);

#endif
