/* SPDX-License-Identifier: BSD-2-Clause */
/* Error objects: "error" is an object or a text, or its fields are at the top. */
#include <stdio.h>
#include <string.h>

#include "advisor/wire/wire_impl.h"

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
