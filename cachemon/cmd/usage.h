/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Command lines of the verbs: parsed by argp, refused here. A refusal is one line that says what is
 * wrong and one that says where help is; argp would wrap its own into three and show the terminal
 * whatever was typed. Nothing was done yet when it comes.
 */
#ifndef USAGE_H
#define USAGE_H

#include <argp.h>

/* name: "cachemon report". Returns when all is well, else exits with 2. */
void usage_parse(const struct argp *argp, const char *name, int argc, char **argv,
		 unsigned int flags, void *input);

/* For ARGP_KEY_INIT of every parser: argp's own hint is not printed. */
void usage_init(struct argp_state *state);

/* Exits with 2. Control characters in what was typed become visible. */
void usage_error(const struct argp_state *state, const char *format, ...)
	__attribute__((noreturn, format(printf, 2, 3)));

#endif
