/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/llm/http/sse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int append(struct sse_buffer *b, const char *bytes, size_t len)
{
	if (len > SSE_EVENT_MAX - b->len)
		return -EMSGSIZE;
	if (b->len + len + 1 > b->size) {
		size_t size = b->size ? b->size : 256;
		char *more;

		while (size < b->len + len + 1)
			size *= 2;
		more = realloc(b->bytes, size);
		if (!more)
			return -ENOMEM;
		b->bytes = more;
		b->size = size;
	}
	if (len)
		memcpy(b->bytes + b->len, bytes, len);
	b->len += len;
	b->bytes[b->len] = '\0';
	return 0;
}

/* A field of an event; several data fields are one text of several lines. */
static int take_field(struct sse *s, const char *line, size_t len)
{
	const char *colon = memchr(line, ':', len);
	size_t name = colon ? (size_t)(colon - line) : len;
	size_t value = colon ? name + 1 : len;
	int err;

	if (name != strlen("data") || memcmp(line, "data", name) != 0)
		return 0;
	if (value < len && line[value] == ' ')
		value++;
	err = s->has_data ? append(&s->data, "\n", 1) : 0;
	if (!err)
		err = append(&s->data, line + value, len - value);
	s->has_data = true;
	return err;
}

static int end_event(struct sse *s, sse_event event, void *arg)
{
	bool had = s->has_data;
	int err;

	s->has_data = false;
	err = had ? event(arg, s->data.bytes, s->data.len) : 0;
	s->data.len = 0;
	return err;
}

static int end_line(struct sse *s, sse_event event, void *arg)
{
	static const char mark[] = "\xef\xbb\xbf";
	/* Nothing was appended yet to the line of an input that starts with its end. */
	const char *line = s->line.len ? s->line.bytes : "";
	size_t len = s->line.len;

	if (!s->begun && len >= strlen(mark) && !memcmp(line, mark, strlen(mark))) {
		line += strlen(mark);
		len -= strlen(mark);
	}
	s->begun = true;
	s->line.len = 0;
	if (len == 0)
		return end_event(s, event, arg);
	return take_field(s, line, len);
}

int sse_feed(struct sse *s, const char *bytes, size_t len, sse_event event, void *arg)
{
	size_t at = 0;

	while (at < len) {
		size_t end = at;
		int err;

		if (s->after_cr && bytes[at] == '\n') {
			s->after_cr = false;
			at++;
			continue;
		}
		s->after_cr = false;
		while (end < len && bytes[end] != '\n' && bytes[end] != '\r')
			end++;
		err = append(&s->line, bytes + at, end - at);
		if (!err && end < len) {
			s->after_cr = bytes[end] == '\r';
			err = end_line(s, event, arg);
			end++;
		}
		if (err)
			return err;
		at = end;
	}
	return 0;
}

void sse_free(struct sse *s)
{
	free(s->line.bytes);
	free(s->data.bytes);
	memset(s, 0, sizeof(*s));
}
