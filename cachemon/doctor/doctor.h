/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The results of doctor, and their two formats. Owns no reading and no judging: those are plan/
 * and capture/map_memory; cmd/cmd_doctor.c gathers them here. doctor_cap*() are in doctor_text.c.
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
	struct probe_plan plan;		   /* for this process, asked for everything */
	bool privileged;		   /* enough to try */
	struct probe_plan with_privileges; /* by BTF alone, where not privileged */
	int memory_err;			   /* the maps do not fit here: memory says why */
	struct errtext memory;
	struct map_size maps[DOCTOR_MAPS_MAX];
	size_t nr_maps;
	const char *path; /* NULL: none given */
	struct fs_support fs;
};

struct doctor_cap {
	int cap;
	const char *name;
	bool required;	     /* nothing can be measured without it */
	const char *what;    /* it is for */
	const char *without; /* what follows where it is missing */
};

/* Terminated by a name of NULL. */
const struct doctor_cap *doctor_caps(void);
/* How to get the missing ones that are worth it. */
const char *doctor_cap_remedy(void);
/* Where it is missing and yet not missed on this machine: why; else NULL. */
const char *doctor_cap_spared(const struct kernel_caps *caps, int cap);

void doctor_print_text(const struct doctor *d);
/* 0 or -errno. */
int doctor_print_json(const struct doctor *d);

#endif
