/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Failures on demand under SQLite and the store: the n-th write, sync, truncation, opening,
 * deletion, mapping of shared memory or allocation fails. Owns the VFS, the allocators and the
 * counters; what to fail, and what must hold afterwards, is the caller's.
 */
#ifndef FAULTS_H
#define FAULTS_H

#include <stdbool.h>

enum fault_op {
	FAULT_WRITE,
	FAULT_SYNC,
	FAULT_TRUNCATE,
	FAULT_OPEN,
	FAULT_DELETE,
	FAULT_SHM,
	FAULT_SQLITE_ALLOC, /* inside of SQLite */
	FAULT_OWN_ALLOC,    /* in what is linked with --wrap=malloc and the like */
	FAULT_OP_NR,
};

enum fault_kind {
	FAULT_EIO,
	FAULT_ENOSPC,
	FAULT_SHORT,	 /* half of a write arrives, then an error */
	FAULT_DISK_FULL, /* from the n-th on, everything that needs the disk fails */
};

struct fault {
	enum fault_op op;
	enum fault_kind kind;
	unsigned long nth; /* from 1; 0: none, only count */
};

/* Once, before SQLite is used. */
int faults_install(void);
/* Counts from 0 again and fails what f says. */
void faults_arm(const struct fault *f);
/* Nothing fails from now on. */
void faults_disarm(void);
unsigned long faults_count(enum fault_op op);
/* The fault has happened. */
bool faults_fired(void);

#endif
