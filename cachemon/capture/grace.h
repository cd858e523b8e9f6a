/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A grace period: every BPF program that runs now has ended. Owns the way to wait for it: replacing
 * an inner map makes the kernel wait, for exactly this purpose and on all machines
 * (kernel/bpf/syscall.c: maybe_wait_bpf_programs()). membarrier(2), which waits too, fails if CPUs
 * run without a tick (nohz_full).
 */
#ifndef GRACE_H
#define GRACE_H

struct grace {
	int inner, outer; /* maps */
};

#define GRACE_NONE ((struct grace){-1, -1})

/* -errno; then nothing needs to be freed. */
int grace_open(struct grace *ret);
int grace_wait(const struct grace *g);
void grace_close(struct grace *g);

#endif
