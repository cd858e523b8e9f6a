/* SPDX-License-Identifier: BSD-2-Clause */
/* Any names, one per line after a digit for the kind, and after a NUL any text: none of the
 * names remains, a second redaction changes nothing, and restoring gives the original text. */
#include "fuzz.h"

#include "advisor/llm/redact.h"

enum { NAMES_MAX = 64 };

static void add(struct redact *r, const char *line, size_t len)
{
	if (len > 1)
		redact_add(r, (enum name_kind)((unsigned char)line[0] % NAME_NR), line + 1,
			   len - 1);
}

static void add_names(struct redact *r, const char *bytes, size_t len)
{
	for (int i = 0; len && i < NAMES_MAX; i++) {
		const char *end = memchr(bytes, '\n', len);
		size_t n = end ? (size_t)(end - bytes) : len;

		add(r, bytes, n);
		bytes += n + (end ? 1 : 0);
		len -= n + (end ? 1 : 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data, *nul = size ? memchr(bytes, 0, size) : NULL;
	size_t names = nul ? (size_t)(nul - bytes) : size, len;
	struct redact *r = redact_new(true);
	struct arena a = {0};
	const char *text, *got, *again;

	MUST(r);
	add_names(r, bytes, names);
	text = arena_bytes(&a, bytes + names, size - names).data;
	MUST(text);
	text += names < size;
	len = strlen(text);
	got = redact_text(r, &a, text, len);
	MUST(got && !redact_left(r, got, strlen(got)));
	again = redact_text(r, &a, got, strlen(got));
	MUST(again && !strcmp(again, got));
	if (!strchr(text, '<'))
		MUST(!strcmp(redact_restore(r, &a, got), text));
	arena_free(&a);
	redact_free(r);
	return 0;
}
