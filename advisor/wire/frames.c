/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/wire/frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "advisor/wire/transport.h"
#include "advisor/wire/wire_utf8.h"

enum { TEXT_MAX = TRANSPORT_BODY_MAX, FRAME_MAX = TEXT_MAX + sizeof(struct frame_end) };

struct head {
	uint32_t type, len;
};

static int put(int fd, const void *bytes, size_t len)
{
	const char *p = bytes;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

static int put_head(int fd, enum frame_type type, size_t len)
{
	struct head head = {type, (uint32_t)len};

	return len > FRAME_MAX ? -EMSGSIZE : put(fd, &head, sizeof(head));
}

int frame_text(int fd, const char *piece, size_t len)
{
	int err = put_head(fd, FRAME_TEXT, len);

	return err ? err : put(fd, piece, len);
}

int frame_again(int fd)
{
	return put_head(fd, FRAME_AGAIN, 0);
}

int frame_end(int fd, const struct frame_end *end, const char *text, size_t len)
{
	int err = put_head(fd, FRAME_END, sizeof(*end) + len);

	if (!err)
		err = put(fd, end, sizeof(*end));
	return err ? err : put(fd, text, len);
}

int frames_feed(struct frames *f, const char *bytes, size_t len)
{
	size_t size = f->size ? f->size : 4096;
	char *more;

	/* No more than one whole frame is ever waited for. */
	if (f->len + len > FRAME_MAX + sizeof(struct head) + 2 * (size_t)TRANSPORT_HEADERS_MAX)
		return -EMSGSIZE;
	while (size < f->len + len)
		size *= 2;
	if (size > f->size) {
		more = realloc(f->bytes, size);
		if (!more)
			return -ENOMEM;
		f->bytes = more;
		f->size = size;
	}
	memcpy(f->bytes + f->len, bytes, len);
	f->len += len;
	return 0;
}

int frames_next(const struct frames *f, size_t *at, struct frame *ret)
{
	struct head head;

	if (f->len - *at < sizeof(head))
		return 0;
	memcpy(&head, f->bytes + *at, sizeof(head));
	if (head.type < FRAME_TEXT || head.type > FRAME_END || head.len > FRAME_MAX ||
	    (head.type == FRAME_AGAIN && head.len) ||
	    (head.type == FRAME_END && head.len < sizeof(struct frame_end)))
		return -EBADMSG;
	if (f->len - *at - sizeof(head) < head.len)
		return 0;
	ret->type = (enum frame_type)head.type;
	ret->bytes = f->bytes + *at + sizeof(head);
	ret->len = head.len;
	*at += sizeof(head) + head.len;
	return 1;
}

void frames_drop(struct frames *f, size_t at)
{
	if (at)
		memmove(f->bytes, f->bytes + at, f->len - at);
	f->len -= at;
}

void frames_free(struct frames *f)
{
	free(f->bytes);
	memset(f, 0, sizeof(*f));
}

static void tame(char *text, size_t size)
{
	char copy[512];

	text[size - 1] = '\0';
	utf8_inert(copy, size, text, strlen(text), size - 1);
	memcpy(text, copy, size);
}

int frame_end_take(const struct frame *f, struct frame_end *ret, char **ret_text, size_t *ret_len)
{
	struct frame_end end;
	size_t len = f->len - sizeof(end);
	char *text = NULL;

	memcpy(&end, f->bytes, sizeof(end));
	if (end.outcome >= LLM_OUTCOME_NR || (end.outcome == LLM_ANSWERED && !end.has_text))
		return -EBADMSG;
	tame(end.reason, sizeof(end.reason));
	tame(end.model, sizeof(end.model));
	tame(end.warning, sizeof(end.warning));
	if (end.has_text) {
		text = malloc(len + 1);
		if (!text)
			return -ENOMEM;
		memcpy(text, f->bytes + sizeof(end), len);
		text[len] = '\0';
	}
	*ret = end;
	*ret_text = text;
	*ret_len = text ? len : 0;
	return 0;
}
