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
/* clang-format off */
#define LLM_ARGS                                                                                   \
	{{"llm", OPT_LLM, NULL, 0,                                                                 \
	  "Add explanations by a language model; findings and numbers do not change", 0},          \
	 VALUE_NONE},                                                                              \
	{{"llm-dry-run", OPT_LLM_DRY_RUN, NULL, 0,                                                 \
	  "Print the request, byte for byte, without sending it", 0},                              \
	 VALUE_NONE},                                                                              \
	{{"llm-url", OPT_LLM_URL, "URL", 0, "Endpoint (default: $CACHEMON_LLM_URL)", 0},           \
	 VALUE_TEXT},                                                                              \
	{{"llm-model", OPT_LLM_MODEL, "NAME", 0, "Model (default: $CACHEMON_LLM_MODEL)", 0},       \
	 VALUE_TEXT},                                                                              \
	{{"llm-api", OPT_LLM_API, "openai|anthropic", 0,                                           \
	  "API of the endpoint (default: $CACHEMON_LLM_API, else guessed from the URL)", 0},                  \
	 VALUE_CHOICE},                                                                            \
	{{"llm-json", OPT_LLM_JSON, "schema|object|none", 0,                                       \
	  "How to request JSON, for servers without schemas (default: $CACHEMON_LLM_JSON, "        \
	  "else schema)", 0},                                                                      \
	 VALUE_CHOICE},                                                                            \
	{{"llm-key-file", OPT_LLM_KEY_FILE, "FILE", 0,                                             \
	  "File with the key, mode 0600 (default: $CACHEMON_LLM_KEY_FILE; or the key in "          \
	  "$CACHEMON_LLM_KEY)", 0},                                                                \
	 VALUE_FILE},                                                                              \
	{{"llm-ca", OPT_LLM_CA, "FILE", 0, "CA certificates to verify the endpoint", 0},           \
	 VALUE_FILE},                                                                              \
	{{"llm-cert", OPT_LLM_CERT, "FILE", 0, "Client certificate", 0},                           \
	 VALUE_FILE},                                                                              \
	{{"llm-cert-key", OPT_LLM_CERT_KEY, "FILE", 0, "Private key of the client certificate", 0}, \
	 VALUE_FILE},                                                                              \
	{{"llm-allow-http", OPT_LLM_HTTP, NULL, 0,                                                 \
	  "Allow http:// to other hosts (not encrypted)", 0},                                      \
	 VALUE_NONE},                                                                              \
	{{"llm-no-redact", OPT_LLM_NAMES, NULL, 0,                                                 \
	  "Send names of files, jobs, users and hosts unchanged instead of aliases", 0},           \
	 VALUE_NONE},                                                                              \
	{{"notes", OPT_LLM_NOTES, "DIR", 0,                                                        \
	  "Your own notes for the model to cite (default: $CACHEMON_NOTES, else the user's own)", 0}, \
	 VALUE_DIRECTORY}
/* clang-format on */

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
