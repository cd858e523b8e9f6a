/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/wire/complaint.h"

#include <string.h>

/* In this order: the first that fits is meant. The words are of llama.cpp's server, OpenAI,
 * Anthropic, vLLM and Ollama. */
static const struct {
	enum complaint complaint;
	int status, or_status;
	const char *word;
} words[] = {
	{COMPLAINT_LONG, 413, 413, ""},
	{COMPLAINT_LONG, 400, 422, "exceed_context_size"},
	{COMPLAINT_LONG, 400, 422, "context_length_exceeded"},
	{COMPLAINT_LONG, 400, 422, "maximum context length"},
	{COMPLAINT_LONG, 400, 422, "exceeds the available context"},
	{COMPLAINT_LONG, 400, 422, "exceed context limit"},
	{COMPLAINT_LONG, 400, 422, "exceeds the context"},
	{COMPLAINT_LONG, 400, 422, "prompt is too long"},
	{COMPLAINT_QUOTA, 402, 402, ""},
	{COMPLAINT_QUOTA, 400, 429, "insufficient_quota"},
	{COMPLAINT_QUOTA, 400, 429, "exceeded your current quota"},
	{COMPLAINT_QUOTA, 400, 429, "credit balance is too low"},
	{COMPLAINT_TOKENS, 400, 422, "max_completion_tokens"},
	{COMPLAINT_STREAM, 400, 422, "stream_options"},
	{COMPLAINT_FORM, 400, 422, "response_format"},
	{COMPLAINT_FORM, 400, 422, "output_config"},
	{COMPLAINT_FORM, 400, 422, "output_format"},
	{COMPLAINT_FORM, 400, 422, "json_schema"},
	{COMPLAINT_FORM, 400, 422, "json_object"},
	{COMPLAINT_FORM, 400, 422, "structured output"},
	{COMPLAINT_FORM, 400, 422, "schema"},
	{COMPLAINT_FORM, 400, 422, "grammar"},
	{COMPLAINT_FORM, 400, 422, "generate parser"},
	{COMPLAINT_PARSE, 500, 500, "peg-native"},
	{COMPLAINT_PARSE, 500, 500, "failed to parse"},
	{COMPLAINT_PARSE, 500, 500, "does not match the expected"},
};

static bool says(const struct wire_error *e, const char *word)
{
	return strcasestr(e->message, word) || strcasestr(e->type, word) ||
	       strcasestr(e->code, word) || strcasestr(e->param, word);
}

enum complaint complaint_of(int status, const struct wire_error *error)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (status != words[i].status && status != words[i].or_status)
			continue;
		if (!*words[i].word || (error && says(error, words[i].word)))
			return words[i].complaint;
	}
	return COMPLAINT_NONE;
}
