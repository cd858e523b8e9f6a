/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "cachemon/cmd/cmd.h"
#include "cachemon/cmd/llm_args.h"
#include "cachemon/cmd/usage.h"
#include "cachemon/wording/answer.h"

enum { QUESTION_MAX = 2000 };

static void take_question(struct llm_args *o, const char *arg, struct argp_state *state)
{
	if (o->question)
		usage_error(state, "give one QUESTION, in quotes");
	if (strspn(arg, " \t\n") == strlen(arg))
		usage_error(state, "QUESTION is empty");
	if (strlen(arg) > QUESTION_MAX)
		usage_error(state, "QUESTION is longer than %d bytes", QUESTION_MAX);
	o->question = arg;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct llm_args *o = state->input;
	error_t ret = llm_args_option(o, key, arg, state);

	if (ret != ARGP_ERR_UNKNOWN)
		return ret;
	if (key == ARGP_KEY_ARG) {
		take_question(o, arg, state);
		return 0;
	}
	if (key == ARGP_KEY_END && !o->question)
		usage_error(state, "QUESTION is missing");
	return report_args_option(&o->args, key, arg, state);
}

static int ask_question(void *arg, const struct model *m, struct errtext *err)
{
	struct llm_args *o = arg;
	int e = word_model(m, &o->how, &o->wording, err);

	if (e)
		return e;
	o->status = o->wording.skipped != NULL;
	if (o->wording.skipped)
		cmd_say(o->wording.skipped);
	e = answer_write(m, &o->wording, &o->args.report, err);
	llm_args_keep(o, m->run.id);
	return e;
}

static const struct option_spec options[] = {
	REPORT_ARGS_DB,	    REPORT_ARGS_RUN,
	REPORT_ARGS_JOB,    REPORT_ARGS_FORMAT("text|md|html|json|yaml"),
	REPORT_ARGS_JSON,   REPORT_ARGS_RULES,
	REPORT_ARGS_OUTPUT, LLM_ARGS,
	OPTIONS_END,
};

static const struct example examples[] = {
	{"cachemon ask --llm-dry-run \"why is the second epoch slow?\"",
	 "Show the request for this question without sending it"},
	{"cachemon ask --run 2 \"does readahead help this job?\"",
	 "Answer from the measurements of run 2, with evidence for each statement"},
	{0},
};

const struct verb_spec ask_spec = {
	.name = "ask",
	.help = "ask a language model about a run, and check its answer against the measurements",
	.operands = "QUESTION",
	.operand = VALUE_TEXT,
	.examples = examples,
	.options = options,
	.notes = "Needs an endpoint: set --llm-url and --llm-model, or the environment variables. "
		 "Each statement of the answer is checked against the evidence that it cites. If "
		 "no statement passes, the answer is 'The data does not say.' Names of files, "
		 "jobs, users and hosts are sent as aliases, in the question too.\n\nExits with 1 "
		 "if there is no answer. Never contacts the network as root; under sudo it does so "
		 "as the invoking user.",
	.run = cmd_ask,
};

static bool has_format(enum report_format format)
{
	return format != REPORT_CSV;
}

int cmd_ask(int argc, char **argv)
{
	static const struct report_args_formats formats = {
		.has = has_format,
		.names = "text, md, html, json, yaml",
		.endings = ".txt, .md, .html, .json or .yaml",
	};
	struct llm_args o = {
		.args.report = {.run_id = REPORT_RUN_LAST, .files = REPORT_FILES_DEFAULT},
		.args.formats = &formats,
		.asked = true,
		.use = ask_question,
	};

	usage_parse(&ask_spec, parse_option, argc, argv, 0, &o);
	return llm_args_run(&o);
}
