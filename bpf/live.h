/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The state of a CPU while tasks run on it: the running task, the rows in front of the maps' rows,
 * and io_uring reads in flight. Owns layouts only.
 */
#ifndef CACHEMON_LIVE_H
#define CACHEMON_LIVE_H

#include "bpf/cachemon.h"
#include "bpf/trace.h"

/* How far a call has filled its buffers. The next event of the same call has the same vector, and
 * is at the same buffer or a later one. All 0: the hook does not show it. */
struct iter_place {
	__u64 vector_end; /* address after its last element */
	__u64 segment;	  /* address of the element, or of the only buffer */
	__u64 base;	  /* file offset of the buffer's first byte */
};

/*
 * The state of the task that runs on a CPU, in a per-CPU cell so that the per-read hook needs no
 * helper call; the switch hook swaps it with the task's own copy. Kernel pointers only serve as
 * identities; user space never follows them.
 */
struct task_state {
	/* Other CPUs change these in the stored copy. */
	__u32 job;
	__u32 counted; /* COUNTED_* of processes.bpf.h; only the stored copy is right */
	/* Many jobs; only the stored copy is right. */
	__u32 job_table; /* shared.job_table when job was found */
	__u32 tree;	 /* the job of its process tree, which may have ended; 0: none */

	/* From here on it belongs to the running task, and is copied as a whole. */
	__u32 flags;	 /* TASK_* of tasks.bpf.h */
	__u32 read_iter; /* as in struct read_now */

	/* The read call in progress or the last one. */
	__u64 read_inode;
	__u64 read_id; /* ioac.syscr: finished read calls of the task */
	struct file_key read_file;
	__u64 read_begin;   /* first requested page */
	__u64 read_last;    /* last requested page, not cut at EOF */
	__u64 read_next;    /* the next event of this call is at this page or later */
	__u64 read_settled; /* fates below this page are settled */
	__u64 miss_first;   /* range of the pages that the call missed; first > last: none */
	__u64 miss_last;
	__u64 read_end;	     /* requested end of a call in parts (sendfile); 0: not in parts */
	__u64 read_counted;  /* call in parts: page after the last one of this part */
	__u64 read_part;     /* offset of the part's beginning */
	__u64 read_bytes_to; /* offset of the part's end, as far as is known */
	__u64 read_ahead;    /* adds in outstanding[] when its pages were last checked */

	/* Counted at the end of the call, for the part that returned data. */
	__u64 due_id;	 /* ioac.syscr of the call */
	__u64 due_syscw; /* ioac.syscw of the call; a call that reads and writes changes both */
	__u64 due_pos;	 /* first byte of the part */
	__u64 due_page;	 /* first page of the part that counts as a lookup */
	__u64 due_bytes; /* upper limit; 0: all of the last call is counted */
	__u64 due_rchar; /* ioac.rchar at the call's start, plus what was counted since */
	__u64 due_wchar;
	__u64 due_missed; /* a bit for each missed page among the part's first 64 */
	__u32 due_flags;
	__u32 due_misses; /* missed pages, and those of them that had been evicted (due_refaults) */
	__u32 due_refaults;
	__u32 wait_epoch; /* epoch in which wait_file last got a row */

	/* For function hooks: facts that a tracepoint does not show. */
	__u64 read_iocb;	      /* request of an asynchronous call; 0: synchronous */
	__u64 read_at;		      /* offset at its last event */
	__u64 read_upto;	      /* requested end offset */
	__u64 read_wait;	      /* 1 + page it last waited for; 0: none */
	struct iter_place read_place; /* place of an asynchronous call at its last event */

	/* The row in which the call's waits count at its end; ino 0: none. */
	struct file_key wait_file;

	/* The readahead window that is being filled. */
	__u64 win_inode;
	__u32 win_kind;
	__u32 win_origin;
	__u64 win_id;
	__u64 win_at; /* page at which a sync or async window was triggered */
	__u64 win_lo; /* requested by the call or fault: demand; lo > hi: nothing */
	__u64 win_hi;
	__u64 win_pages;

	/* The last fault of a file mapping. */
	__u64 fault_inode;
	__u64 fault_id; /* min_flt + maj_flt at its start */
	__u64 fault_maj;
	__u64 fault_index;
	struct file_key fault_file;

	/* Waiting for I/O. */
	__u64 sleep_start_ns;
	__u64 stall_ns; /* sleeps of the call or fault stall_id that are not charged yet */
	__u64 stall_id;
	__u32 stalls;
	__u32 stall_kind;
	__u32 sleeps[WAIT_BUCKETS]; /* the same sleeps by length */

	/* The last cause found by a costly check, and its key. */
	__u64 cause_id;
	__u32 cause;
	__u32 reclaim; /* inside a reclaim scope: the owner */
	__u32 scope;   /* 1 + cause, inside a function that only evicts pages */
	/* The last advice call that moved pages: its kind (0: unknown) and its number. */
	__u16 advice_kind;
	__u16 advice_call;
	__u64 advice_id;

	/* The current direct read; direct_iocb 0: none. */
	__u64 direct_iocb;
	__u64 direct_bytes;  /* requested, cut at EOF */
	__u64 direct_before; /* read by the same call before this one began */

	__u64 runtime_ns; /* CPU time, bytes and calls that are charged to the job */
	__u64 rchar_bytes;
	__u64 syscr_calls;
	struct activity activity;
	__u64 process_bytes; /* of these bytes and calls, those in the row of its process */
	__u64 process_calls;
	__u64 process_due_ns; /* the next switch after this CPU time adds the rest, */
	__u64 process_epoch;  /* and so does a switch in a later epoch than this */

	__u64 fault_address; /* address of the task's last page fault */
	__u64 trace_advice;  /* the last advice call in the traces */
};

#define NR_URING 4096 /* reads in flight, in sets of one hash; a power of two */

/*
 * Reads submitted to io_uring, by process and last page. The submitter, task work or a worker
 * issues them, and only their range shows which one an event belongs to.
 */
struct uring_read {
	__u64 pos, end; /* bytes asked */
	__u64 mapping;	/* 0: unknown */
	__u64 tick;	/* time of the last submission or count */
	__u32 tgid;
	__u32 state;   /* generation << 16 | submitted but not counted; several CPUs change it at
			* once */
	__u32 read_on; /* shared.read_on at that time; if it differs now, the entry is invalid */
	__u32 pad;     /* for order_reads() */
};
#define URING_TAKEN 0xffff /* not a number: a CPU is filling it */

/* A CPU's counts for one file in this generation that are not in its row yet. */
struct cell {
	__u64 inode; /* 0: free */
	struct file_key file;
	__u32 slot; /* of the job */
	__u32 pad;
	struct file_row row;
};

/* Cells of a CPU in each generation: files of the job by inode number, and one for all others. */
#define CELLS_FILES 8
enum { CELL_OTHERS = CELLS_FILES, CELLS_NR };

/* Counts whole reads of the running task's current file, in front of the file's cell, so that a
 * read of cached pages touches as little memory as possible. One per CPU; if there are more than
 * NR_TALLY_CPUS, none is used, and each read takes the full path. */
#define NR_TALLY_CPUS 1024
struct tally {
	__u64 mapping; /* mapping whose reads it takes; 0: the next read takes the full path */
	__u64 word;    /* offset of the file's word in outstanding[], in bytes */
	__u64 quiet;   /* value of that word while reads may be taken */
	__u64 regs;    /* the task's user registers */
	__u64 whole;   /* number of full pages of the file */
	__u64 read_calls;
	__u64 read_bytes;
	__u64 seed; /* the file's part of the hashes of its pages */

	__u64 bound; /* hashes up to it are in the sample of references */
	__u64 inode; /* file of these counts; 0: none */
	struct file_key file;
	__u64 lookups;	  /* lookups in addition to one per call */
	__u32 generation; /* TALLY_*: generation of the rows that these counts belong to */
	__u32 slot;	  /* of the job */
	__u64 runs;	  /* runs of the per-read hook for flushed reads, since the start */

	/* For function hooks: the last call that was taken. call_end 0: the task's state has it. */
	__u64 call_id;
	__u64 call_pos;
	__u64 call_end;

	/* For the CPU, whichever task reads. */
	__u64 loaded;	/* struct live has the running task, or several CPUs share the tally */
	__u64 switches; /* switches between such tasks, which are ignored */
	__u64 scratch;	/* as in struct live */
	__u64 own;	/* the running task belongs to the job, or several CPUs share the tally */
	__u32 pad;	/* for order_reads() */
	__u32 pad2;
	__u64 unused[9];
};

/* After the end of its generation a cell belongs to the sweep, until the sweep has emptied it. */
enum { TALLY_FREE, TALLY_A, TALLY_B };

/* A read call as seen by a function: what it still has to read. */
struct read_now {
	__u64 iocb; /* request of an asynchronous call; 0: synchronous */
	__u64 pos;
	__u64 end;		 /* 0: the event does not show the call's bytes */
	struct iter_place place; /* place of an asynchronous call */
	__u32 retry;
	__u32 iter; /* address on the task's stack that holds the rest; 0: unknown */
};

struct live {
	__u64 task; /* the task of this state */
	__u64 regs; /* its user registers; 0 for a kernel thread */
	__u32 epoch;
	__u32 pad;	     /* for order_reads() and order_writes() */
	struct task_state s; /* fields that each read needs come first */
	__u64 scratch;	     /* turns a typed pointer into a plain address */
	/* Of programs, in tasks outside jobs and in those of jobs; tallies count their own. */
	__u64 runs[JOB_NR][EV_NR];
	struct read_now now;
	__u32 moves; /* shared.moves at the last refresh */
	__u32 pad2;
	struct trace_note note;
};

_Static_assert(sizeof(struct tally) == 256, "tally: found by a shift");

#endif
