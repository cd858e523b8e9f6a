/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/wire/config.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "advisor/wire/endpoint.h"
#include "cachemon/base/parse.h"

struct source {
	config_variable variable;
	void *arg;
};

/* One that is set to nothing is not set. */
static const char *get(const struct source *s, const char *name)
{
	const char *value = s->variable(s->arg, name);

	return value && *value ? value : NULL;
}

static const char *either(const char *option, const struct source *s, const char *name)
{
	return option && *option ? option : get(s, name);
}

static int choose_api(bool given, const struct source *s, struct llm_config *c, struct errtext *err)
{
	const char *name = get(s, "CACHEMON_LLM_API");
	size_t index = 0;

	if (given)
		return 0;
	if (name && parse_enum(name, llm_api_names, 2, &index))
		return errtext_set(err, -EINVAL,
				   "CACHEMON_LLM_API is '%.40s': it is openai or anthropic", name);
	c->api = name ? (enum llm_api)index : c->url ? endpoint_guess(c->url) : LLM_OPENAI;
	return 0;
}

static int choose_json(bool given, const struct source *s, struct llm_config *c,
		       struct errtext *err)
{
	const char *name = get(s, "CACHEMON_LLM_JSON");
	size_t index = 0;

	if (given)
		return 0;
	if (name && parse_enum(name, llm_json_names, LLM_JSON_NR, &index))
		return errtext_set(err, -EINVAL,
				   "CACHEMON_LLM_JSON is '%.40s': it is schema, object or none",
				   name);
	c->json = (enum llm_json)index;
	return 0;
}

/* A vendor's key goes to that vendor only, and never in the clear. */
static const char *vendor_key(const struct endpoint *e, const struct source *s)
{
	static const struct {
		const char *host, *name;
	} vendors[] = {
		{"api.openai.com", "OPENAI_API_KEY"},
		{"api.anthropic.com", "ANTHROPIC_API_KEY"},
	};

	for (size_t i = 0; i < sizeof(vendors) / sizeof(vendors[0]); i++)
		if (!e->plain && !strcasecmp(e->name, vendors[i].host) && get(s, vendors[i].name))
			return vendors[i].name;
	return NULL;
}

static void choose_key(const struct llm_config *options, const struct source *s,
		       const struct endpoint *e, struct llm_config *c)
{
	static const char own[] = "CACHEMON_LLM_KEY";

	c->key_env = c->key_file = NULL;
	if (options->key_file && *options->key_file)
		c->key_file = options->key_file;
	else if (options->key_env)
		c->key_env = options->key_env;
	else if (get(s, own))
		c->key_env = own;
	else
		c->key_file = get(s, "CACHEMON_LLM_KEY_FILE");
	if (!c->key_env && !c->key_file && e->url)
		c->key_env = vendor_key(e, s);
}

int llm_config_make(const struct llm_config *options, struct llm_given given,
		    config_variable variable, void *arg, struct llm_config *ret,
		    struct errtext *err)
{
	const struct source s = {variable, arg};
	struct llm_config c = *options;
	struct endpoint e = {0};
	int r;

	c.url = either(options->url, &s, "CACHEMON_LLM_URL");
	c.model = either(options->model, &s, "CACHEMON_LLM_MODEL");
	c.ca_file = either(options->ca_file, &s, "CACHEMON_LLM_CA");
	c.cert_file = either(options->cert_file, &s, "CACHEMON_LLM_CERT");
	c.cert_key_file = either(options->cert_key_file, &s, "CACHEMON_LLM_CERT_KEY");
	r = choose_api(given.api, &s, &c, err);
	if (!r)
		r = choose_json(given.json, &s, &c, err);
	if (!r && c.url)
		r = endpoint_make(c.url, c.api, &e, err);
	if (r)
		return r;
	choose_key(options, &s, &e, &c);
	endpoint_free(&e);
	*ret = c;
	return 0;
}
