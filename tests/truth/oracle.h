/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The effect of the page cache on one file, learnt from the kernel alone: the presence of every
 * page before and after each operation, and, from the difference, the figures that an exact
 * observer must report. Owns the state of pages; the operations are in op.h. Presence comes from
 * cachestat(2), which shows a page as soon as it is added. On kernels without this call it comes
 * from mincore(2), which shows a page when its I/O has ended: then each operation is followed by a
 * wait for all I/O, and patterns that depend on I/O in flight determine fewer figures.
 */
#ifndef ORACLE_H
#define ORACLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

#define PAGE_BYTES ((uint64_t)sysconf(_SC_PAGESIZE))

/* X(name): the name is also the key in the expectation that run.py compares. */
#define ORACLE_FIGURES(X)                                                                          \
	X(read_calls)                                                                              \
	X(read_bytes)                                                                              \
	X(lookups)                                                                                 \
	X(hits)                                                                                    \
	X(misses)                                                                                  \
	X(demand_pages)                                                                            \
	X(prefetched_pages)                                                                        \
	X(sync_async)                                                                              \
	X(willneed)                                                                                \
	X(readahead2)                                                                              \
	X(mmap_around)                                                                             \
	X(used)                                                                                    \
	X(used_late)                                                                               \
	X(delayed_hits)                                                                            \
	X(evicted_unused)                                                                          \
	X(resident_unused)                                                                         \
	X(untracked)                                                                               \
	X(refaults)                                                                                \
	X(refault_misses)                                                                          \
	X(written_pages)                                                                           \
	X(added)                                                                                   \
	X(evicted)                                                                                 \
	X(evicted_dontneed)                                                                        \
	X(evicted_drop_caches)                                                                     \
	X(evicted_truncate)                                                                        \
	X(evicted_direct_io)                                                                       \
	X(major)                                                                                   \
	X(direct_read_bytes)                                                                       \
	X(balance)

enum figure {
#define X(name) F_##name,
	ORACLE_FIGURES(X)
#undef X
		F_NR,
};

#define KNOW(name) (1ULL << F_##name)
/* balance: added - evicted, which must equal the resident pages if none were before. */
#define KNOW_CALLS (KNOW(read_calls) | KNOW(read_bytes) | KNOW(lookups))
#define KNOW_MOVES                                                                                 \
	(KNOW(added) | KNOW(evicted) | KNOW(evicted_dontneed) | KNOW(evicted_drop_caches) |        \
	 KNOW(evicted_truncate) | KNOW(evicted_direct_io) | KNOW(refaults) | KNOW(written_pages) | \
	 KNOW(direct_read_bytes))
/* Overlapping requests: from outside it is not known for which of them a page was added. */
#define KNOW_OVERLAPPED (KNOW_CALLS | KNOW_MOVES | KNOW(willneed) | KNOW(readahead2))
/* The use of a mapped page cannot be seen, so there are no fates. */
#define KNOW_MAPPED                                                                                \
	(KNOW_CALLS | KNOW_MOVES | KNOW(hits) | KNOW(misses) | KNOW(demand_pages) |                \
	 KNOW(prefetched_pages) | KNOW(mmap_around) | KNOW(sync_async) | KNOW(willneed) |          \
	 KNOW(major))
/* Some pages came and left unseen: only figures that they do not change are known. */
#define KNOW_STAYED                                                                                \
	(KNOW_CALLS | KNOW(hits) | KNOW(misses) | KNOW(demand_pages) | KNOW(sync_async) |          \
	 KNOW(used) | KNOW(resident_unused) | KNOW(untracked) | KNOW(balance))
/* All except used_late and delayed_hits, which depend on the speed of the device. */
#define KNOW_SETTLED (KNOW(used_late) | KNOW(delayed_hits))
#define KNOW_READS   (((1ULL << F_NR) - 1) & ~KNOW_SETTLED & ~KNOW(balance))

enum op_kind {
	OP_READ,    /* one read-family call */
	OP_BRING,   /* a call that only prefetches; figure = its origin */
	OP_DROP,    /* a call that only drops; figure = the cause */
	OP_WRITE,   /* a buffered write */
	OP_TOUCH,   /* one access to a mapped page */
	OP_DIRECT,  /* direct I/O; figure = F_direct_read_bytes for reads */
	OP_OVERLAP, /* several read calls at once: only sums of pages are known */
};

struct op {
	enum op_kind kind;
	enum figure figure;
	uint64_t offset;
	uint64_t length;   /* bytes requested; 0: any page may come or go */
	uint64_t returned; /* bytes got */
};

struct oracle {
	char path[512];
	int fd; /* the oracle's own; only cachestat(2) and fstat(2) use it */
	unsigned char *map,
		*bytes; /* mincore(2): a mapping that is never touched, and its answer */
	dev_t dev;
	ino_t ino;
	uint64_t size_bytes; /* as of the last operation */
	uint64_t nr_pages;   /* pages watched; the largest size the file will have */
	uint64_t f[F_NR];
	uint64_t slack[F_NR]; /* the true value is in [f, f + slack]: a call cut by a kill */
	uint64_t known;
	bool settle; /* let all I/O end before each operation */
	bool gone;   /* its inode no longer exists */
	bool disturbed;
	char reason[160];
	struct op running; /* phase IN_CALL: the operation of a killed child */
	volatile int phase;
	uint64_t *present, *now, *outstanding, *ghost, *other;
	uint64_t *stray; /* mincore(2): pages added beyond the end of the file */
};

enum { PHASE_IDLE, PHASE_SCAN, PHASE_IN_CALL };

/* Whether the result of mlock() or mlockall() is acceptable: an unprivileged user may lock
 * little, and populated pages stay unless the machine swaps. */
bool oracle_may_go_on(int locked);
/* State is shared with children forked later. max_bytes 0: the file does not grow. */
struct oracle *oracle_new(const char *path, uint64_t max_bytes);
/* Around each operation. before() detects whether others moved pages. */
void oracle_before(struct oracle *o, const struct op *op);
void oracle_after(struct oracle *o, const struct op *op);
/* A child was killed during an operation. Settles what can be known about it. */
void oracle_after_kill(struct oracle *o);
/* Looks at every page once more and closes the fd. Call after the last operation. */
void oracle_finish(struct oracle *o);
/* The last close of an unlinked file: all its pages are evicted. */
void oracle_expect_gone(struct oracle *o);
/* Pages [first, last] of a byte range cut at the file's end; false: none. */
bool oracle_range(const struct oracle *o, const struct op *op, uint64_t *ret_first,
		  uint64_t *ret_last);
void oracle_print(struct oracle *o, FILE *out);
void oracle_disturb(struct oracle *o, const char *why, uint64_t nr);
void oracle_settle(struct oracle *o);

/* scan.c: cached pages among the first nr of a file, including those in flight. */
uint64_t scan_count(int fd, uint64_t nr);
/* Updates o->now from o->present after an operation on [first, first + nr). */
void scan_changes(struct oracle *o, uint64_t first, uint64_t nr);
/* Checks every page, without relying on earlier results. */
void scan_all(struct oracle *o, uint64_t *map);

/* cachestat.c */
bool cachestat_exists(void);
uint64_t cachestat_count(int fd, uint64_t first, uint64_t nr);
/* Like scan_changes() and scan_all(), but ignore phantom drops. */
void cachestat_changes(struct oracle *o);
void cachestat_all(struct oracle *o, uint64_t *map);

/* mincore.c: maps the file of o for the looks below, which may be at any of its pages. */
void mincore_open(struct oracle *o);
void mincore_close(struct oracle *o);
uint64_t mincore_count(int fd, uint64_t nr);
/* Looks until the range equals that of the look before, each with an idle device; map has the
 * result of the last one. */
void mincore_look(struct oracle *o, uint64_t *map, uint64_t first, uint64_t nr);
/* The distance from an operation at which pages can come or go: several windows of readahead. */
uint64_t mincore_reach(const struct oracle *o, uint64_t nr);

/* looks.c: the way to detect presence: from WL_ORACLE in the environment, else the best the
 * kernel has. */
enum looks {
	LOOKS_CACHESTAT,
	LOOKS_MINCORE,
	LOOKS_BOTH, /* each checks the answers of the other */
};
enum looks looks(void);
const char *looks_name(void);
/* Pages are seen while their I/O is in flight. */
bool looks_see_flight(void);

/* settle.c: waits until the device has read what this process, its threads and its ended
 * children requested since the last wait, and until the pages are up to date. The first wait of
 * a thread starts the count. False: the data does not arrive. */
bool settle_device(dev_t dev);

#endif
