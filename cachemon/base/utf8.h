/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Characters of a text that somebody else wrote. Owns which bytes are one, and which characters are
 * never only seen.
 */
#ifndef UTF8_H
#define UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Length of the character at s and its code point, or 0 when s is not valid UTF-8. */
size_t utf8_decode(const char *s, size_t len, uint32_t *ret_cp);
/* Characters that act on a terminal or on the direction of text instead of being seen. */
bool utf8_is_unsafe(uint32_t cp);

#endif
