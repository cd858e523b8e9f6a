/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Command lines of the verbs: parsed by argp, refused here. A refusal is one line that says what is
 * wrong and one that says where help is; argp would wrap its own into three and show the terminal
 * whatever was typed. Nothing was done yet when it comes. A word that asks for help anywhere on the
 * line gives help, whatever else is wrong with it. help_*() are in usage.c.
 */
#ifndef USAGE_H
#define USAGE_H

#include <argp.h>
#include <stdint.h>
#include <stdio.h>

#include "cachemon/cmd/spec.h"

/* The options are those of the table; parser as in struct argp. Returns when all is well, else
 * exits with 2; after help with 0. */
void usage_parse(const struct verb_spec *spec, argp_parser_t parser, int argc, char **argv,
		 unsigned int flags, void *input);

/* Exits with 2. Control characters in what was typed become visible. */
void usage_error(const struct argp_state *state, const char *format, ...)
	__attribute__((noreturn, format(printf, 2, 3)));

/* "OPTION: 'ARG' is not WANT". */
void usage_reject(const struct argp_state *state, const char *option, const char *arg,
		  const char *want) __attribute__((noreturn));
/* Of --level: enum watch_level; of --interval: nanoseconds. */
size_t usage_level(const struct argp_state *state, const char *arg);
uint64_t usage_interval(const struct argp_state *state, const char *arg);
/* arg, which is not empty: else the option needs a value, or a name. */
char *usage_value(const struct argp_state *state, const char *option, char *arg);
char *usage_name(const struct argp_state *state, const char *option, char *arg);

/* --help of the program and of its verbs, from their tables: examples first, within 80 columns. */
void help_program(FILE *out);
void help_verb(FILE *out, const struct verb_spec *spec);

#endif
