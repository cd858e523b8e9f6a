/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/cmd/llm_args.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "advisor/llm/http/config.h"
#include "cachemon/access/paths.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/cmd/cmd.h"
#include "cachemon/cmd/usage.h"
#include "cachemon/wording/answer.h"

static error_t take_text(struct llm_args *o, int key, char *arg, struct argp_state *state)
{
	size_t i = (size_t)key - OPT_LLM_URL;

	if (key == OPT_LLM_NOTES)
		o->notes = usage_value(state, "--notes", arg);
	else if (i < LLM_TEXTS_NR)
		*(const char **)((char *)&o->config + llm_texts[i].offset) =
			usage_value(state, llm_texts[i].option, arg);
	else
		return ARGP_ERR_UNKNOWN;
	o->given = true;
	return 0;
}

/* Errors in the options themselves; the environment is checked later. */
static void check_options(const struct llm_args *o, struct argp_state *state)
{
	struct llm_config config;
	struct errtext err = {0};

	if (o->given && !o->asked)
		usage_error(
			state,
			"--notes and the options of a language model need --llm or --llm-dry-run");
	if (o->config.cert_key_file && !o->config.cert_file)
		usage_error(state, "--llm-cert-key needs --llm-cert");
	if (llm_config_make(&o->config, false, &config, &err))
		usage_error(state, "%s", err.text);
}

error_t llm_args_option(struct llm_args *o, int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case OPT_LLM_DRY_RUN:
		o->dry_run = true;
		o->asked = true;
		return 0;
	case OPT_LLM:
		o->asked = true;
		return 0;
	case OPT_LLM_HTTP:
		o->config.allow_http = o->given = true;
		return 0;
	case OPT_LLM_NAMES:
		o->names = o->given = true;
		return 0;
	case ARGP_KEY_END:
		check_options(o, state);
		return ARGP_ERR_UNKNOWN;
	default:
		return take_text(o, key, arg, state);
	}
}

/* --notes, $CACHEMON_NOTES, or the user's own directory if it exists. */
static int find_notes(const struct llm_args *o, const struct invoker *as, char **ret)
{
	const char *named = o->notes ? o->notes : getenv("CACHEMON_NOTES");

	if (named && *named) {
		*ret = strdup(named);
		return *ret ? 0 : -ENOMEM;
	}
	if (paths_user_config(as->home, getenv("XDG_CONFIG_HOME"), "notes", ret))
		return -ENOMEM;
	if (*ret && access(*ret, F_OK)) {
		free(*ret);
		*ret = NULL;
	}
	return 0;
}

static void print_problem(void *arg, const char *problem)
{
	cmd_say(problem);
}

void llm_args_keep(const struct llm_args *o, int64_t run_id)
{
	struct errtext said = {0};

	if (answer_keep(&o->wording, &o->args.report, run_id, &said))
		cmd_say(said.text);
}

static int print_body(void *arg, const struct model *m, struct errtext *err)
{
	const struct llm_args *o = arg;
	_cleanup_free_ char *body = NULL;
	char host[256] = "";
	size_t tokens = 0;
	int e = word_body(m, &o->how, &body, &tokens, err);

	if (e)
		return e;
	progress_over(o->how.progress);
	if (fputs(body, stdout) < 0 || fflush(stdout))
		return errtext_set(err, -errno, "cannot write the request: %m");
	/* Any part of a URL may contain a secret. */
	if (o->config.url)
		endpoint_host(o->config.url, host, sizeof(host));
	fprintf(stderr, "cachemon: not sent: %zu bytes, at most about %zu tokens, to %s\n",
		strlen(body), tokens, *host ? host : "no endpoint (see --llm-url)");
	return 0;
}

static int show(void *arg, const struct invoker *as, struct errtext *err)
{
	struct llm_args *o = arg;
	struct errtext unusable = {""};
	_cleanup_free_ char *notes = NULL;
	int e = llm_config_make(&o->config, true, &o->config, &unusable);

	if (e && o->use)
		return errtext_set(err, e, "%s", unusable.text);
	if (find_notes(o, as, &notes))
		return errtext_set(err, -ENOMEM, "not enough memory to look for notes");
	o->how = (struct word_how){
		.config = &o->config,
		.unusable = e ? unusable.text : NULL,
		.as = as,
		.notes_dir = notes,
		.question = o->question,
		.redact = !o->names,
		.on_problem = print_problem,
		.progress = o->args.report.progress,
	};
	e = o->use ? report_use(&o->args.report, o->use, o, err)
		   : report_args_show_report(&o->args, err);
	wording_free(&o->wording);
	return e ? e : o->status;
}

int llm_args_run(struct llm_args *o)
{
	if (o->dry_run)
		o->use = print_body;
	return report_args_run(&o->args, show, o);
}

error_t llm_report_parse(int key, char *arg, struct argp_state *state)
{
	struct llm_args *o = state->input;
	error_t ret = llm_args_option(o, key, arg, state);

	if (ret != ARGP_ERR_UNKNOWN)
		return ret;
	if (key == ARGP_KEY_END && o->dry_run && (o->args.report.out_path || o->args.format_given))
		usage_error(state,
			    "--llm-dry-run prints the request and no report: omit -o and --format");
	if (key == ARGP_KEY_ARG) {
		report_args_operand(&o->args, arg, state);
		return 0;
	}
	ret = report_args_option(&o->args, key, arg, state);
	if (!ret && key == ARGP_KEY_END && o->asked && o->args.report.format == REPORT_CSV)
		usage_error(state, "--llm does not support CSV; use text, md, html, json or yaml");
	if (!ret && key == ARGP_KEY_END && o->asked && !o->dry_run && o->args.node_job)
		usage_error(state,
			    "--llm stores the answer in a database: run 'cachemon jobs %s -o FILE' "
			    "and give --db FILE",
			    o->args.node_job);
	return ret;
}

/* A report_options.word. If it fails, the report has no model text but is still printed. */
static int put_words(void *arg, struct model *m, struct errtext *err)
{
	struct llm_args *o = arg;
	const char *line;
	int e = word_model(m, &o->how, &o->wording, err);

	if (e == -ENOMEM)
		return e;
	if (e) {
		cmd_say(err->text);
		return 0;
	}
	m->wording = &o->wording;
	line = o->how.unusable ? o->how.unusable : wording_line(&o->wording);
	if (line)
		cmd_say(line);
	llm_args_keep(o, m->run.id);
	return 0;
}

int llm_report_show(struct llm_args *o)
{
	if (!o->asked)
		return report_args_show(&o->args);
	if (!o->dry_run) {
		o->args.report.word = put_words;
		o->args.report.word_arg = o;
	}
	return llm_args_run(o);
}
