/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/cmd/llm_args.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "advisor/llm/http/config.h"
#include "cachemon/cmd/cmd.h"
#include "cachemon/cmd/usage.h"
#include "cachemon/access/paths.h"
#include "cachemon/base/parse.h"
#include "cachemon/wording/keep.h"

static const char *filled(struct argp_state *state, const char *option, const char *arg)
{
	if (!*arg)
		usage_error(state, "%s needs a value that is not empty", option);
	return arg;
}

static void take_api(struct argp_state *state, const char *arg, struct llm_args *o)
{
	size_t index = 0;

	if (parse_enum(arg, llm_api_names, 2, &index))
		usage_error(state, "--llm-api: '%s' is not one of openai, anthropic", arg);
	o->options.api = (enum llm_api)index;
	o->given.api = true;
}

static void take_json(struct argp_state *state, const char *arg, struct llm_args *o)
{
	size_t index = 0;

	if (parse_enum(arg, llm_json_names, LLM_JSON_NR, &index))
		usage_error(state, "--llm-json: '%s' is not one of schema, object, none", arg);
	o->options.json = (enum llm_json)index;
	o->given.json = true;
}

/* Options with a value: where it goes. */
static const struct text_option {
	int key;
	const char *name;
	size_t offset;
} texts[] = {
	{OPT_LLM_URL, "--llm-url", offsetof(struct llm_args, options.url)},
	{OPT_LLM_MODEL, "--llm-model", offsetof(struct llm_args, options.model)},
	{OPT_LLM_KEY_FILE, "--llm-key-file", offsetof(struct llm_args, options.key_file)},
	{OPT_LLM_CA, "--llm-ca", offsetof(struct llm_args, options.ca_file)},
	{OPT_LLM_CERT, "--llm-cert", offsetof(struct llm_args, options.cert_file)},
	{OPT_LLM_CERT_KEY, "--llm-cert-key", offsetof(struct llm_args, options.cert_key_file)},
	{OPT_LLM_SAVE, "--llm-save", offsetof(struct llm_args, options.save_dir)},
	{OPT_LLM_NOTES, "--notes", offsetof(struct llm_args, notes)},
};

static const struct text_option *text_of(int key)
{
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (texts[i].key == key)
			return &texts[i];
	return NULL;
}

static error_t take(struct llm_args *o, int key, char *arg, struct argp_state *state)
{
	const struct text_option *t = text_of(key);

	if (t) {
		*(const char **)((char *)o + t->offset) = filled(state, t->name, arg);
		return 0;
	}
	switch (key) {
	case OPT_LLM_API:
		take_api(state, arg, o);
		return 0;
	case OPT_LLM_JSON:
		take_json(state, arg, o);
		return 0;
	case OPT_LLM_HTTP:
		o->options.allow_http = true;
		return 0;
	case OPT_LLM_NAMES:
		o->names = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const char *no_variable(void *arg, const char *name)
{
	return NULL;
}

/* What is wrong with the options themselves: the environment is looked at later. */
static void check_options(const struct llm_args *o, struct argp_state *state)
{
	struct llm_config config;
	struct errtext err = {0};

	if (o->first && !o->asked)
		usage_error(state, "options of a language model and --notes need --llm or "
				   "--llm-dry-run");
	if (o->options.cert_key_file && !o->options.cert_file)
		usage_error(state, "--llm-cert-key needs --llm-cert");
	if (llm_config_make(&o->options, o->given, no_variable, NULL, &config, &err))
		usage_error(state, "%s", err.text);
}

error_t llm_args_option(struct llm_args *o, int key, char *arg, struct argp_state *state)
{
	error_t ret = 0;

	switch (key) {
	case OPT_LLM:
		o->asked = true;
		return 0;
	case OPT_LLM_DRY_RUN:
		o->asked = true;
		o->dry_run = true;
		return 0;
	case ARGP_KEY_END:
		check_options(o, state);
		return ARGP_ERR_UNKNOWN;
	default:
		ret = take(o, key, arg, state);
		if (!ret)
			o->first = key;
		return ret;
	}
}

static const char *variable(void *arg, const char *name)
{
	return getenv(name);
}

/* --notes, $CACHEMON_NOTES, or the user's own where there is such a directory. */
static int find_notes(const struct llm_args *o, const struct invoker *as, struct llm_place *p)
{
	const char *named = o->notes ? o->notes : getenv("CACHEMON_NOTES");

	if (named && *named) {
		p->notes = strdup(named);
		return p->notes ? 0 : -ENOMEM;
	}
	if (paths_user_config(as->home, getenv("XDG_CONFIG_HOME"), "notes", &p->notes))
		return -ENOMEM;
	if (p->notes && access(p->notes, F_OK)) {
		free(p->notes);
		p->notes = NULL;
	}
	return 0;
}

static void print_problem(void *arg, const char *problem)
{
	cmd_say(problem);
}

void llm_keep(const struct wording *w, const struct report_args *args, int64_t run_id)
{
	const struct keep_place place = {args->report.db, run_id, args->out_path};
	struct errtext said = {0};

	if (wording_keep(w, &place, &said))
		cmd_say(said.text);
}

int llm_place_make(const struct llm_args *o, const struct invoker *as, struct llm_place *ret,
		   struct errtext *err)
{
	struct llm_place p = {0};
	int e = llm_config_make(&o->options, o->given, variable, NULL, &p.config, err);

	if (!e && find_notes(o, as, &p))
		e = errtext_set(err, -ENOMEM, "not enough memory to look for notes");
	if (e)
		return e;
	p.how = (struct word_how){
		.as = as,
		.notes_dir = p.notes,
		.redact = !o->names,
		.on_problem = print_problem,
	};
	*ret = p;
	/* Of the place where it stays. */
	ret->how.config = &ret->config;
	return 0;
}

void llm_place_free(struct llm_place *p)
{
	free(p->notes);
	*p = (struct llm_place){0};
}

int llm_print_body(void *arg, const struct model *m, struct errtext *err)
{
	const struct word_how *how = arg;
	struct word_body body;
	char host[256] = "";
	int e = word_body(m, how, &body, err);

	if (e)
		return e;
	progress_over(how->progress);
	if (fwrite(body.body, 1, body.len, stdout) != body.len || fflush(stdout))
		e = errtext_set(err, -errno, "cannot write what would be sent: %m");
	free(body.body);
	if (e)
		return e;
	/* All of a URL may hold a secret. */
	if (how->config->url)
		endpoint_host(how->config->url, host, sizeof(host));
	fprintf(stderr, "cachemon: not sent: %zu bytes, about %zu tokens at most, to %s\n",
		body.len, body.tokens, *host ? host : "no endpoint (see --llm-url)");
	return 0;
}
