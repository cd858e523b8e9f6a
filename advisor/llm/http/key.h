/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The key that opens an endpoint: read where it is needed, by the process that sends it, and wiped
 * there. Owns its checks; no text of an error here repeats any of it.
 */
#ifndef LLM_HTTP_KEY_H
#define LLM_HTTP_KEY_H

#include <stddef.h>

#include "cachemon/base/errtext.h"

enum { KEY_MAX = 4096 };

struct key {
	char text[KEY_MAX + 1]; /* "": none */
	size_t len;
};

/* Out of a variable of the environment or a file, by their names; neither: none. A file is a
 * regular one of this user's that nobody else may read. -EACCES, -EINVAL or an error of the file,
 * with a text. */
int key_read(const char *variable, const char *file, struct key *ret, struct errtext *err);
void key_wipe(struct key *k);

/* Where the key stands in bytes that somebody sent back, as it is or as JSON may write it, it
 * becomes '*'. */
void key_mask(const struct key *k, char *bytes, size_t len);

#endif
