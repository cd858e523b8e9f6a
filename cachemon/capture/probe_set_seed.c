/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/probe_set_impl.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

int probe_set_note_parents(struct probe_set *set, bool on)
{
	int r = on ? 0 : probe_set_grace_period(set);

	set->skel->bss->seeding = on;
	return r ? r : probe_set_grace_period(set);
}

int probe_set_parents(struct probe_set *set, struct proctree_link **ret, size_t *ret_nr)
{
	int fd = bpf_map__fd(set->skel->maps.parents), r = 0;
	size_t max = bpf_map__max_entries(set->skel->maps.parents), nr = 0;
	struct proctree_link *links = calloc(max, sizeof(*links));
	uint32_t tgid, parent;

	if (!links)
		return -ENOMEM;
	/* Nothing is taken out of it: a walk comes past all that was there when it began. */
	while (nr < max && !(r = bpf_map_get_next_key(fd, nr ? &tgid : NULL, &tgid))) {
		if (bpf_map_lookup_elem(fd, &tgid, &parent)) {
			r = -errno;
			break;
		}
		links[nr++] = (struct proctree_link){(pid_t)tgid, (pid_t)parent};
	}
	if (r && r != -ENOENT) {
		free(links);
		return r;
	}
	*ret = links;
	*ret_nr = nr;
	return 0;
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
	return set->skel->bss->seeds_missed;
}
