/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process and its descendants, from a directory laid out as /proc. The result is a view of one
 * moment: note forks and ends first (the BPF side), then read /proc, so that no process is missed
 * in between. Processes whose parents ended earlier cannot be recognised as descendants.
 */
#ifndef PROCTREE_H
#define PROCTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The thread group of a process or thread. -ESRCH: absent, or ended and not yet reaped. */
int proctree_tgid(const char *proc_root, pid_t pid, pid_t *ret_tgid);

/* Facts of a process for its selector. */
struct proctree_about {
	uid_t uid;     /* effective */
	bool kernel;   /* a thread of the kernel: it has no files, and works for everybody */
	char name[16]; /* comm; "" when it is gone */
};
/* Flags of a task by include/linux/sched.h; 0: it is gone. */
#define PROCTREE_EXITING 0x00000004UL
#define PROCTREE_KTHREAD 0x00200000UL
unsigned long proctree_flags(const char *proc_root, pid_t pid);

int proctree_about(const char *proc_root, pid_t tgid, struct proctree_about *ret);

/* A process, there or gone, and whose child it was. */
struct proctree_link {
	pid_t tgid;
	pid_t parent;
};

/* Where links are noted; the array is the caller's. */
struct proctree_notes {
	int (*read)(void *ctx, struct proctree_link **ret, size_t *ret_nr);
	void *ctx;
};

/*
 * tgid first, then its descendants, by /proc or by the notes (NULL: none); the array is the
 * caller's. The notes are read after /proc: of whoever lives then, it or one that it descends from
 * is among them. Those of the notes may have ended. -ESRCH: tgid is gone.
 */
int proctree_descendants(const char *proc_root, pid_t tgid, const struct proctree_notes *notes,
			 pid_t **ret_tgids, size_t *ret_nr);

/*
 * How many levels the pid namespace of /proc is above the caller's own: 0 where both are the same.
 * -ESRCH: /proc does not show the caller at all.
 */
int proctree_levels_up(const char *proc_root, unsigned int *ret_levels);

#endif
