/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/capture/probe_set_impl.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SEED_LOOKS = 200, SEED_PAUSE_NS = 1000000 };

static int iterate_tasks(struct probe_set *set)
{
	return set->links[ROLE_SEED] ? probe_set_iterate(set->links[ROLE_SEED]) : -ENOTSUP;
}

/* The threads of one process (Linux 6.1). */
static int iterate_process(struct probe_set *set, pid_t tgid)
{
	union bpf_iter_link_info info = {.task.pid = (uint32_t)tgid};
	LIBBPF_OPTS(bpf_iter_attach_opts, opts, .link_info = &info, .link_info_len = sizeof(info));
	const struct bpf_program *prog = probe_set_program(set, "seed_task");
	struct bpf_link *link = bpf_program__attach_iter(prog, &opts);
	int r = link ? probe_set_iterate(link) : -errno;

	bpf_link__destroy(link);
	return r;
}

/* A new map has memory for one state per CPU and gets more from an interrupt, after the first
 * use requests it (kernel/bpf/memalloc.c). A task that found none is tried again. tgid: of one
 * process alone; 0: all. */
static int seed_all(struct probe_set *set, pid_t tgid)
{
	const struct timespec pause = {.tv_nsec = SEED_PAUSE_NS};
	int r = 0;

	for (int i = 0; i < SEED_LOOKS; i++) {
		set->skel->bss->shared.seeds_missed = set->skel->bss->shared.seeds_found = 0;
		r = tgid ? iterate_process(set, tgid) : iterate_tasks(set);
		if (r || !set->skel->bss->shared.seeds_missed)
			return r;
		nanosleep(&pause, NULL);
	}
	return -ENOMEM;
}

int probe_set_seed_process(struct probe_set *set, pid_t tgid)
{
	return seed_all(set, tgid);
}

int probe_set_seed(struct probe_set *set, const pid_t *tgids, size_t nr, struct errtext *err)
{
	int fd = bpf_map__fd(set->skel->maps.seeds), r;

	for (size_t i = 0; i < nr; i++) {
		uint32_t tgid = tgids[i], one = 1;

		if (bpf_map_update_elem(fd, &tgid, &one, BPF_ANY))
			return errtext_set(err, -errno, "too many processes to add to the job");
	}
	r = seed_all(set, 0);
	if (r)
		return errtext_set(err, r, "cannot list the running tasks: %s", strerror(-r));
	/* None of the requested processes was found: all of them would count as others. */
	if (nr && !set->skel->bss->shared.seeds_found)
		return errtext_set(err, -ESRCH,
				   "this kernel does not show process %d to BPF programs: run "
				   "cachemon on the host",
				   tgids[0]);
	/* CPUs notice the change for their running task; the generation of rows stays. */
	if (set->started)
		probe_set_move_epoch(set, 2);
	return 0;
}

int probe_set_note_parents(struct probe_set *set, bool on)
{
	int r = on ? 0 : probe_set_grace_period(set);

	set->skel->bss->shared.seeding = on;
	return r ? r : probe_set_grace_period(set);
}

int probe_set_parents(struct probe_set *set, struct proctree_link **ret, size_t *ret_nr)
{
	int fd = bpf_map__fd(set->skel->maps.parents), r = 0;
	size_t max = bpf_map__max_entries(set->skel->maps.parents), nr = 0;
	struct proctree_link *links = calloc(max, sizeof(*links));
	struct seed_note note;
	uint32_t tgid;

	if (!links)
		return -ENOMEM;
	/* Nothing is removed during the walk, so it visits everything that was there at its
	 * start. */
	while (nr < max && !(r = bpf_map_get_next_key(fd, nr ? &tgid : NULL, &tgid))) {
		if (bpf_map_lookup_elem(fd, &tgid, &note)) {
			r = -errno;
			break;
		}
		links[nr++] = (struct proctree_link){(pid_t)tgid, (pid_t)note.parent};
	}
	if (r && r != -ENOENT) {
		free(links);
		return r;
	}
	*ret = links;
	*ret_nr = nr;
	return 0;
}

int probe_set_members(struct probe_set *set, struct proctree_link **ret, size_t *ret_nr)
{
	int r;

	set->skel->bss->shared.listing = 1;
	r = iterate_tasks(set);
	set->skel->bss->shared.listing = 0;
	return r ? r : probe_set_parents(set, ret, ret_nr);
}

int probe_set_name_seeds(struct probe_set *set, const pid_t *tgids, size_t nr, size_t *ret_new)
{
	int fd = bpf_map__fd(set->skel->maps.seeds);
	size_t fresh = 0;

	for (size_t i = 0; i < nr; i++) {
		uint32_t tgid = (uint32_t)tgids[i], one = 1;

		if (!bpf_map_update_elem(fd, &tgid, &one, BPF_NOEXIST))
			fresh++;
		else if (errno != EEXIST)
			return -errno;
	}
	*ret_new = fresh;
	return probe_set_grace_period(set);
}

unsigned int probe_set_seeds_missed(struct probe_set *set)
{
	probe_set_grace_period(set);
	return set->skel->bss->shared.seeds_missed;
}
