/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process and its descendants, from a directory laid out as /proc. The result is a snapshot:
 * record forks and ends first (the BPF side), then read /proc, so that no process is missed in
 * between. Processes whose parents ended earlier cannot be recognised as descendants.
 */
#ifndef PROCTREE_H
#define PROCTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The thread group of a process or thread. -ESRCH: absent, or ended but not reaped. */
int proctree_tgid(const char *proc_root, pid_t pid, pid_t *ret_tgid);

/* Facts of a process for its selector. */
struct proctree_about {
	uid_t uid; /* effective */
	uid_t real;
	bool kernel;   /* a kernel thread: it has no files, and works for everybody */
	char name[16]; /* comm; "" if it has ended */
};
/* Flags of a task from include/linux/sched.h; 0: it has ended. */
#define PROCTREE_EXITING 0x00000004UL
#define PROCTREE_KTHREAD 0x00200000UL
unsigned long proctree_flags(const char *proc_root, pid_t pid);
/* When it started, in clock ticks after boot: with the number it identifies a process; 0: it has
 * ended. */
unsigned long long proctree_started(const char *proc_root, pid_t pid);

int proctree_about(const char *proc_root, pid_t tgid, struct proctree_about *ret);

/* A process, perhaps ended, and its parent. */
struct proctree_link {
	pid_t tgid;
	pid_t parent;
};

/* Where parents are recorded; the caller frees the array. */
struct proctree_notes {
	int (*read)(void *ctx, struct proctree_link **ret, size_t *ret_nr);
	void *ctx;
};

/* The roots that live, in their order, then their descendants, from /proc or the records (notes;
 * NULL: none); the caller frees the array. The records are read after /proc: they include each
 * process that lives then, or one of its ancestors. Recorded processes may have ended. *ret_roots:
 * how many roots live. -ESRCH: none. */
int proctree_descendants(const char *proc_root, const pid_t *roots, size_t nr_roots,
			 const struct proctree_notes *notes, pid_t **ret_tgids, size_t *ret_nr,
			 size_t *ret_roots);

/*
 * Root's processes in the caller's pid namespace whose executable name begins with program and
 * whose command line begins with title. Setuid programs that a user started and processes of
 * containers are left out, so users cannot imitate them. The caller frees the array. *ret_nr 0:
 * none. -EACCES: a process with that title hides its program.
 */
int proctree_titled(const char *proc_root, const char *program, const char *title,
		    pid_t **ret_tgids, size_t *ret_nr);

/* The value of a variable in the environment that a process was started with, which it and its user
 * may have changed; the caller frees it. NULL: not set, or not readable. */
char *proctree_environment(const char *proc_root, pid_t tgid, const char *variable);

/*
 * How many levels the pid namespace of /proc is above the caller's: 0 if both are the same. -ESRCH:
 * /proc does not show the caller.
 */
int proctree_levels_up(const char *proc_root, unsigned int *ret_levels);

#endif
