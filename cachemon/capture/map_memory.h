/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether the maps fit: into RLIMIT_MEMLOCK where that binds them, else into the memory cgroups of
 * this process. Owns the judgement before anything is made, with the figures; a limit that is hit
 * in the middle of a run would end the job instead of cachemon.
 */
#ifndef MAP_MEMORY_H
#define MAP_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "cachemon/base/errtext.h"

/* Maps and programs, for a machine of that size; block_entries and row_entries as those of struct
 * probe_set_config. */
uint64_t map_memory_bytes(uint64_t ram_bytes, unsigned int nr_cpus, uint64_t block_entries,
			  uint64_t row_entries);

/* -ENOMEM: the cgroup is too small, -EPERM: the limit of locked memory; err says so. For_run: a
 * limit of locked memory that can be raised is raised. */
int map_memory_check(uint64_t bytes, bool memlock_binds, bool for_run, struct errtext *err);

#endif
