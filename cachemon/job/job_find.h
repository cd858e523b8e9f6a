/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds a job by its external name: the cgroup of a Slurm job, a systemd unit, a container, a pod,
 * a virtual machine, or any cgroup by its last component; and the name by the cgroup. Owns the
 * naming of those cgroups. job_names.h turns names of containers and pods into what is searched for
 * here.
 */
#ifndef JOB_FIND_H
#define JOB_FIND_H

#include <stdbool.h>

#include "cachemon/job/cgroup.h"

/* Names of jobs, with the NUL: more than a component of a path has. */
enum { FIND_NAME_MAX = 256 };

/* In order of preference, if a name matches several. */
enum find_kind {
	FIND_SLURM,
	FIND_UNIT,
	FIND_CONTAINER,
	FIND_POD,
	FIND_VM,
	FIND_LAST,
	FIND_NR,
};

/* "slurm", "unit", "container", "pod", "vm", "cgroup". */
const char *find_kind_name(enum find_kind kind);

/*
 * Whether the cgroup at path ("/a/b") is what name means as a kind:
 *   slurm      job_ID below slurmstepd.scope (also NODE_slurmstepd.scope) at the root or in
 *              system.slice, or below uid_* of slurm or slurm_* at the root; a step ID.STEP:
 *              step_STEP directly in that. Users cannot make these.
 *   unit       NAME, a .service, .scope or .slice; NAME.service if NAME has no such suffix
 *   container  an id of 64 hex digits that begins with NAME (at least 12 digits): ID, or
 *              docker-ID.scope and the like of containerd, CRI-O, podman and nerdctl
 *   pod        a UID: podUID below kubepods, or *-podUID.slice of the slices kubepods,
 *              kubepods-burstable and kubepods-besteffort, where dashes of the UID are "_"; also
 *              below a cgroup root of the kubelet: /kubelet/kubepods, kubelet-kubepods.slice
 *   vm         a domain of libvirt: machine-qemu\x2dN\x2dNAME.scope, where NAME is escaped as
 *              systemd does, or qemu-N-NAME.libvirt-qemu below machine
 *   cgroup     the last component, whole
 */
bool find_matches(const char *path, enum find_kind kind, const char *name);

/*
 * The inverse: what the cgroup at path is, so that find_matches(path, kind, name) is true. The name
 * is a Slurm ID or ID.STEP, a whole container ID, the UID of a pod (with its dashes), the name of a
 * virtual machine or of a unit, with its suffix. false: none of these.
 *
 * Users choose names inside their own services, sessions and containers. So below a service, a
 * scope, a container, a pod or a virtual machine nothing is a job of its own, and below user.slice
 * only units are, down to the first service or scope.
 */
bool find_classify(const char *path, enum find_kind *ret_kind, char ret_name[FIND_NAME_MAX]);
/* Whether a cgroup below this one may be a job of its own. */
bool find_holds_jobs(const char *path);

/*
 * Searches every hierarchy. kinds: a bit for each allowed kind. -ENOENT: none; -ENOTUNIQ: several;
 * the text names two.
 */
int find_cgroup(const struct mountinfo *mi, unsigned int kinds, const char *name,
		struct cgroup_ref *ret, enum find_kind *ret_kind, struct errtext *err);

#endif
