/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of containers and pods, from the files in which their runtimes and the kubelet keep them on
 * this machine, without the network. Owns the places and the forms of these files. A file
 * that cannot be read or is not understood names nothing.
 */
#ifndef JOB_NAMES_H
#define JOB_NAMES_H

#include <stddef.h>

/* A container or pod: its id or UID, or the path of its cgroup. */
struct job_named {
	char *id;
	char *name;
	char *path; /* NULL: the cgroup's name has the id */
};

struct job_names {
	struct job_named *list;
	size_t nr, room;
};

/* Adds the containers with that name that Docker, Podman and containerd record below root ("" for
 * this machine), including ended ones. 0 or -ENOMEM. */
int job_names_containers(const char *root, const char *name, struct job_names *ret);

/* The same for Podman without root, whose state is in its user's home. */
int job_names_podman_of_user(const char *home, const char *name, struct job_names *ret);

/* Adds the pods NAMESPACE/NAME, by the directories of their logs; includes earlier pods of that
 * name. */
int job_names_pods(const char *root, const char *name, struct job_names *ret);

/* The inverse: the name of the container with that id, or NAMESPACE/NAME of the pod with that UID;
 * *ret NULL: no file has one, perhaps not yet. 0 or -ENOMEM. */
int job_names_of_container(const char *root, const char *id, char **ret);
int job_names_of_pod(const char *root, const char *uid, char **ret);

/* The places that these functions search, for a message. */
#define JOB_NAMES_CONTAINER_PLACES                                                                 \
	"/var/lib/docker, /var/lib/containers, /run/containerd and your ~/.local/share/containers"
#define JOB_NAMES_POD_PLACES "/var/log/pods"

void job_names_free(struct job_names *names);

#endif
