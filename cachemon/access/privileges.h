/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The capabilities of this process, by libcap: queries and drops them. Sets are masks, bit = CAP_*.
 * Owns no decision on what is needed. For single-threaded processes: a capability set belongs to a
 * thread.
 */
#ifndef PRIVILEGES_H
#define PRIVILEGES_H

#include <stdint.h>
#include <sys/capability.h>

#define PRIVILEGE(cap) (UINT64_C(1) << (cap))

/* The permitted set: capabilities that are effective or can be made so by privileges_use(). */
uint64_t privileges_permitted(void);
/* The effective set, which the kernel checks. */
uint64_t privileges_effective(void);

/* Makes exactly the permitted ones of `wanted` effective; reversible. */
int privileges_use(uint64_t wanted);

/* Permanently drops all capabilities except `kept`, and makes the permitted ones effective. An
 * executed program inherits none of them. */
int privileges_keep(uint64_t kept);

/* Removes `given` from what an executed program inherits. For a forked child. */
int privileges_not_inherited(uint64_t given);

#endif
