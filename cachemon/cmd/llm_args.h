/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the verbs that may ask a language model have in common: whether, whom and how. Owns those
 * options, and the reading of the environment behind them.
 */
#ifndef CMD_LLM_ARGS_H
#define CMD_LLM_ARGS_H

#include <argp.h>

#include "advisor/llm/http/config.h"
#include "cachemon/cmd/report_args.h"
#include "cachemon/cmd/spec.h"
#include "cachemon/wording/word.h"

enum {
	OPT_LLM = 512,
	OPT_LLM_DRY_RUN,
	OPT_LLM_URL,
	OPT_LLM_MODEL,
	OPT_LLM_API,
	OPT_LLM_JSON,
	OPT_LLM_KEY_FILE,
	OPT_LLM_CA,
	OPT_LLM_CERT,
	OPT_LLM_CERT_KEY,
	OPT_LLM_HTTP,
	OPT_LLM_NAMES,
	OPT_LLM_SAVE,
	OPT_LLM_NOTES,
};

/* Rows of a table of options: whether to ask is a verb's own matter. */
/* clang-format off */
#define LLM_ARGS_LLM                                                                               \
	{{"llm", OPT_LLM, NULL, 0,                                                                 \
	  "Let a language model word what was found; findings and numbers stay as they are", 0},   \
	 VALUE_NONE}
#define LLM_ARGS_DRY_RUN                                                                           \
	{{"llm-dry-run", OPT_LLM_DRY_RUN, NULL, 0,                                                 \
	  "Print what would be sent, byte for byte, and send nothing", 0},                         \
	 VALUE_NONE}
#define LLM_ARGS_WHOM                                                                              \
	{{"llm-url", OPT_LLM_URL, "URL", 0, "Endpoint (default: $CACHEMON_LLM_URL)", 0},           \
	 VALUE_TEXT},                                                                              \
	{{"llm-model", OPT_LLM_MODEL, "NAME", 0, "Model (default: $CACHEMON_LLM_MODEL)", 0},       \
	 VALUE_TEXT},                                                                              \
	{{"llm-api", OPT_LLM_API, "openai|anthropic", 0,                                           \
	  "Its API (default: $CACHEMON_LLM_API, else by the URL)", 0},                             \
	 VALUE_CHOICE},                                                                            \
	{{"llm-json", OPT_LLM_JSON, "schema|object|none", 0,                                       \
	  "How JSON is asked for, for servers without schemas (default: $CACHEMON_LLM_JSON, "      \
	  "else schema)", 0},                                                                      \
	 VALUE_CHOICE},                                                                            \
	{{"llm-key-file", OPT_LLM_KEY_FILE, "FILE", 0,                                             \
	  "File with the key, mode 0600 (default: $CACHEMON_LLM_KEY_FILE; or the key in "          \
	  "$CACHEMON_LLM_KEY)", 0},                                                                \
	 VALUE_FILE},                                                                              \
	{{"llm-ca", OPT_LLM_CA, "FILE", 0, "Certificates of the endpoint's authority", 0},         \
	 VALUE_FILE},                                                                              \
	{{"llm-cert", OPT_LLM_CERT, "FILE", 0, "Own certificate to show to the endpoint", 0},      \
	 VALUE_FILE},                                                                              \
	{{"llm-cert-key", OPT_LLM_CERT_KEY, "FILE", 0, "Private key of that certificate", 0},      \
	 VALUE_FILE},                                                                              \
	{{"llm-allow-http", OPT_LLM_HTTP, NULL, 0,                                                 \
	  "Also without encryption to another host than this one", 0},                             \
	 VALUE_NONE},                                                                              \
	{{"llm-no-redact", OPT_LLM_NAMES, NULL, 0,                                                 \
	  "Send names of files, jobs, users and hosts as they are, not aliases for them", 0},      \
	 VALUE_NONE},                                                                              \
	{{"llm-save", OPT_LLM_SAVE, "DIR", 0, "Keep requests and answers there", 0},               \
	 VALUE_DIRECTORY},                                                                         \
	{{"notes", OPT_LLM_NOTES, "DIR", 0,                                                        \
	  "Own notes for the model to cite (default: $CACHEMON_NOTES, else the user's own)", 0},   \
	 VALUE_DIRECTORY}
/* clang-format on */

struct llm_args {
	bool asked; /* --llm, or what implies it */
	bool dry_run;
	bool names; /* as they are */
	struct llm_given given;
	const char *notes;
	struct llm_config options;
	int first; /* an option that needs asked was given; 0: none */
};

/* ARGP_ERR_UNKNOWN: it is none of these. At ARGP_KEY_END checks that they go together. */
error_t llm_args_option(struct llm_args *o, int key, char *arg, struct argp_state *state);

/* The environment of the invoker, and what of it lives as long as a question. */
struct llm_place {
	struct llm_config config;
	struct word_how how;
	char *notes; /* owned */
};

/* 0, or -errno with a text. how has no listener yet. Free with llm_place_free(). */
int llm_place_make(const struct llm_args *o, const struct invoker *as, struct llm_place *ret,
		   struct errtext *err);
void llm_place_free(struct llm_place *p);

/* Keeps what was asked and answered; says where, when that is not the database. */
void llm_keep(const struct wording *w, const struct report_args *args, int64_t run_id);

/* For report_args_use(): prints the body that would be sent; arg: a struct word_how. */
int llm_print_body(void *arg, const struct model *m, struct errtext *err);

#endif
