/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/wire/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/wire/wire_utf8.h"
#include "advisor/wire/wire_impl.h"
#include "cachemon/base/cleanup.h"

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
