/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RLIMIT_MEMLOCK, which binds the memory of BPF on kernels before 5.11; later ones charge it to the
 * memory cgroup (capture/map_memory). Owns telling which of the two a kernel does, and the limit.
 */
#ifndef MEMLOCK_H
#define MEMLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Whether the limit binds, by a map that is made with none left. False also where no map can be
 * made. The limit is what it was before. */
bool memlock_binds(void);

/* UINT64_MAX: unlimited. */
uint64_t memlock_bytes(void);

/* Raises the limit to what is needed, as far as it goes: to the hard limit, beyond it with
 * CAP_SYS_RESOURCE. It is never lowered. -EPERM: it stays below, *ret_bytes is what it is now. */
int memlock_raise(uint64_t needed, uint64_t *ret_bytes);

#endif
