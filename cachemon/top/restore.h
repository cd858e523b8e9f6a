/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The terminal as it was, also where the program ends by a signal that nobody expected: a crash, an
 * abort. Owns the handlers and what they need, which has to be in static memory: a handler is
 * given nothing.
 */
#ifndef TOP_RESTORE_H
#define TOP_RESTORE_H

#include <stddef.h>

enum { TOP_RESTORE_MAX = 512 };

/* The modes of the terminal, as they are now. 0 or -errno. */
int top_restore_save(int fd);
/* From here on a crash writes leave to the terminal, sets its modes and goes on as it would have.
 */
void top_restore_arm(const char *leave, size_t length);
void top_restore_disarm(void);

#endif
