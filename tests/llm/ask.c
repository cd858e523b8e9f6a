/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * llm_ask [OPTION]...: makes one query and prints its result as JSON. The configuration is from the
 * environment, as in cachemon itself, and from options.
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/llm/http/client.h"
#include "advisor/llm/http/config.h"
#include "advisor/llm/http/wire.h"
#include "cachemon/access/invoker.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/base/file.h"
#include "cachemon/base/parse.h"

enum { TEXT_MAX = 1 << 20, MILLION = 1000000 };

struct options {
	struct llm_config config;
	struct llm_prompt prompt;
	bool body_only;
	bool keep_rights; /* does not become the invoker first */
	char *user;	  /* of a file */
};

static const char usage[] =
	"usage: llm_ask [--url URL] [--model NAME] [--api openai|anthropic] [--json FORM]\n"
	"               [--key-file FILE]\n"
	"               [--ca FILE] [--cert FILE] [--cert-key FILE] [--allow-http]\n"
	"               [--limit MS] [--stall MS] [--body] [--keep-rights]\n"
	"               [--system TEXT]\n"
	"               [--user TEXT | --user-file FILE] [--schema JSON] [--max-tokens N]\n";

static const struct option longs[] = {
	{"json", 1, NULL, 'j'},
	{"url", 1, NULL, 'u'},
	{"model", 1, NULL, 'm'},
	{"api", 1, NULL, 'a'},
	{"key-file", 1, NULL, 'k'},
	{"ca", 1, NULL, 'c'},
	{"cert", 1, NULL, 'e'},
	{"cert-key", 1, NULL, 'y'},
	{"allow-http", 0, NULL, 'h'},
	{"limit", 1, NULL, 'l'},
	{"stall", 1, NULL, 'g'},
	{"body", 0, NULL, 'b'},
	{"keep-rights", 0, NULL, 'K'},
	{"system", 1, NULL, 'S'},
	{"user", 1, NULL, 'U'},
	{"user-file", 1, NULL, 'F'},
	{"schema", 1, NULL, 'J'},
	{"max-tokens", 1, NULL, 'n'},
	{NULL, 0, NULL, 0},
};

static void fail(const char *text)
{
	fprintf(stderr, "%s\n", text);
	exit(2);
}

static uint64_t number(const char *text)
{
	uint64_t n = 0;

	if (parse_u64(text, &n))
		fail("llm_ask: no number");
	return n;
}

static void take_more(struct options *o, int option)
{
	size_t len = 0;

	switch (option) {
	case 'S':
		o->prompt.system = optarg;
		break;
	case 'U':
		o->prompt.user = optarg;
		break;
	case 'F':
		if (file_read(AT_FDCWD, optarg, TEXT_MAX, &o->user, &len))
			fail("llm_ask: cannot read the file");
		o->prompt.user = o->user;
		break;
	case 'J':
		o->prompt.schema = optarg;
		break;
	case 'n':
		o->prompt.max_tokens = (unsigned int)number(optarg);
		break;
	default:
		fail(usage);
	}
}

static void take(struct options *o, int option)
{
	struct llm_config *c = &o->config;
	const char **text[] = {
		['u'] = &c->url,      ['m'] = &c->model,     ['k'] = &c->key_file,
		['c'] = &c->ca_file,  ['e'] = &c->cert_file, ['y'] = &c->cert_key_file,
		['a'] = &c->api_name, ['j'] = &c->json_name,
	};

	if (option > 0 && (size_t)option < sizeof(text) / sizeof(text[0]) && text[option])
		*text[option] = optarg;
	else if (option == 'h')
		c->allow_http = true;
	else if (option == 'l')
		c->limit_ns = number(optarg) * MILLION;
	else if (option == 'g')
		c->stall_ns = number(optarg) * MILLION;
	else if (option == 'b')
		o->body_only = true;
	else if (option == 'K')
		o->keep_rights = true;
	else
		take_more(o, option);
}

static void print(const struct llm_answer *a)
{
	cJSON *out = cJSON_CreateObject();
	char *text;

	cJSON_AddStringToObject(out, "outcome", llm_outcome_names[a->outcome]);
	cJSON_AddStringToObject(out, "reason", a->reason);
	if (a->text)
		cJSON_AddStringToObject(out, "text", a->text);
	else
		cJSON_AddNullToObject(out, "text");
	cJSON_AddStringToObject(out, "host", a->host);
	cJSON_AddStringToObject(out, "model", a->model);
	cJSON_AddNumberToObject(out, "tokens_in", (double)a->tokens_in);
	cJSON_AddNumberToObject(out, "tokens_out", (double)a->tokens_out);
	cJSON_AddNumberToObject(out, "attempts", a->attempts);
	cJSON_AddNumberToObject(out, "duration_ms", (double)(a->duration_ns / MILLION));
	cJSON_AddStringToObject(out, "warning", a->warning);
	cJSON_AddBoolToObject(out, "too_long", a->too_long);
	text = cJSON_PrintUnformatted(out);
	puts(text);
	free(text);
	cJSON_Delete(out);
}

static int ask(const struct options *o, struct errtext *err)
{
	struct llm_config config;
	struct llm_answer answer;
	int r = llm_config_make(&o->config, true, &config, err);

	if (!r && !o->keep_rights)
		r = invoker_become(err);
	if (!r && o->body_only) {
		_cleanup_free_ char *body = NULL;

		r = wire_request(&config, &o->prompt, false, &body);
		if (!r)
			fputs(body, stdout);
	} else if (!r) {
		llm_ask(&config, &o->prompt, &answer);
		print(&answer);
		llm_answer_free(&answer);
	}
	return r;
}

int main(int argc, char **argv)
{
	struct options o = {
		.prompt = {.system = "Answer in JSON.",
			   .user = "What is to be done?",
			   .schema_name = "answer",
			   .schema = "{\"type\":\"object\",\"properties\":{\"text\":{\"type\":"
				     "\"string\"}},\"required\":[\"text\"],"
				     "\"additionalProperties\":false}",
			   .max_tokens = 1500},
	};
	struct errtext err = {0};
	int option, r;

	while ((option = getopt_long(argc, argv, "", longs, NULL)) != -1)
		take(&o, option);
	r = ask(&o, &err);
	free(o.user);
	if (r)
		fprintf(stderr, "%s\n", err.text[0] ? err.text : strerror(-r));
	return r != 0;
}
