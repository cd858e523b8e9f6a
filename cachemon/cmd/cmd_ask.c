/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cachemon/cmd/cmd.h"
#include "cachemon/cmd/llm_args.h"
#include "cachemon/cmd/usage.h"
#include "cachemon/wording/answer.h"

enum { QUESTION_MAX = 2000 };

struct options {
	struct report_args args;
	struct llm_args llm;
	const char *question;
};

static void take_question(struct options *o, const char *arg, struct argp_state *state)
{
	if (o->question)
		usage_error(state, "one QUESTION at a time: put it into quotes");
	if (!*arg || strspn(arg, " \t\n") == strlen(arg))
		usage_error(state, "QUESTION is empty");
	if (strlen(arg) > QUESTION_MAX)
		usage_error(state, "QUESTION is longer than %d bytes", QUESTION_MAX);
	o->question = arg;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	error_t ret = llm_args_option(&o->llm, key, arg, state);

	if (ret != ARGP_ERR_UNKNOWN)
		return ret;
	if (key == ARGP_KEY_ARG) {
		take_question(o, arg, state);
		return 0;
	}
	if (key == ARGP_KEY_END && !o->question)
		usage_error(state, "no QUESTION: what do you want to know of the run?");
	return report_args_option(&o->args, key, arg, state);
}

/* Only statements that were checked are shown as they come, and only to somebody who reads along.
 */
static bool streams(const struct options *o)
{
	return !o->args.out_path && o->args.report.format == REPORT_TEXT && isatty(STDOUT_FILENO);
}

struct asking {
	const struct options *o;
	struct llm_place place;
	struct wording wording;
	struct answer_stream stream;
	int status;
};

static int put_answer(struct asking *a, const struct model *m, struct errtext *err)
{
	const struct answer_place to = {.format = a->o->args.report.format,
					.path = a->o->args.out_path};

	if (a->stream.begun)
		return answer_stream_end(&a->stream, &a->wording, err);
	return answer_write(m, &a->wording, &to, err);
}

static int ask(void *arg, const struct model *m, struct errtext *err)
{
	struct asking *a = arg;
	int e;

	a->place.how.question = a->o->question;
	a->place.how.progress = a->o->args.report.progress;
	if (streams(a->o))
		answer_stream_begin(&a->stream, m, &a->place.how);
	e = word_model(m, &a->place.how, &a->wording, err);
	if (e)
		return e;
	a->status = a->wording.skipped != NULL;
	if (a->wording.skipped && !a->stream.begun)
		cmd_say(a->wording.skipped);
	e = put_answer(a, m, err);
	llm_keep(&a->wording, &a->o->args, m->run.id);
	return e;
}

static int show(void *arg, const struct invoker *as, struct errtext *err)
{
	struct asking *a = arg;
	int ret = llm_place_make(&a->o->llm, as, &a->place, err);

	a->place.how.question = a->o->question;
	a->place.how.progress = a->o->args.report.progress;
	if (!ret && a->o->llm.dry_run)
		ret = report_args_use(&a->o->args, as, llm_print_body, &a->place.how, err);
	else if (!ret)
		ret = report_args_use(&a->o->args, as, ask, a, err);
	wording_free(&a->wording);
	llm_place_free(&a->place);
	return ret ? ret : a->status;
}

static const struct option_spec options[] = {
	REPORT_ARGS_DB,	    REPORT_ARGS_RUN,
	REPORT_ARGS_JOB,    REPORT_ARGS_FORMAT("text|md|html|json|yaml"),
	REPORT_ARGS_JSON,   REPORT_ARGS_RULES,
	REPORT_ARGS_OUTPUT, LLM_ARGS_LLM,
	LLM_ARGS_DRY_RUN,   LLM_ARGS_WHOM,
	OPTIONS_END,
};

static const struct example examples[] = {
	{"cachemon ask --llm-dry-run \"why is the second epoch slow?\"",
	 "What would be sent with this question; nothing is sent"},
	{"cachemon ask --run 2 \"does readahead help this job?\"",
	 "An answer from what run 2 measured, each statement with its evidence"},
	{0},
};

const struct verb_spec ask_spec = {
	.name = "ask",
	.help = "answer a question about a run, from what was measured, in a language model's "
		"words",
	.operands = "QUESTION",
	.operand = VALUE_TEXT,
	.examples = examples,
	.options = options,
	.notes =
		"Needs an endpoint: --llm-url and --llm-model, or the environment. Each statement "
		"of "
		"the answer is checked against the evidence that it cites; where none is left, the "
		"data does not say. Names of files, jobs, users and hosts are sent as aliases, in "
		"the question too.\n\n"
		"Exits with 1 when nobody answered. Root asks nobody; through sudo the user behind "
		"it does.",
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
	struct options o = {
		.args.report = {.run_id = REPORT_RUN_LAST, .files = REPORT_FILES_DEFAULT},
		.args.formats = &formats,
		.llm.asked = true,
	};
	struct asking a = {.o = &o};

	usage_parse(&ask_spec, parse_option, argc, argv, 0, &o);
	return report_args_run(&o.args, show, &a);
}
