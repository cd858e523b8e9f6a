/* SPDX-License-Identifier: BSD-2-Clause */
/* Anthropic's messages. */
#include <errno.h>
#include <string.h>

#include "advisor/llm/http/wire_impl.h"
#include "cachemon/base/cleanup.h"

/* There is no form between a schema and none. */
static bool add_format(cJSON *root, const cJSON *schema)
{
	cJSON *config = cJSON_AddObjectToObject(root, "output_config");
	cJSON *format = cJSON_AddObjectToObject(config, "format");

	return cJSON_AddStringToObject(format, "type", "json_schema") &&
	       json_add_copy(format, "schema", schema);
}

static bool fill(cJSON *root, const struct wire_shape *shape, const char *model,
		 const struct llm_prompt *prompt, const cJSON *schema)
{
	_cleanup_free_ char *system = system_text(prompt, shape->json);
	cJSON *messages;

	if (!system || !json_add_text(root, "model", model) ||
	    !cJSON_AddNumberToObject(root, "max_tokens", prompt->max_tokens) ||
	    !json_add_text(root, "system", system))
		return false;
	messages = cJSON_AddArrayToObject(root, "messages");
	return json_add_message(messages, "user", prompt->user) &&
	       cJSON_AddBoolToObject(root, "stream", shape->stream) &&
	       (shape->json != LLM_JSON_SCHEMA || add_format(root, schema));
}

cJSON *anthropic_request(const struct wire_shape *shape, const char *model,
			 const struct llm_prompt *prompt, const cJSON *schema)
{
	cJSON *root = cJSON_CreateObject();

	if (root && fill(root, shape, model, prompt, schema))
		return root;
	cJSON_Delete(root);
	return NULL;
}

/* What came from a cache was read by the model too. */
static void take_usage(const cJSON *object, struct wire_reply *reply)
{
	const cJSON *usage = cJSON_GetObjectItemCaseSensitive(object, "usage");
	int64_t made = 0, read = 0, in = -1;

	copy_count(&in, usage, "input_tokens");
	copy_count(&made, usage, "cache_creation_input_tokens");
	copy_count(&read, usage, "cache_read_input_tokens");
	if (in >= 0)
		reply->tokens_in = in + made + read;
	copy_count(&reply->tokens_out, usage, "output_tokens");
}

static void take_end(const cJSON *object, struct wire_reply *reply)
{
	const char *said = json_text(object, "stop_reason");

	if (!said || !*said)
		return;
	reply_end(reply,
		  !strcmp(said, "end_turn")			   ? WIRE_END_STOP
		  : !strcmp(said, "max_tokens")			   ? WIRE_END_LENGTH
		  : !strcmp(said, "model_context_window_exceeded") ? WIRE_END_LENGTH
		  : !strcmp(said, "refusal")			   ? WIRE_END_REFUSAL
								   : WIRE_END_OTHER,
		  said);
}

int anthropic_whole(const cJSON *root, struct wire_reply *reply)
{
	const cJSON *content = cJSON_GetObjectItemCaseSensitive(root, "content");
	const cJSON *block;

	if (!cJSON_IsArray(content))
		return reply_error(reply, root) ? 0 : -EBADMSG;
	copy_text(reply->model, sizeof(reply->model), root, "model");
	take_usage(root, reply);
	take_end(root, reply);
	cJSON_ArrayForEach(block, content)
	{
		const char *type = json_text(block, "type");
		const char *text = json_text(block, "text");
		int err = type && text && !strcmp(type, "text") ? reply_append(reply, text) : 0;

		if (err)
			return err;
	}
	return 0;
}

int anthropic_event(const cJSON *root, struct wire_reply *reply)
{
	const char *type = json_text(root, "type");
	const cJSON *delta = cJSON_GetObjectItemCaseSensitive(root, "delta");
	const cJSON *message = cJSON_GetObjectItemCaseSensitive(root, "message");
	const char *text = json_text(delta, "text");
	const char *of = json_text(delta, "type");

	if (!type)
		return reply_error(reply, root) ? 0 : -EBADMSG;
	if (!strcmp(type, "error"))
		return reply_error(reply, root) ? 0 : -EBADMSG;
	if (!strcmp(type, "message_start")) {
		copy_text(reply->model, sizeof(reply->model), message, "model");
		take_usage(message, reply);
	} else if (!strcmp(type, "message_delta")) {
		take_usage(root, reply);
		take_end(delta, reply);
	} else if (!strcmp(type, "message_stop")) {
		reply->done = true;
	} else if (!strcmp(type, "content_block_delta") && text && of &&
		   !strcmp(of, "text_delta")) {
		return reply_append(reply, text);
	}
	/* Others, and those to come, say nothing that is of use here. */
	return 0;
}
