/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Records of accesses to traced files: every event of a few files, in order. Owns layouts only.
 * account/traces.c converts it to what is stored (cachemon/figures/trace_code.h).
 */
#ifndef CACHEMON_TRACE_H
#define CACHEMON_TRACE_H

#include "bpf/cachemon.h"

#define NR_TRACED	 4096  /* in a run */
#define NR_TRACE_FILTER	 1024  /* a power of two */
#define NR_STRATA	 8     /* strata of sizes: below 16 KiB, 128 KiB, 1 MiB, ... 4 GiB, above */
#define STRATUM_FILES	 8     /* files traced at a time in each: those with the lowest hashes */
#define TRACE_EVENTS_MAX 65536 /* events per file; later ones are not recorded */
/* Maximum reads in a row without a window, an added or a removed page. Such reads are hits, and
 * recording one costs ten times a plain hit. */
#define TRACE_QUIET_MAX	 8192
#define TRACE_BURST_MAX	 100000 /* events between two samples; with more, no file is chosen */
#define TRACE_RING_BYTES (4 << 20)

/* Values as those of enum trace_kind and enum trace_hook; NOTE_BEGIN is not stored. */
enum note_kind {
	NOTE_READ = 2,
	NOTE_FAULT = 3,
	NOTE_MAP = 4,
	NOTE_ADVICE = 5,
	NOTE_WINDOW = 6,
	NOTE_ADD = 7,
	NOTE_REMOVE = 8,
	NOTE_BEGIN = 15, /* a file was chosen, by its hash */
};
enum note_hook { NOTE_SYNC = 1, NOTE_ASYNC = 2, NOTE_ORDER = 3, NOTE_UNBOUNDED = 4 };

/* Flags, as in the enum of trace_code.h. */
enum {
	NOTE_RANDOM = 1 << 0,
	NOTE_NOREUSE = 1 << 1,
	NOTE_VM_RANDOM = 1 << 2,
	NOTE_VM_SEQUENTIAL = 1 << 3,
	NOTE_VM_EXEC = 1 << 4,
	NOTE_MISSING = 1 << 5,
	NOTE_RETRY = 1 << 6,
	NOTE_PART = 1 << 7,
	NOTE_RANGE = 1 << 8,
	NOTE_AFTER = 1 << 9,
	NOTE_BY_WRITE = 1 << 11,
};

struct trace_begin {
	struct file_key file;
	__u64 cached_pages; /* size of the file when it was chosen */
	__u32 hash;	    /* hash of the file, which is below the threshold */
	__u32 stratum;
	__s32 max_order; /* maximum order of its folios; -1: unknown */
	__u32 pad;
};

/* struct file_ra_state and its neighbours. */
struct trace_state {
	__u64 start;
	__u32 size;
	__u32 async_size;
	__u32 mmap_miss;
	__u32 order;
	__s64 prev_pos;
};

struct trace_vma {
	__u64 start, end; /* addresses; end 0: unknown */
	__u64 offset_pages;
	__u64 address; /* touched address */
};

struct trace_record {
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u32 number;  /* number of the traced file, from 1 */
	__u32 tid;
	__u8 kind; /* NOTE_* */
	__u8 detail;
	__u8 call;
	__u8 order;
	__u32 flags;
	__u64 pos;
	__u64 len;
	__u64 size_bytes; /* size of the file */
	__u64 file;	  /* address of the struct file, as an identity; 0: unknown. Its fields: */
	__u32 ra_pages;
	__u32 io_pages; /* of the device; also set without a file */
	struct trace_state state;
	union {
		struct trace_vma vma;
		struct trace_begin begin;
	};
};

enum traced_state {
	TRACED_LIVE = 1,
	TRACED_PUSHED = 2, /* another file has its place */
	TRACED_LONG = 3,   /* has the maximum of events */
	TRACED_QUIET = 6,  /* has the maximum of reads without any other event */
	TRACED_LOST = 4,   /* an event did not fit in the ring */
	TRACED_ENDED = 5,
};

/* The state of a file that is or was traced; a map value by file_key. */
struct traced {
	__u32 number;
	__u32 state;
	__u32 from_epoch; /* no event of an earlier epoch is recorded */
	__u32 events;
	__u32 quiet; /* reads since the last other event */
	__u32 pad;
};

/* A file that may be chosen: its key and its state. */
struct trace_pick {
	struct file_key file;
	struct file_key before; /* the file that loses its place */
	__u64 was;		/* the word of that place */
	struct traced entry;
	__u32 hash;
	__u32 stratum;
};

/* Details of an event before it is sent, in addition to its arguments, and values that do not fit
 * on the stack. */
struct trace_note {
	__u64 file;
	struct trace_vma vma;
	__u32 vma_flags; /* NOTE_VM_* */
	__u32 lookahead; /* pages; for a window without a file */
	struct file_key key;
	struct trace_pick pick;
};

/* The place of a traced file. */
struct trace_place {
	__u64 word; /* its hash << 32 | its number; 0: free */
	struct file_key file;
};

/* Variables that programs and user space share. */
struct trace_shared {
	volatile __u32 on;			/* nonzero: files are chosen */
	volatile __u32 live;			/* number of files traced now */
	volatile __u32 ended;			/* a program ended the trace of a file */
	volatile __u32 burst;			/* events since the last sample */
	volatile __u32 numbers;			/* number of files chosen so far */
	volatile __u32 lost;			/* events that did not fit */
	volatile __u32 threshold[NR_STRATA];	/* files with a smaller hash are traced */
	volatile __u32 filter[NR_TRACE_FILTER]; /* traced files, by hash of the inode number */
	struct trace_place places[NR_STRATA][STRATUM_FILES];
};

_Static_assert(sizeof(struct trace_record) == 136, "trace_record");

#endif
