/* SPDX-License-Identifier: BSD-2-Clause */
/* Internals of the selector, shared by its own files only. */
#ifndef SELECTOR_IMPL_H
#define SELECTOR_IMPL_H

#include "cachemon/job/job_find.h"
#include "cachemon/job/proctree.h"
#include "cachemon/job/selector.h"

/* The cgroup with that name, as find_cgroup(): kinds has a bit for each allowed kind. */
int selector_found(const struct selector_places *places, unsigned int kinds, const char *value,
		   struct selector *ret, struct errtext *err);

/* The error for a cgroup that was not found: the places searched; more: further places, or "". */
int selector_refuse_kind(const struct selector_places *places, const char *what, const char *value,
			 const char *more, struct errtext *err);

/* Adds the names of the identity to its text: "…, uid: 7" -> "…, uid: 7, name: train, partition:
 * batch". 0 or -ENOMEM. */
int selector_add_names(struct selector *s);

/* /proc of another pid namespace has other numbers than kill(1) and a shell's $!. */
int selector_refuse_other_pids(const struct selector_places *places, struct errtext *err);

/* selector_slurm.c: of the job ID, or of its step ID.STEP */
int selector_slurm(const struct selector_places *places, const char *value, struct selector *ret,
		   struct errtext *err);

#endif
