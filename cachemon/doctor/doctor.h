/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The results of doctor, and their two formats. Owns no reading and no judging: plan/ and
 * capture/map_memory do that; cmd/cmd_doctor.c collects them. doctor_cap*() are in doctor_text.c.
 */
#ifndef DOCTOR_H
#define DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "cachemon/capture/map_memory.h"
#include "cachemon/plan/fs_support.h"
#include "cachemon/plan/probe_plan.h"
#include "cachemon/base/errtext.h"

#define DOCTOR_MAPS_MAX MAP_SIZES_MAX

struct doctor {
	struct kernel_caps caps;
	struct probe_plan plan;		   /* for this process, at level full */
	bool privileged;		   /* enough to try */
	struct probe_plan with_privileges; /* from BTF alone, without privileges */
	int memory_err;			   /* the maps do not fit here; memory has the reason */
	struct errtext memory;
	struct map_size maps[DOCTOR_MAPS_MAX];
	size_t nr_maps;
	double vfs_call_ns; /* what ROLE_VFS_CALLS adds to each system call; < 0: unknown */
	const char *path;   /* NULL: none */
	struct fs_support fs;
};

struct doctor_cap {
	int cap;
	const char *name;
	bool required;	     /* nothing can be measured without it */
	const char *what;    /* its purpose */
	const char *without; /* the consequence of its absence */
};

/* Terminated by a name of NULL. */
const struct doctor_cap *doctor_caps(void);
/* How to get the missing capabilities that are useful. */
const char *doctor_cap_remedy(void);
/* Why a missing capability does not matter on this machine; else NULL. */
const char *doctor_cap_spared(const struct kernel_caps *caps, int cap);

void doctor_print_text(const struct doctor *d);
/* 0 or -errno. */
int doctor_print_json(const struct doctor *d);

#endif
