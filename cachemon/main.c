/* SPDX-License-Identifier: BSD-2-Clause */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cachemon/cmd/cmd.h"
#include "cachemon/cmd/usage.h"
#include "cachemon/cmd/spec.h"
#include "cachemon/base/escape.h"
#include "cachemon/access/invoker.h"
#include "cachemon/base/process.h"
#include "cachemon/base/suggest.h"

static const char *nearest_verb(const char *word)
{
	const char *names[32] = {"--help", "--version", "help"};
	const size_t max = sizeof(names) / sizeof(names[0]);
	size_t nr = 0, nr_names = 3;
	const struct verb_spec *const *verbs = verbs_all(&nr);

	for (size_t i = 0; i < nr && nr_names < max; i++)
		if (!verbs[i]->hidden)
			names[nr_names++] = verbs[i]->name;
	return suggest_nearest(word, names, nr_names);
}

static int reject(const char *word)
{
	const char *nearest = nearest_verb(word);
	char shown[1024];

	/* User input must not reach the terminal unescaped. */
	escape_inert_to(shown, sizeof(shown), word);
	fprintf(stderr, "cachemon: unknown %s '%s'; ", word[0] == '-' ? "option" : "verb", shown);
	if (nearest)
		fprintf(stderr, "did you mean '%s'?\n", nearest);
	else
		fputs("see cachemon --help\n", stderr);
	return EXIT_USAGE;
}

static int help(int argc, char **argv)
{
	const struct verb_spec *verb = NULL;

	if (argc > 1 && argv[1][0] != '-') {
		verb = verb_find(argv[1]);
		if (!verb)
			return reject(argv[1]);
	}
	if (verb)
		help_verb(stdout, verb);
	else
		help_program(stdout);
	return cmd_finish(EXIT_DONE);
}

/*
 * If the caller has closed stdin, stdout or stderr, no other descriptor of cachemon may get its
 * number: messages would go to a socket or a database. The placeholder is as useless as a closed
 * descriptor, and is closed for CMD.
 */
static void hold_standard_descriptors(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", (fd == 0 ? O_WRONLY : O_RDONLY) | O_CLOEXEC) < 0)
			return;
	}
}

static int run_verb(const struct verb_spec *v, int argc, char **argv)
{
	struct errtext err = {""};

	/* Runs before anything is opened that the caller named. */
	if (!v->measures && invoker_become(&err)) {
		fprintf(stderr, "cachemon: %s\n", err.text);
		return EXIT_FAILED;
	}
	return cmd_finish(v->run(argc, argv));
}

/* Comes first: a process that could trace this one would get its maps and programs. */
static int begin_process(const struct verb_spec *verb)
{
	process_survive_file_limit();
	return verb && verb->measures ? process_untraceable() : 0;
}

int main(int argc, char **argv)
{
	const struct verb_spec *verb = argc > 1 ? verb_find(argv[1]) : NULL;

	if (begin_process(verb)) {
		fprintf(stderr, "cachemon: cannot keep other processes from tracing this one\n");
		return EXIT_FAILED;
	}
	hold_standard_descriptors();
	if (argc < 2) {
		help_program(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--version") == 0) {
		puts("cachemon " CACHEMON_VERSION);
		return cmd_finish(EXIT_DONE);
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    strcmp(argv[1], "help") == 0)
		return help(argc - 1, argv + 1);
	return verb ? run_verb(verb, argc - 1, argv + 1) : reject(argv[1]);
}
