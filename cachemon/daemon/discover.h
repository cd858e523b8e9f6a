/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The jobs of a node, by their cgroups: one walk over the hierarchies at the start, and afterwards
 * the records of cgroups that are made and removed (bpf/births.h). Another walk follows if records
 * were lost. Owns the table of jobs; job/job_find.h says which cgroup is a job, the settings say
 * which jobs are wanted.
 *
 * A Slurm job is one job with all its steps, in every hierarchy; so is a pod with its containers.
 * Paths are those of the kernel, so the caller must be in its first cgroup namespace.
 */
#ifndef DISCOVER_H
#define DISCOVER_H

#include "bpf/births.h"
#include "cachemon/daemon/node_config.h"
#include "cachemon/job/cgroup.h"
#include "cachemon/job/job_find.h"

struct discover_job {
	enum find_kind kind;
	const char *id;	  /* as find_classify() has it: unique among the jobs of its kind */
	const char *name; /* NAMESPACE/NAME of a pod, the name of a container; NULL: none known */
	/* In each hierarchy usually one. They have neither a descriptor nor a directory. */
	const struct cgroup_ref *cgroups;
	size_t nr_cgroups;
	uint32_t data; /* the receiver's own; 0 at first */
};

/* Of wanted jobs only. */
struct discover_events {
	void (*appeared)(void *arg, struct discover_job *job);
	/* It has a name now, or other cgroups. */
	void (*changed)(void *arg, struct discover_job *job);
	/* Its last cgroup was removed; or it is not wanted any more, by its name, which only became
	 * known now, or by other settings. The job is invalid afterwards. */
	void (*gone)(void *arg, struct discover_job *job);
};

struct discover_places {
	const char *mountinfo; /* "/proc/self/mountinfo" */
	const char *cgroup;    /* "/proc/self/cgroup" */
	const char *root;      /* of the files of container runtimes; "": this machine */
};

struct discover;

/* config and places outlive it. 0 or -ENOMEM. */
int discover_new(const struct discover_places *places, const struct node_config *config,
		 const struct discover_events *events, void *arg, struct discover **ret);
/* Other settings: known jobs that they select appear, and others go. */
void discover_select(struct discover *d, const struct node_config *config);
/* Calls no event. */
void discover_free(struct discover *d);

/* Takes a record of the ring; d: struct discover. A birth_receive of capture/birth_ring.h. */
void discover_birth(void *d, const struct birth *b);

/*
 * Call it at the start, when the programs are attached, and after the ring was consumed. Walks if
 * no walk succeeded yet, or if dropped, the number of lost records, has changed, but spends at most
 * a twentieth of the time with walks. *ret_due_ns: when to call it again even if there is no
 * record; UINT64_MAX: never. 0, or the reason why a walk failed: -errno.
 */
int discover_settle(struct discover *d, uint64_t dropped, uint64_t now_ns, uint64_t *ret_due_ns);

/* Calls changed() for each job whose receiver has no data. */
void discover_again(struct discover *d);

/* Walks so far. */
uint64_t discover_walks(const struct discover *d);

#endif
