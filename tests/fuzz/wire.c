/* SPDX-License-Identifier: BSD-2-Clause */
/* Any bytes as a server's reply, or as an error. The first byte selects the API. */
#include "fuzz.h"

#include <errno.h>

#include "advisor/llm/http/wire.h"

static void check(const struct wire_reply *r, int e)
{
	MUST(e == 0 || e == -EBADMSG || e == -ENOMEM);
	MUST(r->text || !r->len);
	MUST(!r->text || r->text[r->len] == '\0');
	MUST(strnlen(r->model, sizeof(r->model)) < sizeof(r->model));
	MUST(strnlen(r->end_said, sizeof(r->end_said)) < sizeof(r->end_said));
	MUST(strnlen(r->error.message, sizeof(r->error.message)) < sizeof(r->error.message));
	MUST(r->tokens_in >= -1 && r->tokens_out >= -1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum llm_api api = size && data[0] & 1 ? LLM_ANTHROPIC : LLM_OPENAI;
	const char *bytes = (const char *)data + (size ? 1 : 0);
	size_t len = size ? size - 1 : 0;
	struct wire_reply r;
	struct wire_error error;
	char *text = malloc(len + 1);

	MUST(text);
	memcpy(text, bytes, len);
	text[len] = '\0';
	check(&r, wire_reply_parse(api, text, len, &r));
	wire_reply_free(&r);
	if (wire_error_parse(text, len, &error) == 0)
		MUST(strnlen(error.message, sizeof(error.message)) < sizeof(error.message));
	free(text);
	return 0;
}
