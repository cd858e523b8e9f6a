/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/cmd/llm_report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cachemon/cmd/cmd.h"
#include "cachemon/cmd/usage.h"

error_t llm_report_parse(int key, char *arg, struct argp_state *state)
{
	struct llm_report_args *o = state->input;
	error_t ret = llm_args_option(&o->llm, key, arg, state);

	if (ret != ARGP_ERR_UNKNOWN)
		return ret;
	if (key == ARGP_KEY_END && o->llm.dry_run && (o->args.out_path || o->args.format_given))
		usage_error(state, "--llm-dry-run prints what would be sent and makes no report: "
				   "leave out -o and --format");
	ret = report_args_option(&o->args, key, arg, state);
	if (!ret && key == ARGP_KEY_END && o->llm.asked && o->args.report.format == REPORT_CSV)
		usage_error(state,
			    "--llm: CSV has no place for words; use text, md, html, json or yaml");
	return ret;
}

/* A report while its words are asked for. */
struct asked {
	const struct llm_report_args *o;
	struct llm_place place;
	struct errtext unusable; /* why there is no place: a line */
	struct wording wording;
	uint64_t shown; /* statements that came so far */
};

/* They come checked, one by one: how many, as progress; the report has them at its end. */
static void count(void *arg, const struct wording *w, const struct wording_statement *s)
{
	struct asked *a = arg;

	progress_at(a->o->args.report.progress, "statements of the model", ++a->shown, 0);
}

static void count_again(void *arg)
{
	struct asked *a = arg;

	a->shown = 0;
}

/* What the environment says of an endpoint is wrong. */
static int put_reason(struct asked *a, struct model *m, const char *reason, struct errtext *err)
{
	const struct model_job *job = model_main_job(m);
	struct wording *w = &a->wording;

	w->outcome = llm_outcome_names[LLM_NOT_CONFIGURED];
	w->job_id = job ? job->id : 0;
	w->redacted = !a->o->llm.names;
	w->skipped = arena_bytes(&w->arena, reason, strlen(reason)).data;
	if (!w->skipped)
		return errtext_set(err, -ENOMEM, "not enough memory");
	m->wording = w;
	cmd_say(reason);
	return 0;
}

/* A report_options.word. What fails here costs the words, not the report. */
static int put_words(void *arg, struct model *m, struct errtext *err)
{
	struct asked *a = arg;
	struct errtext why = {0};
	const char *line;
	int e;

	if (*a->unusable.text)
		return put_reason(a, m, a->unusable.text, err);
	a->place.how.progress = a->o->args.report.progress;
	if (a->o->args.report.progress) {
		a->place.how.on_statement = count;
		a->place.how.on_again = count_again;
		a->place.how.on_arg = a;
	}
	e = word_model(m, &a->place.how, &a->wording, &why);
	progress_over(a->o->args.report.progress);
	if (e == -ENOMEM)
		return errtext_set(err, e, "%s", why.text);
	if (e) {
		cmd_say(why.text);
		return 0;
	}
	m->wording = &a->wording;
	line = wording_line(&a->wording);
	if (line)
		cmd_say(line);
	llm_keep(&a->wording, &a->o->args, m->run.id);
	return 0;
}

static int show(void *arg, const struct invoker *as, struct errtext *err)
{
	struct asked *a = arg;
	int ret = llm_place_make(&a->o->llm, as, &a->place, &a->unusable);

	if (ret == -ENOMEM)
		return errtext_set(err, ret, "%s", a->unusable.text);
	ret = report_args_show_as(&a->o->args, as, err);
	wording_free(&a->wording);
	llm_place_free(&a->place);
	return ret;
}

static int show_body(void *arg, const struct invoker *as, struct errtext *err)
{
	struct asked *a = arg;
	int ret = llm_place_make(&a->o->llm, as, &a->place, err);

	a->place.how.progress = a->o->args.report.progress;
	if (!ret)
		ret = report_args_use(&a->o->args, as, llm_print_body, &a->place.how, err);
	llm_place_free(&a->place);
	return ret;
}

int llm_report_show(struct llm_report_args *args)
{
	struct asked a = {.o = args};

	if (!args->llm.asked)
		return report_args_show(&args->args);
	if (args->llm.dry_run)
		return report_args_run(&args->args, show_body, &a);
	args->args.report.word = put_words;
	args->args.report.word_arg = &a;
	return report_args_run(&args->args, show, &a);
}
