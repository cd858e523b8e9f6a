/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/watch/watch_run.h"

enum { SHOWN_MAX = sizeof(((struct watch_run *)0)->outlived) / sizeof(pid_t) };

void watch_outlived_find(struct watch_run *run)
{
	struct proctree_link *links = NULL;
	size_t nr = 0;

	/* Without the list the summary still has their number. */
	if (run->selector.kind != SELECTED_COMMAND || probe_set_members(run->set, &links, &nr))
		return;
	for (size_t i = 0; i < nr && run->nr_outlived < SHOWN_MAX; i++)
		run->outlived[run->nr_outlived++] = links[i].tgid;
	free(links);
}

/* CMD has ended, and the run with it, as time(1) does. */
void watch_outlived_say(const struct watch_run *run)
{
	uint64_t alive = ledger_job(run->ledger, JOB_WATCHED)->facts.alive;
	char list[128] = "";
	struct errtext text;

	if (!alive)
		return;
	for (size_t i = 0, n = 0; i < run->nr_outlived; i++) {
		struct proctree_about about = {.name = ""};

		proctree_about("/proc", run->outlived[i], &about);
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%d%s%s", i ? ", " : ": ",
				      run->outlived[i], *about.name ? " " : "", about.name);
	}
	errtext_set(&text, 0,
		    "the command has ended, and %llu of its descendants still run%s%s%s; what they "
		    "read from now on is not in this run. To follow one: cachemon watch --pid N",
		    (unsigned long long)alive, alive == 1 ? "s" : "", list,
		    alive > SHOWN_MAX ? ", ..." : "");
	watch_say(text.text);
}
