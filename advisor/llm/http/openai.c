/* SPDX-License-Identifier: BSD-2-Clause */
/* Chat completions, as OpenAI, vLLM, llama.cpp's server and Ollama have them. */
#include <errno.h>
#include <string.h>

#include "advisor/llm/http/wire_impl.h"
#include "cachemon/base/cleanup.h"

static bool add_format(cJSON *root, enum llm_json json, const struct llm_prompt *prompt,
		       const cJSON *schema)
{
	cJSON *format, *inner;

	if (json == LLM_JSON_NONE)
		return true;
	format = cJSON_AddObjectToObject(root, "response_format");
	if (json == LLM_JSON_OBJECT)
		return cJSON_AddStringToObject(format, "type", "json_object");
	if (!cJSON_AddStringToObject(format, "type", "json_schema"))
		return false;
	inner = cJSON_AddObjectToObject(format, "json_schema");
	if (!cJSON_AddStringToObject(inner, "name", prompt->schema_name) ||
	    !cJSON_AddTrueToObject(inner, "strict"))
		return false;
	return json_add_copy(inner, "schema", schema);
}

static bool fill(cJSON *root, const struct wire_shape *shape, const char *model,
		 const struct llm_prompt *prompt, const cJSON *schema)
{
	_cleanup_free_ char *system = system_text(prompt, shape->json);
	const char *limit = shape->completion_tokens ? "max_completion_tokens" : "max_tokens";
	cJSON *messages, *options;

	if (!system || !json_add_text(root, "model", model))
		return false;
	messages = cJSON_AddArrayToObject(root, "messages");
	if (!messages || !json_add_message(messages, "system", system) ||
	    !json_add_message(messages, "user", prompt->user) ||
	    !cJSON_AddNumberToObject(root, limit, prompt->max_tokens) ||
	    !cJSON_AddBoolToObject(root, "stream", shape->stream) ||
	    !add_format(root, shape->json, prompt, schema))
		return false;
	if (!shape->stream)
		return true;
	options = cJSON_AddObjectToObject(root, "stream_options");
	return cJSON_AddTrueToObject(options, "include_usage");
}

cJSON *openai_request(const struct wire_shape *shape, const char *model,
		      const struct llm_prompt *prompt, const cJSON *schema)
{
	cJSON *root = cJSON_CreateObject();

	if (root && fill(root, shape, model, prompt, schema))
		return root;
	cJSON_Delete(root);
	return NULL;
}

static void take_usage(const cJSON *root, struct wire_reply *reply)
{
	const cJSON *usage = cJSON_GetObjectItemCaseSensitive(root, "usage");

	copy_count(&reply->tokens_in, usage, "prompt_tokens");
	copy_count(&reply->tokens_out, usage, "completion_tokens");
	copy_text(reply->model, sizeof(reply->model), root, "model");
}

static void take_end(const cJSON *choice, struct wire_reply *reply)
{
	const char *said = json_text(choice, "finish_reason");

	if (!said || !*said)
		return;
	reply_end(reply,
		  !strcmp(said, "stop")		    ? WIRE_END_STOP
		  : !strcmp(said, "length")	    ? WIRE_END_LENGTH
		  : !strcmp(said, "content_filter") ? WIRE_END_REFUSAL
						    : WIRE_END_OTHER,
		  said);
}

/* Pieces of a stream are put together as far as there is room. */
static void take_refusal(const char *text, struct wire_reply *reply)
{
	size_t len = strlen(reply->refusal);

	if (text)
		strncat(reply->refusal, text, sizeof(reply->refusal) - 1 - len);
}

/* content is a text, null, or a list of parts. What a model thinks aloud is in other fields. */
static int take_message(const cJSON *message, struct wire_reply *reply)
{
	const cJSON *content = cJSON_GetObjectItemCaseSensitive(message, "content");
	const cJSON *part;
	int err = 0;

	take_refusal(json_text(message, "refusal"), reply);
	if (cJSON_IsString(content))
		return reply_append(reply, content->valuestring);
	if (!cJSON_IsArray(content))
		return 0;
	cJSON_ArrayForEach(part, content)
	{
		const char *type = json_text(part, "type");
		const char *text = json_text(part, "text");

		take_refusal(json_text(part, "refusal"), reply);
		if (!err && text &&
		    (!type || !strcmp(type, "text") || !strcmp(type, "output_text")))
			err = reply_append(reply, text);
	}
	return err;
}

int openai_whole(const cJSON *root, struct wire_reply *reply)
{
	const cJSON *choices = cJSON_GetObjectItemCaseSensitive(root, "choices");
	const cJSON *choice = cJSON_GetArrayItem(choices, 0);
	const cJSON *message = cJSON_GetObjectItemCaseSensitive(choice, "message");

	if (!cJSON_IsArray(choices) && reply_error(reply, root))
		return 0;
	if (!cJSON_IsArray(choices) || !cJSON_IsObject(message))
		return -EBADMSG;
	take_usage(root, reply);
	take_end(choice, reply);
	return take_message(message, reply);
}

int openai_event(const cJSON *root, struct wire_reply *reply)
{
	const cJSON *choices = cJSON_GetObjectItemCaseSensitive(root, "choices");
	const cJSON *choice;

	if (!cJSON_IsArray(choices))
		return reply_error(reply, root) ? 0 : -EBADMSG;
	take_usage(root, reply);
	/* None: the frame of the usage. One is asked for: others are not ours. */
	choice = cJSON_GetArrayItem(choices, 0);
	if (!choice)
		return 0;
	take_end(choice, reply);
	return take_message(cJSON_GetObjectItemCaseSensitive(choice, "delta"), reply);
}
