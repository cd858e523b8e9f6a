/* SPDX-License-Identifier: BSD-2-Clause */
/* Foreign bytes made fit to be sent, or to be shown in a line of text. Pure. */
#ifndef WIRE_UTF8_H
#define WIRE_UTF8_H

#include <stddef.h>

/* A copy that is UTF-8: other bytes become U+FFFD. malloc'ed; NULL: no memory. */
char *utf8_clean(const char *text);

/* At most max bytes of the text into to (size bytes, NUL-terminated), on one line: control
 * characters, those that turn the direction of writing and bytes that are not UTF-8 become '?'. No
 * character is cut; "..." follows where something was left out and there is room. Returns to. */
char *utf8_inert(char *to, size_t size, const char *text, size_t len, size_t max);

/* How many of the bytes are whole characters: the length without a last one that is not all there
 * yet. */
size_t utf8_whole(const char *text, size_t len);

#endif
