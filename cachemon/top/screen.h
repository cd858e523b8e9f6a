/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The terminal: drawing a canvas, reading keys, its size. Owns ncurses, which no other file
 * includes, and restores the terminal. One at a time.
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
/* Restores the terminal of another process that was killed, with these modes. Call it after
 * top_screen_possible(). */
void top_screen_repair(int fd, const struct termios *modes);
void top_screen_size(const struct top_screen *s, int *ret_columns, int *ret_rows);
/* The next key as in view.h, or TOP_KEY_NONE at once. */
uint32_t top_screen_key(struct top_screen *s);
void top_screen_draw(struct top_screen *s, const struct top_canvas *c);

#endif
