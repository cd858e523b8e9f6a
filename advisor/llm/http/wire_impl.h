/* SPDX-License-Identifier: BSD-2-Clause */
/* What the two APIs' files share; for advisor/llm/http/ only. */
#ifndef WIRE_IMPL_H
#define WIRE_IMPL_H

#include <cjson/cJSON.h>

#include "advisor/llm/http/wire.h"

/* Pieces of a request; NULL or false: no memory. */
cJSON *json_add_text(cJSON *object, const char *name, const char *text);
bool json_add_copy(cJSON *object, const char *name, const cJSON *of);
bool json_add_message(cJSON *messages, const char *role, const char *text);
/* The prompt's system text, with the schema below it where the server is not told of that. */
char *system_text(const struct llm_prompt *prompt, enum llm_json json);

cJSON *openai_request(const struct wire_shape *shape, const char *model,
		      const struct llm_prompt *prompt, const cJSON *schema);
cJSON *anthropic_request(const struct wire_shape *shape, const char *model,
			 const struct llm_prompt *prompt, const cJSON *schema);

/* Of replies. What is missing or of another type is left as it is. */
const char *json_text(const cJSON *object, const char *name);
void copy_text(char *to, size_t size, const cJSON *object, const char *name);
void copy_count(int64_t *to, const cJSON *object, const char *name);
int reply_append(struct wire_reply *reply, const char *text);
void reply_end(struct wire_reply *reply, enum wire_end end, const char *said);
/* True, and taken, where the object holds an error. */
bool reply_error(struct wire_reply *reply, const cJSON *object);

int openai_whole(const cJSON *root, struct wire_reply *reply);
int openai_event(const cJSON *root, struct wire_reply *reply);
int anthropic_whole(const cJSON *root, struct wire_reply *reply);
int anthropic_event(const cJSON *root, struct wire_reply *reply);

bool error_of(const cJSON *object, struct wire_error *ret);

#endif
