/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/llm/http/wire.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/cleanup.h"
#include "cachemon/base/escape.h"
#include "cachemon/base/text_builder.h"

static void cleanup_json(cJSON **json)
{
	cJSON_Delete(*json);
}

#define _cleanup_json_ _cleanup_(cleanup_json)

/* Parses the bytes as exactly one JSON text. NULL: they are not. */
static cJSON *parse_json(const char *bytes, size_t len)
{
	const char *end = NULL;
	cJSON *root = len ? cJSON_ParseWithLengthOpts(bytes, len, &end, false) : NULL;

	while (root && end < bytes + len && *end && strchr(" \t\r\n", *end))
		end++;
	if (!root || end == bytes + len)
		return root;
	cJSON_Delete(root);
	return NULL;
}

/* cJSON writes bytes unchanged. */
static bool add_text(cJSON *object, const char *name, const char *text)
{
	struct text_builder b;
	FILE *out = text_begin(&b);
	_cleanup_free_ char *clean = NULL;

	if (out)
		escape_data(out, text, strlen(text));
	clean = text_end(&b);
	return clean && cJSON_AddStringToObject(object, name, clean);
}

static bool add_message(cJSON *messages, const char *role, const char *text)
{
	cJSON *message = cJSON_CreateObject();

	if (!cJSON_AddItemToArray(messages, message)) {
		cJSON_Delete(message);
		return false;
	}
	return cJSON_AddStringToObject(message, "role", role) && add_text(message, "content", text);
}

/* How the model is made to answer in JSON. Anthropic's API supports a schema or nothing. */
static bool add_format(cJSON *root, const struct llm_config *config,
		       const struct llm_prompt *prompt)
{
	bool openai = config->api == LLM_OPENAI;
	cJSON *format;

	if (config->json == LLM_JSON_NONE || (!openai && config->json != LLM_JSON_SCHEMA))
		return true;
	if (!openai)
		root = cJSON_AddObjectToObject(root, "output_config");
	format = cJSON_AddObjectToObject(root, openai ? "response_format" : "format");
	if (config->json == LLM_JSON_OBJECT)
		return cJSON_AddStringToObject(format, "type", "json_object");
	if (!cJSON_AddStringToObject(format, "type", "json_schema"))
		return false;
	if (openai) {
		format = cJSON_AddObjectToObject(format, "json_schema");
		if (!cJSON_AddStringToObject(format, "name", prompt->schema_name) ||
		    !cJSON_AddTrueToObject(format, "strict"))
			return false;
	}
	return cJSON_AddRawToObject(format, "schema", prompt->schema);
}

static bool fill_request(cJSON *root, const struct llm_config *config,
			 const struct llm_prompt *prompt, bool completion_tokens)
{
	bool openai = config->api == LLM_OPENAI, told = config->json == LLM_JSON_SCHEMA;
	const char *limit = completion_tokens ? "max_completion_tokens" : "max_tokens";
	_cleanup_free_ char *system = NULL;
	cJSON *messages;

	text_print(&system, "%s%s%s", prompt->system,
		   told ? ""
			: "\n\nAnswer with one JSON object and nothing else. Its JSON schema:\n",
		   told ? "" : prompt->schema);
	if (!system || !add_text(root, "model", config->model ?: ""))
		return false;
	if (!openai && (!cJSON_AddNumberToObject(root, limit, prompt->max_tokens) ||
			!add_text(root, "system", system)))
		return false;
	messages = cJSON_AddArrayToObject(root, "messages");
	return messages && (!openai || add_message(messages, "system", system)) &&
	       add_message(messages, "user", prompt->user) &&
	       (!openai || cJSON_AddNumberToObject(root, limit, prompt->max_tokens)) &&
	       cJSON_AddFalseToObject(root, "stream") && add_format(root, config, prompt);
}

int wire_request(const struct llm_config *config, const struct llm_prompt *prompt,
		 bool completion_tokens, char **ret_body)
{
	_cleanup_json_ cJSON *root = cJSON_CreateObject();
	bool filled = root && fill_request(root, config, prompt, completion_tokens);

	*ret_body = filled ? cJSON_PrintUnformatted(root) : NULL;
	return *ret_body ? 0 : -ENOMEM;
}

/* Field names and words in the replies of the two APIs. */
static const struct dialect {
	const char *list; /* the field that identifies a reply of the API */
	const char *tokens_in, *tokens_out, *end, *stop, *length, *refusal;
} dialects[] = {
	[LLM_OPENAI] = {"choices", "prompt_tokens", "completion_tokens", "finish_reason", "stop",
			"length", "content_filter"},
	[LLM_ANTHROPIC] = {"content", "input_tokens", "output_tokens", "stop_reason", "end_turn",
			   "max_tokens", "refusal"},
};

static const cJSON *member_of(const cJSON *object, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(object, name);
}

static const char *text_of(const cJSON *object, const char *name)
{
	return cJSON_GetStringValue(member_of(object, name));
}

/* A missing field, or one of another type, leaves the value unchanged. */
static void copy_text(char *to, size_t size, const cJSON *object, const char *name)
{
	const char *text = text_of(object, name);

	if (text)
		snprintf(to, size, "%s", text);
}

static void copy_count(int64_t *to, const cJSON *object, const char *name)
{
	const cJSON *item = member_of(object, name);

	/* also excludes NaN */
	if (cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble < 1e15)
		*to = (int64_t)item->valuedouble;
}

/* "error" is an object or a text, or its fields are at the top level. */
static bool error_of(const cJSON *object, struct wire_error *ret)
{
	const cJSON *inner = member_of(object, "error");
	const cJSON *from = cJSON_IsObject(inner) ? inner : object;
	struct wire_error e = {0};
	int64_t code = -1;

	if (!cJSON_IsObject(inner) && !cJSON_IsString(inner) && !text_of(object, "message") &&
	    !text_of(object, "detail"))
		return false;
	/* The last one present counts. */
	copy_text(e.message, sizeof(e.message), object, "error");
	copy_text(e.message, sizeof(e.message), from, "detail");
	copy_text(e.message, sizeof(e.message), from, "message");
	copy_text(e.type, sizeof(e.type), from, "type");
	copy_text(e.param, sizeof(e.param), from, "param");
	copy_text(e.code, sizeof(e.code), from, "code");
	copy_count(&code, from, "code");
	if (code >= 0)
		snprintf(e.code, sizeof(e.code), "%" PRId64, code);
	if (sscanf(e.code, "%3d", &e.status) != 1 || e.status < 400 || e.status > 599)
		e.status = 0;
	*ret = e;
	return true;
}

/* content is a text, null, or a list of parts. A model's thoughts are in other fields and in
 * other types of parts. */
static int take_content(const cJSON *message, struct wire_reply *r)
{
	const cJSON *content = member_of(message, "content"), *part;
	const char *refusal = text_of(message, "refusal");
	struct text_builder b;
	FILE *out = text_begin(&b);

	if (out && cJSON_IsString(content))
		fputs(content->valuestring, out);
	for (part = cJSON_IsArray(content) ? content->child : NULL; out && part;
	     part = part->next) {
		const char *type = text_of(part, "type"), *text = text_of(part, "text");

		if (!refusal || !*refusal)
			refusal = text_of(part, "refusal");
		if (text && (!type || !strcmp(type, "text") || !strcmp(type, "output_text")))
			fputs(text, out);
	}
	if (refusal && *refusal)
		r->end = WIRE_END_REFUSAL;
	r->text = text_end(&b);
	r->len = b.len;
	return r->text ? 0 : -ENOMEM;
}

static void take_end(const struct dialect *d, const cJSON *object, struct wire_reply *r)
{
	const char *said = text_of(object, d->end);

	if (!said || !*said)
		return;
	snprintf(r->end_said, sizeof(r->end_said), "%s", said);
	r->end = !strcmp(said, d->stop) ? WIRE_END_STOP
		 : !strcmp(said, d->length) || !strcmp(said, "model_context_window_exceeded")
			 ? WIRE_END_LENGTH
		 : !strcmp(said, d->refusal) ? WIRE_END_REFUSAL
					     : WIRE_END_OTHER;
}

int wire_reply_parse(enum llm_api api, const char *bytes, size_t len, struct wire_reply *ret)
{
	const struct dialect *d = &dialects[api];
	_cleanup_json_ cJSON *root = parse_json(bytes, len);
	const cJSON *list = member_of(root, d->list), *holder = root, *message = root;

	*ret = (struct wire_reply){.tokens_in = -1, .tokens_out = -1};
	if (!cJSON_IsArray(list)) {
		ret->failed = cJSON_IsObject(root) && error_of(root, &ret->error);
		return ret->failed ? 0 : -EBADMSG;
	}
	if (api == LLM_OPENAI) {
		holder = cJSON_GetArrayItem(list, 0);
		message = member_of(holder, "message");
	}
	if (!cJSON_IsObject(message))
		return -EBADMSG;
	copy_text(ret->model, sizeof(ret->model), root, "model");
	copy_count(&ret->tokens_in, member_of(root, "usage"), d->tokens_in);
	copy_count(&ret->tokens_out, member_of(root, "usage"), d->tokens_out);
	take_end(d, holder, ret);
	return take_content(message, ret);
}

void wire_reply_free(struct wire_reply *r)
{
	free(r->text);
	*r = (struct wire_reply){0};
}

int wire_error_parse(const char *bytes, size_t len, struct wire_error *ret)
{
	_cleanup_json_ cJSON *root = parse_json(bytes, len);
	/* Some servers wrap it in a list. */
	const cJSON *object = cJSON_IsArray(root) ? cJSON_GetArrayItem(root, 0) : root;

	return object && error_of(object, ret) ? 0 : -EBADMSG;
}
