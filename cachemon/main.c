/* SPDX-License-Identifier: BSD-2-Clause */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "util/privileges.h"
#include "util/suggest.h"

struct verb {
	const char *name;
	const char *help;
	int (*run)(int argc, char **argv);
	bool measures; /* the others do without what a user was given for measuring */
};

static const struct verb verbs[] = {
	{"watch", "watch a job: a command, a process tree, a cgroup", cmd_watch, true},
	{"report", "show what a run measured", cmd_report, false},
	{"advise", "say what to change, and how much it gains", cmd_advise, false},
	{"explain", "what a finding means and what to do about it", cmd_explain, false},
	{"whatif", "say what another cache or readahead would have given", cmd_whatif, false},
	{"compare", "say what changed between two runs", cmd_compare, false},
	{"runs", "list the runs of a database", cmd_runs, false},
	{"doctor", "say what can be measured on this machine", cmd_doctor, true},
	{"selftest", "measure known reads and print the error", cmd_selftest, true},
};

enum { NR_VERBS = sizeof(verbs) / sizeof(verbs[0]) };

static void print_usage(FILE *out)
{
	fputs("usage: cachemon VERB [OPTION...]\n"
	      "\n"
	      "Shows what the page cache does for a job: hits, misses, readahead, evictions.\n"
	      "\n",
	      out);
	for (int i = 0; i < NR_VERBS; i++)
		fprintf(out, "  %-10s%s\n", verbs[i].name, verbs[i].help);
	fputs("\n"
	      "  cachemon VERB --help    options of a verb\n"
	      "  cachemon --version      version\n"
	      "\n"
	      "for example: sudo cachemon watch -- python3 train.py\n",
	      out);
}

static int reject(const char *word)
{
	const char *names[NR_VERBS + 2] = {"--help", "--version"};
	const char *nearest;

	for (int i = 0; i < NR_VERBS; i++)
		names[i + 2] = verbs[i].name;
	nearest = suggest_nearest(word, names, NR_VERBS + 2);
	fprintf(stderr, "cachemon: unknown %s '", word[0] == '-' ? "option" : "verb");
	/* The terminal must not obey what was typed or pasted. */
	for (const char *p = word; *p; p++)
		fputc((unsigned char)*p < 0x20 || *p == 0x7f ? '?' : *p, stderr);
	if (nearest)
		fprintf(stderr, "'; did you mean '%s'?\n", nearest);
	else
		fputs("'; see cachemon --help\n", stderr);
	return EXIT_USAGE;
}

/* Output that could not be written is a failure, also that of the last flush. */
static int finish(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	fprintf(stderr, "cachemon: cannot write to standard output\n");
	return status ? status : EXIT_FAILED;
}

/*
 * Where the caller has closed stdin, stdout or stderr, no descriptor of cachemon's own may take its
 * number: messages would be written into it, a socket or a database. What stands in is as useless
 * as a closed one, and is closed for CMD.
 */
static void hold_standard_descriptors(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", (fd == 0 ? O_WRONLY : O_RDONLY) | O_CLOEXEC) < 0)
			return;
	}
}

static int run_verb(const struct verb *v, int argc, char **argv)
{
	/* A program file may give them to every user. */
	if (!v->measures && geteuid() && privileges_keep(0)) {
		fprintf(stderr, "cachemon: cannot give up capabilities\n");
		return EXIT_FAILED;
	}
	return finish(v->run(argc, argv));
}

int main(int argc, char **argv)
{
	hold_standard_descriptors();
	if (argc < 2) {
		print_usage(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--version") == 0) {
		puts("cachemon " CACHEMON_VERSION);
		return finish(EXIT_DONE);
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		print_usage(stdout);
		return finish(EXIT_DONE);
	}
	for (int i = 0; i < NR_VERBS; i++) {
		if (strcmp(argv[1], verbs[i].name) == 0)
			return run_verb(&verbs[i], argc - 1, argv + 1);
	}
	return reject(argv[1]);
}
