/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The machine's hardware and free memory, read at the end of each interval from procfs, sysfs and
 * the cgroup filesystems below a root that tests can set. Owns the reading and the list of devices;
 * machine_parse.h parses the texts.
 */
#ifndef MACHINE_FACTS_H
#define MACHINE_FACTS_H

#include <sys/types.h>

#include "cachemon/account/sample.h"
#include "cachemon/job/cgroup.h"
#include "cachemon/access/mountinfo.h"

struct machine_facts;

/* root: "" for this machine. */
int machine_facts_new(const char *root, uint64_t page_size, struct machine_facts **ret);
void machine_facts_free(struct machine_facts *f);

/* The owner of the limit: a cgroup, or a process, which is in one; neither: no owner. mounts: those
 * of now. */
int machine_facts_of_cgroup(struct machine_facts *f, const struct mountinfo *mounts,
			    const struct cgroup_ref *cgroup);
int machine_facts_of_process(struct machine_facts *f, const struct mountinfo *mounts, pid_t pid);

/* The present state, with the devices of these filesystems; borrowed until the next call. */
const struct sample_machine *
machine_facts_take(struct machine_facts *f, const struct sample_filesystem *filesystems, size_t nr);

#endif
