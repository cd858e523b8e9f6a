/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Failures on demand below SQLite and the store: the n-th write, sync, truncation, open, deletion,
 * mapping of shared memory or allocation fails. Provides the VFS, the allocators and the counters;
 * the caller decides what fails and checks the result.
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
	FAULT_OWN_ALLOC,    /* in code linked with --wrap=malloc and so on */
	FAULT_OP_NR,
};

enum fault_kind {
	FAULT_EIO,
	FAULT_ENOSPC,
	FAULT_SHORT,	 /* half of a write succeeds, then an error */
	FAULT_DISK_FULL, /* the n-th and all later operations that need the disk fail */
};

struct fault {
	enum fault_op op;
	enum fault_kind kind;
	unsigned long nth; /* from 1; 0: only count */
};

/* Once, before SQLite is used. */
int faults_install(void);
/* Restarts the count at 0 and sets the failure to f. */
void faults_arm(const struct fault *f);
/* Disables failures. */
void faults_disarm(void);
unsigned long faults_count(enum fault_op op);
/* Whether the failure has happened. */
bool faults_fired(void);

#endif
