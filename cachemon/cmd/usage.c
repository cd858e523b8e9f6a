/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/usage.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "report/escape.h"

static void __attribute__((format(printf, 2, 0)))
explain(const char *name, const char *format, va_list args)
{
	char text[1024], shown[sizeof(text)];

	vsnprintf(text, sizeof(text), format, args);
	escape_inert_to(shown, sizeof(shown), text);
	fprintf(stderr, "%s: %s\nTry '%s --help'.\n", name, shown, name);
}

static void __attribute__((noreturn, format(printf, 2, 3)))
refuse(const char *name, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	explain(name, format, args);
	va_end(args);
	exit(EXIT_USAGE);
}

void usage_error(const struct argp_state *state, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	explain(state->argv[0], format, args);
	va_end(args);
	exit(EXIT_USAGE);
}

void usage_init(struct argp_state *state)
{
	state->err_stream = NULL;
}

static bool begins(const char *name, const char *with)
{
	while (*with)
		if (*name++ != *with++)
			return false;
	return true;
}

/* The option that this word is, alone and in need of a value; or NULL. */
static const struct argp_option *wants_value(const struct argp *argp, const char *word)
{
	for (const struct argp_option *o = argp->options; o->name || o->key || o->doc; o++) {
		if (!o->arg)
			continue;
		if (word[0] == '-' && word[1] == o->key && !word[2])
			return o;
		/* getopt takes any beginning of a long name. */
		if (o->name && begins(word, "--") && word[2] && begins(o->name, word + 2))
			return o;
	}
	return NULL;
}

static bool is_unsafe(const char *word)
{
	size_t length = strcspn(word, "=");

	for (size_t i = 0; i < length; i++)
		if ((unsigned char)word[i] < 0x20 || word[i] == 0x7f)
			return true;
	return false;
}

/* What getopt would take for a value, or show as it is. */
static void check_words(const struct argp *argp, const char *name, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--")) {
			if (i > 1 && wants_value(argp, argv[i - 1]))
				refuse(name, "option '%s' needs a value", argv[i - 1]);
			return;
		}
		if (argv[i][0] == '-' && is_unsafe(argv[i]))
			refuse(name, "unrecognized option '%s'", argv[i]);
	}
}

void usage_parse(const struct argp *argp, const char *name, int argc, char **argv,
		 unsigned int flags, void *input)
{
	check_words(argp, name, argc, argv);
	argv[0] = (char *)name; /* what messages begin with */
	argp_err_exit_status = EXIT_USAGE;
	if (argp_parse(argp, argc, argv, flags, NULL, input)) {
		/* getopt has said what is wrong. */
		fprintf(stderr, "Try '%s --help'.\n", name);
		exit(EXIT_USAGE);
	}
}
