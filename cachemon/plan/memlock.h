/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RLIMIT_MEMLOCK, which limits BPF memory on kernels before 5.11; later ones charge it to the
 * memory cgroup (capture/map_memory). Owns the test which of the two applies, and the limit.
 */
#ifndef MEMLOCK_H
#define MEMLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Whether the limit applies: sets it to 0 and tries to create a map. Also false if no map can be
 * created for another reason. Restores the limit. */
bool memlock_binds(void);

/* UINT64_MAX: unlimited. */
uint64_t memlock_bytes(void);

/* Raises the limit towards the need: up to the hard limit, beyond it with CAP_SYS_RESOURCE.
 * Never lowers it. -EPERM: it is still too low; *ret_bytes is the present value. */
int memlock_raise(uint64_t needed, uint64_t *ret_bytes);

#endif
