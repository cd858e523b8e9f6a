/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/watch/watch_run.h"

/* A round finds who was forked before the one before it had named the parent: two do, mostly. */
enum { ROUNDS_MAX = 1000 };

static int read_parents(void *set, struct proctree_link **ret, size_t *ret_nr)
{
	return probe_set_parents(set, ret, ret_nr);
}

static int name_once(struct watch_run *run, size_t *ret_new)
{
	const struct selector_places places = {.proc_root = "/proc"};
	const struct proctree_notes notes = {read_parents, run->set};
	int r = selector_refresh_pids(&places, &run->selector, &notes);

	if (!r)
		r = probe_set_name_seeds(run->set, run->selector.tgids, run->selector.nr_tgids,
					 ret_new);
	return r;
}

/*
 * The tree is that of the moment of this look, and who is forked from then on by those in it. It
 * changes under the eyes of whoever reads /proc: from the first look on the probes name each child
 * of a named parent, and note the parent of any other, which the next look may find to be of the
 * tree. Who has ended gets a name too: it may have forked one that lives since the notes were read,
 * and been seen by nobody itself. When a look names nobody, all that lived at its end had a name,
 * and whoever they forked since got one.
 */
int watch_seed_tree(struct watch_run *run, struct errtext *err)
{
	int pid = (int)run->selector.tgids[0];
	size_t fresh = 1;
	int r = probe_set_note_parents(run->set, true), end;

	for (int i = 0; !r && fresh && i < ROUNDS_MAX; i++)
		r = name_once(run, &fresh);
	if (!r && fresh)
		r = -EAGAIN;
	/* A child that got no state is named, and taken in by the next round. */
	fresh = 1;
	for (int i = 0; !r && fresh && i < ROUNDS_MAX; i++) {
		r = probe_set_seed(run->set, NULL, 0, err);
		watch_clock_begin(run);
		fresh = probe_set_seeds_missed(run->set);
	}
	if (!r && fresh)
		r = -ENOMEM;
	end = probe_set_note_parents(run->set, false);
	r = r ? r : end;
	if (r == -ESRCH)
		return errtext_set(err, r, "process %d has ended", pid);
	if (r == -E2BIG)
		return errtext_set(err, r, "too many processes to take into the job");
	if (r)
		return errtext_set(err, r, "cannot take process %d and its descendants: %s", pid,
				   strerror(-r));
	return 0;
}
