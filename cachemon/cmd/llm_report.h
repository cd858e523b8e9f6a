/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `advise --llm` and `report --llm`: a report with a model's words in it, and what is said of them
 * on stderr. Whatever becomes of the question, the report comes.
 */
#ifndef CMD_LLM_REPORT_H
#define CMD_LLM_REPORT_H

#include "cachemon/cmd/llm_args.h"

struct llm_report_args {
	struct report_args args; /* first: report_args_option() takes it */
	struct llm_args llm;
};

/* A parser of argp; its input is a struct llm_report_args. */
error_t llm_report_parse(int key, char *arg, struct argp_state *state);
/* Returns the exit status. */
int llm_report_show(struct llm_report_args *args);

#endif
