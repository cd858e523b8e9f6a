/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/llm/http/wire.h"

#include <errno.h>
#include <stdio.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/llm/http/wire_impl.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/base/utf8.h"

char *utf8_clean(const char *text)
{
	static const char unknown[] = "\xef\xbf\xbd";
	size_t left = strlen(text);
	/* One byte becomes three at most. */
	char *copy = malloc(left * strlen(unknown) + 1);
	char *to = copy;

	if (!copy)
		return NULL;
	while (left) {
		uint32_t c;
		size_t len = utf8_decode(text, left, &c);

		if (len) {
			memcpy(to, text, len);
			to += len;
		} else {
			memcpy(to, unknown, strlen(unknown));
			to += strlen(unknown);
			len = 1;
		}
		text += len;
		left -= len;
	}
	*to = '\0';
	return copy;
}

size_t utf8_whole(const char *text, size_t len)
{
	const unsigned char *s = (const unsigned char *)text;

	for (size_t back = 1; back <= 3 && back <= len; back++) {
		unsigned char c = s[len - back];
		size_t needs = c >> 5 == 6 ? 2 : c >> 4 == 14 ? 3 : c >> 3 == 30 ? 4 : 1;

		if (c >> 6 != 2)
			return needs > back ? len - back : len;
	}
	return len;
}

char *utf8_inert(char *to, size_t size, const char *text, size_t len, size_t max)
{
	static const char more[] = "...";
	size_t used = 0;

	if (max > size - 1)
		max = size - 1;
	while (len) {
		uint32_t c = 0;
		size_t n = utf8_decode(text, len, &c);
		bool shown = n && !utf8_is_unsafe(c);
		size_t takes = shown ? n : 1;

		if (used + takes > max)
			break;
		if (shown)
			memcpy(to + used, text, n);
		else
			to[used] = '?';
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
static cJSON *parse(const char *bytes, size_t len)
{
	const char *end = NULL;
	cJSON *root = len ? cJSON_ParseWithLengthOpts(bytes, len, &end, false) : NULL;

	if (!root)
		return NULL;
	while (end < bytes + len && strchr(" \t\r\n", *end) && *end)
		end++;
	if (end != bytes + len) {
		cJSON_Delete(root);
		return NULL;
	}
	return root;
}

cJSON *json_add_text(cJSON *object, const char *name, const char *text)
{
	_cleanup_free_ char *clean = utf8_clean(text);

	return clean ? cJSON_AddStringToObject(object, name, clean) : NULL;
}

bool json_add_copy(cJSON *object, const char *name, const cJSON *of)
{
	cJSON *copy = cJSON_Duplicate(of, true);

	if (cJSON_AddItemToObject(object, name, copy))
		return true;
	cJSON_Delete(copy);
	return false;
}

bool json_add_message(cJSON *messages, const char *role, const char *text)
{
	cJSON *message = cJSON_CreateObject();

	if (!cJSON_AddItemToArray(messages, message)) {
		cJSON_Delete(message);
		return false;
	}
	return cJSON_AddStringToObject(message, "role", role) &&
	       json_add_text(message, "content", text);
}

char *system_text(const struct llm_prompt *prompt, enum llm_json json)
{
	static const char ask[] = "\n\nAnswer with one JSON object and nothing else. Its JSON "
				  "schema:\n";
	size_t size = strlen(prompt->system) + sizeof(ask) + strlen(prompt->schema);
	char *text = calloc(1, size);

	if (!text)
		return NULL;
	strcpy(text, prompt->system);
	if (json != LLM_JSON_SCHEMA) {
		strcat(text, ask);
		strcat(text, prompt->schema);
	}
	return text;
}

int wire_request(const struct wire_shape *shape, const char *model, const struct llm_prompt *prompt,
		 char **ret_body, size_t *ret_len)
{
	_cleanup_json_ cJSON *schema = parse(prompt->schema, strlen(prompt->schema));
	_cleanup_json_ cJSON *root = NULL;
	char *body;

	if (!cJSON_IsObject(schema))
		return -EINVAL;
	root = shape->api == LLM_ANTHROPIC ? anthropic_request(shape, model, prompt, schema)
					   : openai_request(shape, model, prompt, schema);
	body = root ? cJSON_PrintUnformatted(root) : NULL;
	if (!body)
		return -ENOMEM;
	*ret_body = body;
	*ret_len = strlen(body);
	return 0;
}

const char *json_text(const cJSON *object, const char *name)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);

	return cJSON_IsString(item) ? item->valuestring : NULL;
}

void copy_text(char *to, size_t size, const cJSON *object, const char *name)
{
	const char *text = json_text(object, name);

	if (!text)
		return;
	strncpy(to, text, size - 1);
	to[size - 1] = '\0';
}

void copy_count(int64_t *to, const cJSON *object, const char *name)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);

	/* NaN is outside too. */
	if (cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble < 1e15)
		*to = (int64_t)item->valuedouble;
}

int reply_append(struct wire_reply *reply, const char *text)
{
	size_t len = strlen(text);
	char *more = realloc(reply->text, reply->len + len + 1);

	if (!more)
		return -ENOMEM;
	memcpy(more + reply->len, text, len + 1);
	reply->text = more;
	reply->len += len;
	return 0;
}

void reply_end(struct wire_reply *reply, enum wire_end end, const char *said)
{
	reply->end = end;
	strncpy(reply->end_said, said, sizeof(reply->end_said) - 1);
}

bool reply_error(struct wire_reply *reply, const cJSON *object)
{
	struct wire_error error;

	if (!error_of(object, &error))
		return false;
	reply->error = error;
	reply->failed = true;
	return true;
}

void wire_reply_init(struct wire_reply *r)
{
	memset(r, 0, sizeof(*r));
	r->tokens_in = r->tokens_out = -1;
}

void wire_reply_free(struct wire_reply *r)
{
	free(r->text);
	wire_reply_init(r);
}

int wire_whole(enum llm_api api, const char *bytes, size_t len, struct wire_reply *reply)
{
	_cleanup_json_ cJSON *root = parse(bytes, len);

	if (!cJSON_IsObject(root))
		return -EBADMSG;
	return api == LLM_ANTHROPIC ? anthropic_whole(root, reply) : openai_whole(root, reply);
}

int wire_event(enum llm_api api, const char *bytes, size_t len, struct wire_reply *reply)
{
	static const char done[] = "[DONE]";
	_cleanup_json_ cJSON *root = NULL;

	/* What comes after the end is no part of the answer; empty ones keep the line open. */
	if (reply->done || len == 0)
		return 0;
	if (api == LLM_OPENAI && len == strlen(done) && !memcmp(bytes, done, len)) {
		reply->done = true;
		return 0;
	}
	root = parse(bytes, len);
	if (!cJSON_IsObject(root))
		return -EBADMSG;
	return api == LLM_ANTHROPIC ? anthropic_event(root, reply) : openai_event(root, reply);
}

int wire_error_parse(const char *bytes, size_t len, struct wire_error *ret)
{
	_cleanup_json_ cJSON *root = parse(bytes, len);
	/* Some servers put it into a list. */
	const cJSON *object = cJSON_IsArray(root) ? cJSON_GetArrayItem(root, 0) : root;
	struct wire_error error;

	if (!object || !error_of(object, &error))
		return -EBADMSG;
	*ret = error;
	return 0;
}

/* Error objects: "error" is an object or a text, or its fields are at the top. */

/* A text, or a number as one (llama.cpp's "code": 401). */
static void copy_either(char *to, size_t size, const cJSON *object, const char *name)
{
	int64_t number = -1;

	copy_text(to, size, object, name);
	copy_count(&number, object, name);
	if (number >= 0)
		snprintf(to, size, "%lld", (long long)number);
}

static int status_of(const struct wire_error *e)
{
	static const struct {
		const char *type;
		int status;
	} types[] = {
		{"invalid_request_error", 400},
		{"authentication_error", 401},
		{"permission_error", 403},
		{"not_found_error", 404},
		{"request_too_large", 413},
		{"rate_limit_error", 429},
		{"rate_limit_exceeded", 429},
		{"insufficient_quota", 429},
		{"api_error", 500},
		{"server_error", 500},
		{"unavailable_error", 503},
		{"overloaded_error", 529},
		{"exceed_context_size_error", 400},
	};
	int status = 0;

	if (sscanf(e->code, "%3d", &status) == 1 && status >= 400 && status < 600)
		return status;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(e->type, types[i].type) || !strcmp(e->code, types[i].type))
			return types[i].status;
	return 0;
}

static void take_fields(const cJSON *object, struct wire_error *e)
{
	/* The last that is there counts. */
	copy_text(e->message, sizeof(e->message), object, "detail");
	copy_text(e->message, sizeof(e->message), object, "message");
	copy_text(e->type, sizeof(e->type), object, "type");
	copy_either(e->code, sizeof(e->code), object, "code");
	copy_text(e->param, sizeof(e->param), object, "param");
	copy_count(&e->tokens, object, "n_prompt_tokens");
	copy_count(&e->context, object, "n_ctx");
}

bool error_of(const cJSON *object, struct wire_error *ret)
{
	const cJSON *inner = cJSON_GetObjectItemCaseSensitive(object, "error");
	struct wire_error e = {.tokens = -1, .context = -1};

	if (cJSON_IsString(inner))
		copy_text(e.message, sizeof(e.message), object, "error");
	else if (cJSON_IsObject(inner))
		take_fields(inner, &e);
	else if (json_text(object, "message") || json_text(object, "detail"))
		take_fields(object, &e);
	else
		return false;
	e.status = status_of(&e);
	*ret = e;
	return true;
}
