/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cachemon/base/cleanup.h"
#include "cachemon/base/progress.h"
#include "cachemon/cmd/cmd.h"
#include "cachemon/cmd/usage.h"
#include "cachemon/store/store_merge.h"

struct options {
	const char **paths; /* OUT, then the others */
	size_t nr;
};

static bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	if (stat(a, &x) || stat(b, &y))
		return !strcmp(a, b);
	return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static void check_operands(const struct options *o, const struct argp_state *state)
{
	if (o->nr < 2)
		usage_error(state, "give OUT and at least one database to add to it, as in: "
				   "cachemon merge all.db node1.db node2.db");
	for (size_t i = 1; i < o->nr; i++)
		if (same_file(o->paths[0], o->paths[i]))
			usage_error(state, "'%s' is OUT: it cannot be added to itself",
				    o->paths[i]);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		usage_name(state, o->nr ? "IN" : "OUT", arg);
		if (!strcmp(arg, "-"))
			usage_error(state, "a database needs the name of a file, not '-'");
		o->paths[o->nr++] = arg;
		return 0;
	case ARGP_KEY_END:
		check_operands(o, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct option_spec options[] = {
	OPTIONS_END,
};

static const struct example examples[] = {
	{"cachemon merge all.db node1.db node2.db",
	 "Add the runs of two nodes to all.db, which is made if it does not exist"},
	{"cachemon merge all.db /srv/cachemon/*.db", "Add what is new since the last merge"},
	{"cachemon report all.db --job slurm:4711",
	 "Show one report of a job that ran on many of the nodes"},
	{0},
};

const struct verb_spec merge_spec = {
	.name = "merge",
	.help = "make one database of the databases of many nodes",
	.operands = "OUT IN...",
	.operand = VALUE_FILE,
	.examples = examples,
	.options = options,
	.notes = "It adds each run of the other databases to OUT, with all of its rows. A run that "
		 "OUT has already is not added again; one that had not ended when it was added is "
		 "replaced by its longer record. So you can merge the same files again and again. "
		 "The other databases are not changed, and may be in use. One of an older cachemon "
		 "is migrated in a temporary copy (in $TMPDIR).\n\nA database that cannot be read, "
		 "or a damaged run, is reported in a line and left out; the rest is merged, and "
		 "the status is 1. Each run is added completely or not at all, so OUT stays "
		 "usable when the merge is interrupted. Runs get new numbers in OUT; their uuids "
		 "stay.",
	.run = cmd_merge,
};

static void add(struct store_merged *sum, const struct store_merged *part)
{
	sum->added += part->added;
	sum->replaced += part->replaced;
	sum->known += part->known;
	sum->left_out += part->left_out;
	sum->stop |= part->stop;
}

static void print_sum(const struct store_merged *s, size_t nr_databases)
{
	printf("%zu run%s added", s->added, &"s"[s->added == 1]);
	if (s->replaced)
		printf(", %zu replaced by a longer record", s->replaced);
	if (s->known)
		printf(", %zu known already", s->known);
	printf("; %zu database%s read\n", nr_databases, &"s"[nr_databases == 1]);
}

/* Returns whether everything was added. */
static bool merge(const struct options *o, struct store_merge *m, struct progress_show *progress)
{
	const struct progress_sink *sink = progress_show_sink(progress);
	struct store_merged sum = {0}, one;
	size_t failed = 0;

	for (size_t i = 1; i < o->nr && !sum.stop; i++) {
		struct errtext err = {""};

		progress_at(sink, "merging databases", i - 1, o->nr - 1);
		if (store_merge_add(m, o->paths[i], &one, &err)) {
			progress_over(sink);
			cmd_say(err.text);
			failed++;
		}
		add(&sum, &one);
	}
	progress_over(sink);
	print_sum(&sum, o->nr - 1 - failed);
	return !failed;
}

static int merge_all(const struct options *o)
{
	const struct store_config config = {.path = o->paths[0]};
	struct progress_show *progress;
	struct store_merge *m = store_merge_begin(&config);
	bool done;

	if (!m) {
		cmd_say("cannot merge: out of memory");
		return EXIT_FAILED;
	}
	progress = progress_show_begin();
	done = merge(o, m, progress);
	progress_show_end(progress);
	store_merge_end(m);
	return done ? EXIT_DONE : EXIT_FAILED;
}

int cmd_merge(int argc, char **argv)
{
	_cleanup_free_ const char **paths = calloc((size_t)argc + 1, sizeof(*paths));
	struct options o = {.paths = paths};

	if (!paths) {
		cmd_say("cannot merge: out of memory");
		return EXIT_FAILED;
	}
	usage_parse(&merge_spec, parse_option, argc, argv, 0, &o);
	return merge_all(&o);
}
