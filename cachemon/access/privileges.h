/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The capabilities of this process, by libcap: which it holds, and giving them up. Sets are masks,
 * bit = CAP_*. Owns no decision on what is needed. For a process of one thread: a capability set is
 * one thread's.
 */
#ifndef PRIVILEGES_H
#define PRIVILEGES_H

#include <stdint.h>
#include <sys/capability.h>

#define PRIVILEGE(cap) (UINT64_C(1) << (cap))

/* The permitted set: capabilities that are effective, or become so by privileges_use(). */
uint64_t privileges_permitted(void);
/* The effective set, which the kernel checks. */
uint64_t privileges_effective(void);

/* Makes those of wanted effective that are permitted, and no others; to be taken back. */
int privileges_use(uint64_t wanted);

/* Gives up all that is not in kept, for good; what is permitted is effective. Nothing of them is
 * inherited by a program that is executed. */
int privileges_keep(uint64_t kept);

/* Takes given out of what a program that is executed inherits. For a forked child. */
int privileges_not_inherited(uint64_t given);

#endif
