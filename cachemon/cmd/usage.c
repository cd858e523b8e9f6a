/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/cmd/usage.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/cleanup.h"
#include "cachemon/base/escape.h"
#include "cachemon/base/parse.h"
#include "cachemon/base/suggest.h"
#include "cachemon/base/terminal.h"
#include "cachemon/cmd/cmd.h"

enum { AT_VERB = 12, AT_OPTION = 22, AT_WHY = 6 };

/* Prints one paragraph, indented to a column; the cursor is at the column `at`. */
static void put_paragraph(FILE *out, const char *text, size_t len, int from, int at)
{
	const char *end = text + len;

	while (text < end) {
		size_t word = strcspn(text, " \n");

		if (text + word > end)
			word = (size_t)(end - text);
		if (at > from && at + 1 + (int)word >= terminal_text_width(out)) {
			putc('\n', out);
			at = 0;
		}
		if (at < from)
			at += fprintf(out, "%*s", from - at, "");
		else if (at > from)
			at += fprintf(out, " ");
		at += fprintf(out, "%.*s", (int)word, text);
		text += word;
		text += strspn(text, " \n");
	}
	putc('\n', out);
}

static void put_examples(FILE *out, const struct example *examples)
{
	fputs("EXAMPLES\n", out);
	for (const struct example *e = examples; e->command; e++) {
		fprintf(out, "  %s\n", e->command);
		put_paragraph(out, e->why, strlen(e->why), AT_WHY, 0);
	}
}

/* Prints an option's placeholder; one of many words continues below. Returns the next column. */
static int put_value(FILE *out, const char *value, int at)
{
	at += fprintf(out, " ");
	while (*value) {
		int len = (int)strcspn(value, "|");

		len += value[len] == '|';
		if (at + len >= terminal_text_width(out))
			at = fprintf(out, "\n%*s", AT_WHY, "") - 1;
		at += fprintf(out, "%.*s", len, value);
		value += len;
	}
	return at;
}

static void put_option(FILE *out, const struct option_spec *o)
{
	const struct argp_option *option = &o->option;
	char letter = option_spec_letter(o);
	int at = fprintf(out, "  ");

	if (letter)
		at += fprintf(out, "-%c, ", letter);
	at += fprintf(out, "--%s", option->name);
	if (option->arg)
		at = put_value(out, option->arg, at);
	if (at + 2 > AT_OPTION) {
		putc('\n', out);
		at = 0;
	}
	put_paragraph(out, option->doc, strlen(option->doc), AT_OPTION, at);
}

static void put_options(FILE *out, const struct verb_spec *spec)
{
	fputs("\nOPTIONS\n", out);
	for (const struct option_spec *o = spec->options; !option_spec_end(o); o++) {
		if (option_spec_heading(o))
			fprintf(out, "%s %s\n", o == spec->options ? "" : "\n", o->option.doc);
		else
			put_option(out, o);
	}
	if (option_spec_heading(spec->options))
		putc('\n', out);
	put_option(out, option_spec_help());
}

static void put_notes(FILE *out, const char *notes)
{
	while (notes) {
		const char *next = strstr(notes, "\n\n");

		putc('\n', out);
		put_paragraph(out, notes, next ? (size_t)(next - notes) : strlen(notes), 0, 0);
		notes = next ? next + 2 : NULL;
	}
}

void help_verb(FILE *out, const struct verb_spec *spec)
{
	int at = fprintf(out, "cachemon %s:", spec->name);

	/* The first line may continue below itself, but never from the left margin. */
	put_paragraph(out, spec->help, strlen(spec->help), 2, at);
	putc('\n', out);
	put_examples(out, spec->examples);
	fprintf(out, "\nUSAGE\n  cachemon %s [OPTION...]%s%s\n", spec->name,
		spec->operands ? " " : "", spec->operands ? spec->operands : "");
	put_options(out, spec);
	put_notes(out, spec->notes);
	fprintf(out, "\nMore: man cachemon-%s\n", spec->name);
}

void help_program(FILE *out)
{
	size_t nr = 0;
	static const char what[] = "cachemon: what the page cache does for a job: hits, misses, "
				   "readahead, evictions";
	const struct verb_spec *const *verbs = verbs_all(&nr);

	put_paragraph(out, what, sizeof(what) - 1, 0, 0);
	putc('\n', out);
	put_examples(out, program_examples());
	fputs("\nUSAGE\n"
	      "  cachemon VERB [OPTION...]\n"
	      "  cachemon help VERB      examples and options of a verb\n"
	      "  cachemon --version      version\n"
	      "\n"
	      "VERBS\n",
	      out);
	for (size_t i = 0; i < nr; i++) {
		int at = 0;

		if (verbs[i]->hidden)
			continue;
		at = fprintf(out, "  %s", verbs[i]->name);
		put_paragraph(out, verbs[i]->help, strlen(verbs[i]->help), AT_VERB, at);
	}
	fputs("\nMore: man cachemon\n", out);
}

static void __attribute__((format(printf, 2, 0)))
put_refusal(const char *name, const char *format, va_list args)
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
	put_refusal(name, format, args);
	va_end(args);
	exit(EXIT_USAGE);
}

void usage_error(const struct argp_state *state, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	put_refusal(state->argv[0], format, args);
	va_end(args);
	exit(EXIT_USAGE);
}

void usage_reject(const struct argp_state *state, const char *option, const char *arg,
		  const char *want)
{
	usage_error(state, "%s: '%s' is not %s", option, arg, want);
}

size_t usage_level(const struct argp_state *state, const char *arg)
{
	static const char *const levels[] = {"cold", "full", "auto"};
	size_t index = 0;

	if (parse_enum(arg, levels, 3, &index))
		usage_reject(state, "--level", arg, "cold, full or auto");
	return index;
}

uint64_t usage_interval(const struct argp_state *state, const char *arg)
{
	uint64_t ns = 0;

	if (parse_duration(arg, &ns) || ns < 100000000 || ns > 3600000000000)
		usage_reject(state, "--interval", arg,
			     "a duration from 100ms to 1h (" PARSE_DURATION_FORMS ")");
	return ns;
}

char *usage_value(const struct argp_state *state, const char *option, char *arg)
{
	if (!*arg)
		usage_error(state, "%s needs a value", option);
	return arg;
}

char *usage_name(const struct argp_state *state, const char *option, char *arg)
{
	if (!*arg)
		usage_error(state, "%s needs a name; the value is empty", option);
	return arg;
}

enum { NAMES_MAX = 64 };

struct parse {
	const struct verb_spec *spec;
	argp_parser_t parser;
	void *input;
};

/* All options in argp's form; NULL: no memory. */
static struct argp_option *options_of(const struct verb_spec *spec)
{
	struct argp_option *options = NULL;
	size_t nr = 0;

	while (!option_spec_end(&spec->options[nr]))
		nr++;
	options = calloc(nr + 2, sizeof(*options));
	for (size_t i = 0; options && i < nr; i++)
		options[i] = spec->options[i].option;
	if (options)
		options[nr] = option_spec_help()->option;
	return options;
}

static void __attribute__((noreturn)) show_help(const struct verb_spec *spec)
{
	help_verb(stdout, spec);
	exit(cmd_finish(EXIT_DONE));
}

static bool begins(const char *name, const char *with, size_t len)
{
	return strncmp(name, with, len) == 0;
}

/* The option that this word is, if it needs a value and has none; or NULL. */
static const struct argp_option *wants_value(const struct argp_option *options, const char *word)
{
	for (const struct argp_option *o = options; o->name || o->key || o->doc; o++) {
		if (!o->arg)
			continue;
		if (word[0] == '-' && word[1] == o->key && !word[2])
			return o;
		/* getopt accepts any unique prefix of a long name. */
		if (o->name && begins(word, "--", 2) && word[2] &&
		    begins(o->name, word + 2, strlen(word + 2)))
			return o;
	}
	return NULL;
}

static bool is_unsafe(const char *word)
{
	for (; *word; word++)
		if ((unsigned char)*word < 0x20 || *word == 0x7f)
			return true;
	return false;
}

/* A long option that does not exist and is not a prefix of one. */
static void check_long(const struct argp_option *options, const char *name, const char *word)
{
	size_t len = strcspn(word + 2, "=");
	const char *names[NAMES_MAX];
	const char *nearest;
	char typed[64];
	size_t nr = 0;

	for (const struct argp_option *o = options; o->name || o->key || o->doc; o++) {
		if (!o->name || nr == NAMES_MAX)
			continue;
		if (begins(o->name, word + 2, len))
			return;
		names[nr++] = o->name;
	}
	snprintf(typed, sizeof(typed), "%.*s", len < sizeof(typed) ? (int)len : 0, word + 2);
	nearest = suggest_nearest(typed, names, nr);
	if (nearest)
		refuse(name, "unrecognized option '--%.*s'; did you mean '--%s'?", (int)len,
		       word + 2, nearest);
	refuse(name, "unrecognized option '--%.*s'", len < 512 ? (int)len : 512, word + 2);
}

/* The last two are argp's own, which scripts may use. */
static bool asks_help(const char *word)
{
	return !strcmp(word, "-h") || !strcmp(word, "--help") || !strcmp(word, "-?") ||
	       !strcmp(word, "--usage");
}

/* Words that getopt would take as a value, or print unescaped. */
static void check_words(const struct argp_option *options, const char *name, int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		if (wants_value(options, argv[i])) {
			i++;
			if (i < argc && !strcmp(argv[i], "--"))
				refuse(name, "option '%s' needs a value", argv[i - 1]);
		} else if (begins(argv[i], "--", 2)) {
			check_long(options, name, argv[i]);
		} else if (argv[i][0] == '-' && is_unsafe(argv[i])) {
			refuse(name, "unrecognized option '%s'", argv[i]);
		}
	}
}

/* Help comes first: a user who asks for it may not know the error. */
static bool help_wanted(const struct argp_option *options, int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		if (asks_help(argv[i]))
			return true;
		if (wants_value(options, argv[i]))
			i++;
	}
	return false;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct parse *p = state->input;
	error_t ret;

	if (key == option_spec_help()->option.key)
		show_help(p->spec);
	if (key == ARGP_KEY_INIT)
		state->err_stream = NULL; /* argp's own hint is not printed */
	state->input = p->input;
	ret = p->parser(key, arg, state);
	state->input = p;
	return ret;
}

void usage_parse(const struct verb_spec *spec, argp_parser_t parser, int argc, char **argv,
		 unsigned int flags, void *input)
{
	_cleanup_free_ struct argp_option *options = options_of(spec);
	struct argp argp = {.options = options, .parser = parse_option};
	struct parse parse = {spec, parser, input};
	char *first = argv[0];
	char name[64];

	if (!options) {
		fputs("cachemon: out of memory\n", stderr);
		exit(EXIT_FAILED);
	}
	snprintf(name, sizeof(name), "cachemon %s", spec->name);
	if (help_wanted(options, argc, argv))
		show_help(spec);
	check_words(options, name, argc, argv);
	argv[0] = name; /* prefix of messages */
	argp_err_exit_status = EXIT_USAGE;
	if (argp_parse(&argp, argc, argv, flags | ARGP_NO_HELP, NULL, &parse)) {
		/* getopt has printed the error. */
		fprintf(stderr, "Try '%s --help'.\n", name);
		exit(EXIT_USAGE);
	}
	argv[0] = first;
}
