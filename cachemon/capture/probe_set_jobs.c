/* SPDX-License-Identifier: BSD-2-Clause */
/* Many jobs at once: which cgroups belong to which of them. */
#include "cachemon/capture/probe_set_impl.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Each CPU looks for the job of its task at the next event. */
static void table_changed(struct probe_set *set)
{
	struct shared *shared = &set->skel->bss->shared;

	if (!__atomic_add_fetch(&shared->job_table, 1, __ATOMIC_SEQ_CST))
		__atomic_add_fetch(&shared->job_table, 1, __ATOMIC_SEQ_CST);
	if (set->started)
		probe_set_move_epoch(set, 2);
}

static int forget_cgroups(const struct probe_set *set, uint32_t job)
{
	int fd = bpf_map__fd(set->skel->maps.job_cgroups), r = 0;
	struct job_cgroup key, next;
	bool more = !bpf_map_get_next_key(fd, NULL, &key);
	uint32_t of;

	while (more && !r) {
		more = !bpf_map_get_next_key(fd, &key, &next);
		if (!bpf_map_lookup_elem(fd, &key, &of) && of == job &&
		    bpf_map_delete_elem(fd, &key))
			r = -errno;
		key = next;
	}
	return r;
}

/* Rows of advice have totals, so those of an earlier job in the slot would be the new one's. */
static int forget_advice(const struct probe_set *set, uint32_t slot)
{
	int fd = bpf_map__fd(set->skel->maps.advice), r = 0;
	struct advice_key key, next;
	bool more = !bpf_map_get_next_key(fd, NULL, &key);

	while (more && !r) {
		more = !bpf_map_get_next_key(fd, &key, &next);
		if (key.job == slot && bpf_map_delete_elem(fd, &key) && errno != ENOENT)
			r = -errno;
		key = next;
	}
	return r;
}

/* Nothing of the job that had the slot before. */
static int clear_facts(const struct probe_set *set, uint32_t slot)
{
	struct job_row *rows = calloc(set->nr_cpus, sizeof(*rows));
	int r;

	if (!rows)
		return -ENOMEM;
	r = bpf_map_update_elem(bpf_map__fd(set->skel->maps.jobs), &slot, rows, BPF_ANY) ? -errno
											 : 0;
	free(rows);
	return r;
}

static int name_cgroups(const struct probe_set *set, uint32_t job, const struct cgroup_ref *cgroups,
			size_t nr)
{
	int fd = bpf_map__fd(set->skel->maps.job_cgroups);

	for (size_t i = 0; i < nr; i++) {
		struct job_cgroup key = {.id = cgroups[i].id,
					 .hierarchy = JOB_BY_V2 + cgroups[i].kind};

		if (bpf_map_update_elem(fd, &key, &job, BPF_ANY))
			return -errno;
	}
	return 0;
}

int probe_set_job_begin(struct probe_set *set, uint32_t slot, const struct cgroup_ref *cgroups,
			size_t nr, struct errtext *err)
{
	struct shared *shared = &set->skel->bss->shared;
	uint32_t job = slot | (uint32_t)++set->job_nr[slot] << 16;
	int r = clear_facts(set, slot);

	if (!r)
		r = forget_advice(set, slot);
	shared->slots[slot].evicted_pages = 0;
	__atomic_store_n(&shared->slots[slot].job, job, __ATOMIC_SEQ_CST);
	if (shared->slots_end <= slot)
		shared->slots_end = slot + 1;
	if (!r)
		r = probe_set_rest_row(bpf_map__fd(set->skel->maps.rows_a), slot);
	if (!r)
		r = probe_set_rest_row(bpf_map__fd(set->skel->maps.rows_b), slot);
	if (!r)
		r = name_cgroups(set, job, cgroups, nr);
	table_changed(set);
	if (!r)
		return 0;
	probe_set_job_end(set, slot);
	return errtext_set(err, r, "cannot add a job: %s", strerror(-r));
}

int probe_set_job_join(struct probe_set *set, uint32_t slot, const struct cgroup_ref *cgroups,
		       size_t nr, struct errtext *err)
{
	int r = name_cgroups(set, set->skel->bss->shared.slots[slot].job, cgroups, nr);

	table_changed(set);
	return r ? errtext_set(err, r, "cannot add a cgroup of a job: %s", strerror(-r)) : 0;
}

int probe_set_job_tree(struct probe_set *set, uint32_t slot, pid_t tgid, bool of_root,
		       struct errtext *err)
{
	struct shared *shared = &set->skel->bss->shared;
	int fd = bpf_map__fd(set->skel->maps.seeds), r = 0;
	uint32_t job = shared->slots[slot].job, process = (uint32_t)tgid;

	shared->slots[slot].of_root = of_root;
	shared->trees_begun = shared->trees_taken = 0;
	if (bpf_map_update_elem(fd, &process, &job, BPF_ANY))
		r = -errno;
	if (!r)
		r = probe_set_seed_process(set, tgid);
	bpf_map_delete_elem(fd, &process);
	if (!r && !shared->trees_begun)
		r = -ESRCH;
	table_changed(set);
	if (shared->trees_taken)
		return errtext_set(err, -EBUSY, "it is part of a job that is counted already");
	return r ? errtext_set(err, r, "cannot add process %d: %s", (int)tgid, strerror(-r)) : 0;
}

int probe_set_job_end(struct probe_set *set, uint32_t slot)
{
	struct shared *shared = &set->skel->bss->shared;
	int r = forget_cgroups(set, shared->slots[slot].job);

	if (r)
		return r;
	__atomic_store_n(&shared->slots[slot].job, 0, __ATOMIC_SEQ_CST);
	while (shared->slots_end > 1 && !shared->slots[shared->slots_end - 1].job)
		shared->slots_end--;
	table_changed(set);
	return 0;
}
