/* SPDX-License-Identifier: BSD-2-Clause */
/* Any bytes as a stream of events: however they are cut, the same events come out. */
#include "fuzz.h"

#include "advisor/llm/http/sse.h"

/* All events, each behind its length. */
struct seen {
	char *bytes;
	size_t len;
};

static int take(void *arg, const char *data, size_t len)
{
	struct seen *s = arg;

	s->bytes = realloc(s->bytes, s->len + len + sizeof(len));
	MUST(s->bytes);
	MUST(data[len] == '\0');
	memcpy(s->bytes + s->len, &len, sizeof(len));
	if (len)
		memcpy(s->bytes + s->len + sizeof(len), data, len);
	s->len += len + sizeof(len);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sse whole = {0}, cut = {0};
	struct seen a = {NULL, 0}, b = {NULL, 0};
	const char *bytes = (const char *)data;
	int e = sse_feed(&whole, bytes, size, take, &a), f = 0;
	uint64_t seed = size;

	for (size_t at = 0, piece; !f && at < size; at += piece) {
		piece = piece_of(&seed, size - at);
		f = sse_feed(&cut, bytes + at, piece, take, &b);
	}
	MUST(e == f);
	MUST(a.len == b.len && (!a.len || !memcmp(a.bytes, b.bytes, a.len)));
	sse_free(&whole);
	sse_free(&cut);
	free(a.bytes);
	free(b.bytes);
	return 0;
}
