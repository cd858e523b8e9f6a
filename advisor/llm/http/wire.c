/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/llm/http/wire.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/cleanup.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/base/utf8.h"

char *utf8_inert(char *to, size_t size, const char *text, size_t max)
{
	static const char more[] = "...";
	size_t len = strlen(text), used = 0;

	max = max < size ? max : size - 1;
	while (len) {
		uint32_t c = 0;
		size_t n = utf8_decode(text, len, &c);
		bool shown = n && !utf8_is_unsafe(c);
		size_t takes = shown ? n : 1;

		if (used + takes > max)
			break;
		memcpy(to + used, shown ? text : "?", takes);
		used += takes;
		text += n ? n : 1;
		len -= n ? n : 1;
	}
	to[used] = '\0';
	if (len && used + sizeof(more) <= size)
		memcpy(to + used, more, sizeof(more));
	return to;
}

static void cleanup_json(cJSON **json)
{
	cJSON_Delete(*json);
}

#define _cleanup_json_ _cleanup_(cleanup_json)

/* All of the bytes are one JSON text, or there is none. */
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

/* Inside of a string of JSON, as cJSON writes it; bytes that are no UTF-8 become U+FFFD. */
static void put_chars(FILE *out, const char *text)
{
	static const char escaped[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";

	for (size_t left = strlen(text), n; left; text += n, left -= n) {
		uint32_t c = 0;
		const char *e = strchr(escaped, *text);

		n = utf8_decode(text, left, &c);
		if (e)
			fprintf(out, "\\%c", letters[e - escaped]);
		else if (n && c < ' ')
			fprintf(out, "\\u%04x", c);
		else
			fwrite(n ? text : "\xef\xbf\xbd", 1, n ? n : 3, out);
		n = n ? n : 1;
	}
}

static void put_string(FILE *out, const char *before, const char *text)
{
	fprintf(out, "%s\"", before);
	put_chars(out, text);
	putc('"', out);
}

static void put_system(FILE *out, const char *before, enum llm_json json,
		       const struct llm_prompt *prompt)
{
	fprintf(out, "%s\"", before);
	put_chars(out, prompt->system);
	if (json != LLM_JSON_SCHEMA) {
		put_chars(out,
			  "\n\nAnswer with one JSON object and nothing else. Its JSON schema:\n");
		put_chars(out, prompt->schema);
	}
	putc('"', out);
}

/* Anthropic's API has no form between a schema and none. */
static void put_request(FILE *out, const struct wire_shape *shape, const char *model,
			const struct llm_prompt *prompt, const char *schema)
{
	bool openai = shape->api == LLM_OPENAI, told = shape->json == LLM_JSON_SCHEMA;

	put_string(out, "{\"model\":", model);
	fputs(",\"messages\":[", out);
	if (openai)
		put_system(out, "{\"role\":\"system\",\"content\":", shape->json, prompt);
	put_string(out,
		   openai ? "},{\"role\":\"user\",\"content\":" : "{\"role\":\"user\",\"content\":",
		   prompt->user);
	fprintf(out, "}],\"%s\":%u,\"stream\":false",
		shape->completion_tokens ? "max_completion_tokens" : "max_tokens",
		prompt->max_tokens);
	if (!openai)
		put_system(out, ",\"system\":", shape->json, prompt);
	if (openai && told) {
		put_string(
			out,
			",\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":",
			prompt->schema_name);
		fprintf(out, ",\"strict\":true,\"schema\":%s}}", schema);
	} else if (openai && shape->json == LLM_JSON_OBJECT) {
		fputs(",\"response_format\":{\"type\":\"json_object\"}", out);
	} else if (told) {
		fprintf(out,
			",\"output_config\":{\"format\":{\"type\":\"json_schema\",\"schema\":%s}}",
			schema);
	}
	putc('}', out);
}

int wire_request(const struct wire_shape *shape, const char *model, const struct llm_prompt *prompt,
		 char **ret_body)
{
	_cleanup_json_ cJSON *schema = parse_json(prompt->schema, strlen(prompt->schema));
	_cleanup_free_ char *text = cJSON_IsObject(schema) ? cJSON_PrintUnformatted(schema) : NULL;
	struct text_builder b;
	FILE *out;

	if (!text)
		return cJSON_IsObject(schema) ? -ENOMEM : -EINVAL;
	out = text_begin(&b);
	if (out)
		put_request(out, shape, model, prompt, text);
	*ret_body = text_end(&b);
	return *ret_body ? 0 : -ENOMEM;
}

/* Names and words of the two APIs' replies. */
static const struct dialect {
	const char *list; /* what makes a reply one of the API */
	const char *tokens_in, *tokens_out, *end, *stop, *length, *refusal;
} dialects[] = {
	[LLM_OPENAI] = {"choices", "prompt_tokens", "completion_tokens", "finish_reason", "stop",
			"length", "content_filter"},
	[LLM_ANTHROPIC] = {"content", "input_tokens", "output_tokens", "stop_reason", "end_turn",
			   "max_tokens", "refusal"},
};

static const cJSON *get(const cJSON *object, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(object, name);
}

static const char *text_of(const cJSON *object, const char *name)
{
	return cJSON_GetStringValue(get(object, name));
}

/* What is missing or of another type is left as it is. */
static void copy_text(char *to, size_t size, const cJSON *object, const char *name)
{
	const char *text = text_of(object, name);

	if (text)
		snprintf(to, size, "%s", text);
}

static void copy_count(int64_t *to, const cJSON *object, const char *name)
{
	const cJSON *item = get(object, name);

	/* NaN is outside too. */
	if (cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble < 1e15)
		*to = (int64_t)item->valuedouble;
}

/* "error" is an object or a text, or its fields are at the top. */
static bool error_of(const cJSON *object, struct wire_error *ret)
{
	const cJSON *inner = get(object, "error");
	const cJSON *from = cJSON_IsObject(inner) ? inner : object;
	struct wire_error e = {0};
	int64_t code = -1;

	if (!inner && !text_of(object, "message") && !text_of(object, "detail"))
		return false;
	if (inner && !cJSON_IsObject(inner) && !cJSON_IsString(inner))
		return false;
	/* The last that is there counts. */
	copy_text(e.message, sizeof(e.message), object, "error");
	copy_text(e.message, sizeof(e.message), from, "detail");
	copy_text(e.message, sizeof(e.message), from, "message");
	copy_count(&code, from, "code");
	if (code >= 400 && code < 600)
		e.status = (int)code;
	*ret = e;
	return true;
}

static int append_text(struct wire_reply *r, const char *text)
{
	size_t len = strlen(text);
	char *more = realloc(r->text, r->len + len + 1);

	if (!more)
		return -ENOMEM;
	memcpy(more + r->len, text, len + 1);
	r->text = more;
	r->len += len;
	return 0;
}

/* content is a text, null, or a list of parts. What a model thinks aloud is in other fields, and in
 * parts of other types. */
static int take_content(const cJSON *message, struct wire_reply *r)
{
	const cJSON *content = get(message, "content"), *part;
	const char *refusal = text_of(message, "refusal");
	int err = cJSON_IsString(content) ? append_text(r, content->valuestring) : 0;

	if (refusal && *refusal)
		r->end = WIRE_END_REFUSAL;
	if (!cJSON_IsArray(content))
		return err;
	cJSON_ArrayForEach(part, content)
	{
		const char *type = text_of(part, "type"), *text = text_of(part, "text");

		if (text_of(part, "refusal"))
			r->end = WIRE_END_REFUSAL;
		if (!err && text &&
		    (!type || !strcmp(type, "text") || !strcmp(type, "output_text")))
			err = append_text(r, text);
	}
	return err;
}

static void take_end(const struct dialect *d, const cJSON *object, struct wire_reply *r)
{
	const char *said = text_of(object, d->end);

	if (!said || !*said)
		return;
	snprintf(r->end_said, sizeof(r->end_said), "%s", said);
	r->end = !strcmp(said, d->stop)	     ? WIRE_END_STOP
		 : !strcmp(said, d->length)  ? WIRE_END_LENGTH
		 : !strcmp(said, d->refusal) ? WIRE_END_REFUSAL
					     : WIRE_END_OTHER;
}

int wire_reply_parse(enum llm_api api, const char *bytes, size_t len, struct wire_reply *ret)
{
	const struct dialect *d = &dialects[api];
	_cleanup_json_ cJSON *root = parse_json(bytes, len);
	const cJSON *list = get(root, d->list), *holder = root, *message = root;

	*ret = (struct wire_reply){.tokens_in = -1, .tokens_out = -1};
	if (!cJSON_IsArray(list)) {
		ret->failed = cJSON_IsObject(root) && error_of(root, &ret->error);
		return ret->failed ? 0 : -EBADMSG;
	}
	if (api == LLM_OPENAI) {
		holder = cJSON_GetArrayItem(list, 0);
		message = get(holder, "message");
	}
	if (!cJSON_IsObject(message))
		return -EBADMSG;
	copy_text(ret->model, sizeof(ret->model), root, "model");
	copy_count(&ret->tokens_in, get(root, "usage"), d->tokens_in);
	copy_count(&ret->tokens_out, get(root, "usage"), d->tokens_out);
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
	/* Some servers put it into a list. */
	const cJSON *object = cJSON_IsArray(root) ? cJSON_GetArrayItem(root, 0) : root;

	return object && error_of(object, ret) ? 0 : -EBADMSG;
}
