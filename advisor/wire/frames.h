/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the client's process tells the one that started it, over a pipe: pieces of text as they
 * come, that they are to be forgotten, and the end. The reader takes nothing for granted: the other
 * side has read what a stranger sent.
 */
#ifndef WIRE_FRAMES_H
#define WIRE_FRAMES_H

#include "advisor/wire/client.h"

enum frame_type { FRAME_TEXT = 1, FRAME_AGAIN, FRAME_END };

/* FRAME_END: this, and the text of the answer. */
struct frame_end {
	uint32_t outcome, attempts;
	uint32_t too_long, has_text;
	int64_t tokens_in, tokens_out;
	char reason[512], model[128], warning[256];
};

int frame_text(int fd, const char *piece, size_t len);
int frame_again(int fd);
int frame_end(int fd, const struct frame_end *end, const char *text, size_t len);

struct frames {
	char *bytes;
	size_t len, size;
};

struct frame {
	enum frame_type type;
	const char *bytes; /* within frames, until it is fed again */
	size_t len;
};

/* Adds what came. -EMSGSIZE, -ENOMEM. */
int frames_feed(struct frames *f, const char *bytes, size_t len);
/* The next whole one: 1; none yet: 0; -EBADMSG: what came is no frame. Frames before at are done
 * with: *at moves on. */
int frames_next(const struct frames *f, size_t *at, struct frame *ret);
/* Forgets what is before at. */
void frames_drop(struct frames *f, size_t at);
void frames_free(struct frames *f);

/* The record and the text of a FRAME_END, made harmless. -EBADMSG, -ENOMEM. *ret_text is malloc'ed
 * or NULL. */
int frame_end_take(const struct frame *f, struct frame_end *ret, char **ret_text, size_t *ret_len);

#endif
