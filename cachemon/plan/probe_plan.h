/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From facts to probes: one choice per role, or none with the reason, and what can be measured with
 * them. Pure: reads no file, tries nothing, never checks a version number. Owns the decision;
 * plan/kernel_caps owns the facts, capture/probe_set loads and attaches.
 */
#ifndef PROBE_PLAN_H
#define PROBE_PLAN_H

#include <stdbool.h>

#include "cachemon/figures/counters.h"
#include "cachemon/plan/probe_table.h"

#define PLAN_REASON_MAX 1024

enum watch_level { LEVEL_COLD, LEVEL_FULL, LEVEL_AUTO };

struct plan_request {
	enum watch_level level;
	bool advice_calls; /* see every advice call, not only its effects */
	bool cgroup;	   /* the job is a cgroup, which tasks join and leave */
	bool births;	   /* cgroups that are made may be further jobs */
	bool trees;	   /* process trees of users may be further jobs */
	bool sockets;	   /* count bytes of the network: many jobs only */
	/* Count calls of files and directories, many jobs only: */
	bool vfs_calls;	    /* at the end of all system calls of the machine */
	bool vfs_functions; /* at the end of the functions that do their work */
};

/* Values of a run's probe table. */
enum probe_state {
	PROBE_LIVE,   /* chosen; live once attached */
	PROBE_ABSENT, /* not wanted, or no candidate fits this kernel */
	PROBE_FAILED, /* chosen, but the kernel rejected it */
};

struct probe_choice {
	enum probe_role role;
	bool wanted;
	bool spare; /* not wanted, and nothing is lost: other roles do its work */
	enum probe_state state;
	const char *program; /* program of the table; NULL: none */
	size_t row;	     /* its row in the table */
	enum hook_kind kind;
	char hook[64];		       /* "tp_btf:mm_filemap_get_pages"; "": none */
	char reason[PLAN_REASON_MAX];  /* "" when live */
	char instead[PLAN_REASON_MAX]; /* live: why no preferred candidate; "": it is the first */
};

struct probe_plan {
	struct probe_choice choices[ROLE_NR]; /* in order of role */
	struct plan_request request;
	enum probe_build build;
	bool preemptible;  /* programs must disable preemption themselves */
	bool drops_behind; /* pages are evicted for a cause that only a stack shows */
	bool symbols; /* addresses of kernel functions are known, which causes in a stack need */
	bool measured[GROUP_NR];
	char reason[GROUP_NR][PLAN_REASON_MAX]; /* "" when measured */
	bool viable;				/* a run would measure something useful */
	char refusal[PLAN_REASON_MAX];		/* why not; "" when viable */
};

/* table: probe_table_own() except in tests. */
void probe_plan_make(const struct kernel_caps *caps, const struct plan_request *request,
		     const struct probe_table *table, struct probe_plan *ret_plan);

/* Whether a counter is inexact while a role is off part of the time. Fates stay exact: untracked
 * pages are counted as such. */
bool probe_plan_needs(enum counter c, enum probe_role role);

/* Whether a function plays the role that a tracepoint plays elsewhere. */
bool probe_plan_by_function(const struct probe_plan *plan, enum probe_role role);

/* Whether the role is played at all. */
bool probe_plan_has(const struct probe_plan *plan, enum probe_role role);

/*
 * Records that program could not be loaded or attached (err: -errno or errno) and decides again
 * what is measured and whether a run is viable. -ENOENT: no live choice has this program.
 */
int probe_plan_mark_failed(struct probe_plan *plan, const char *program, int err);

/*
 * The same, but the role gets its next fitting candidate: 1. 0: no candidate left. Roles that
 * depend on how reads are seen are planned again with ROLE_READ.
 */
int probe_plan_fall_back(const struct kernel_caps *caps, const struct probe_table *table,
			 struct probe_plan *plan, const char *program, int err);

/*
 * Whether a counter is known: its group is, and so are its additional needs. If not, writes the
 * reason to buf; true leaves buf unchanged.
 */
bool probe_plan_measures(const struct probe_plan *plan, enum counter c, char *buf, size_t size);

/* "live", "absent", "failed". */
const char *probe_state_name(enum probe_state state);

#endif
