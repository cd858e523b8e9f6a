/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/watch/watch_run.h"

/* Nothing of this is needed to count: what cannot be read is absent. */
void watch_machine_begin(struct watch_run *run)
{
	const struct selector *s = &run->selector;

	if (machine_facts_new("", run->caps.page_size, &run->machine))
		return;
	if (s->kind == SELECTED_CGROUP)
		machine_facts_of_cgroup(run->machine, &s->cgroup);
	else if (run->command)
		machine_facts_of_process(run->machine, command_pid(run->command));
	else if (s->nr_tgids)
		machine_facts_of_process(run->machine, s->tgids[0]);
}
