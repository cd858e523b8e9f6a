/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The terminal: drawing a canvas, reading keys, its size. Owns ncurses, which nothing else
 * includes, and that the terminal is left as it was. One at a time.
 */
#ifndef TOP_SCREEN_H
#define TOP_SCREEN_H

#include <stdbool.h>
#include <stdint.h>

#include "cachemon/top/canvas.h"

struct top_screen;
struct termios;

/* Whether this is a terminal that can place text. */
bool top_screen_possible(int fd);
/* 0 or -errno. */
int top_screen_open(bool colours, struct top_screen **ret);
void top_screen_close(struct top_screen *s);
/* Of another process that was killed while it had this terminal, whose modes were these. After
 * top_screen_possible(). */
void top_screen_repair(int fd, const struct termios *modes);
void top_screen_size(const struct top_screen *s, int *ret_columns, int *ret_rows);
/* The next one as view.h has them, or TOP_KEY_NONE at once. */
uint32_t top_screen_key(struct top_screen *s);
void top_screen_draw(struct top_screen *s, const struct top_canvas *c);

#endif
