/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The state of a CPU while tasks run on it: the running task, the rows in front of the maps' rows,
 * and the io_uring reads in flight. Owns layouts only.
 */
#ifndef CACHEMON_LIVE_H
#define CACHEMON_LIVE_H

#include "bpf/cachemon.h"
#include "bpf/trace.h"

/* How far a call has filled its buffers: it goes on in the same vector, in the same buffer of it
 * from the same beginning or in a later one. All 0: the hook does not show it. */
struct iter_place {
	__u64 vector_end; /* address after its last element */
	__u64 segment;	  /* address of the element, or of the only buffer */
	__u64 base;	  /* offset in the file of what its first byte takes */
};

/*
 * The state of the task that runs on a CPU, kept in a per-CPU cell so that the per-read hook needs
 * no helper call; the switch hook swaps it with the task's own copy. Kernel pointers are identities
 * here, never followed by user space.
 */
struct task_state {
	/* Others than the task's own CPU change these in the stored copy. */
	__u32 job;
	__u32 counted; /* COUNTED_* of processes.bpf.h; the stored copy alone is right */

	/* From here on it is the running task's, and copied as a whole. */
	__u32 flags;	 /* TASK_* of tasks.bpf.h */
	__u32 read_iter; /* as of struct read_now */

	/* The read call in progress or the last one. */
	__u64 read_inode;
	__u64 read_id; /* ioac.syscr: finished read calls of the task */
	struct file_key read_file;
	__u64 read_begin;   /* first page asked */
	__u64 read_last;    /* last page asked, not cut at EOF */
	__u64 read_next;    /* the next event of this call is at or after it */
	__u64 read_settled; /* fates settled below this page */
	__u64 miss_first;   /* hull of the pages the call missed; first > last: none */
	__u64 miss_last;
	__u64 read_end;	     /* offset a call in parts (sendfile) asks up to; 0: not in parts */
	__u64 read_counted;  /* of a call in parts: page after the last that its part asks for */
	__u64 read_part;     /* offset that the part begins at */
	__u64 read_bytes_to; /* and where it ends, as far as is known */
	__u64 read_ahead;    /* adds in outstanding[] when its pages were last looked at */

	/* Counted when the call is over, as far as it has returned. */
	__u64 due_id;	 /* ioac.syscr of it */
	__u64 due_syscw; /* and ioac.syscw: what reads and writes at once moves both */
	__u64 due_pos;	 /* first byte of it */
	__u64 due_page;	 /* first page of it that is a lookup */
	__u64 due_bytes; /* at most; 0: all of the last call is counted */
	__u64 due_rchar; /* ioac.rchar when it began, and what was counted of the call since */
	__u64 due_wchar;
	__u64 due_missed; /* a bit for each of its first 64 pages that it missed */
	__u32 due_flags;
	__u32 due_misses; /* pages that it missed, and those of them that had left the cache */
	__u32 due_refaults;
	__u32 wait_epoch; /* in which wait_file was last given a row */

	/* For function hooks: what a tracepoint does not show of the call. */
	__u64 read_iocb;	      /* of an asynchronous one; 0: it is not */
	__u64 read_at;		      /* offset at its last event */
	__u64 read_upto;	      /* offset it asks up to */
	__u64 read_wait;	      /* 1 + page it was last seen to wait for; 0: none */
	struct iter_place read_place; /* of an asynchronous one at its last event */

	/* Whose row its waits are counted in when it is over; ino 0: nobody's. */
	struct file_key wait_file;

	/* The readahead window being filled. */
	__u64 win_inode;
	__u32 win_kind;
	__u32 win_origin;
	__u64 win_id;
	__u64 win_at; /* page that a sync or async one was asked for at */
	__u64 win_lo; /* asked for by the call or fault: demand; lo > hi: nothing was */
	__u64 win_hi;
	__u64 win_pages;

	/* The last fault of a file mapping. */
	__u64 fault_inode;
	__u64 fault_id; /* min_flt + maj_flt when it began */
	__u64 fault_maj;
	__u64 fault_index;
	struct file_key fault_file;

	/* Waiting for I/O. */
	__u64 sleep_start_ns;
	__u64 stall_ns; /* slept in the call or fault stall_id, not charged yet */
	__u64 stall_id;
	__u32 stalls;
	__u32 stall_kind;
	__u32 sleeps[WAIT_BUCKETS]; /* the same ones by their length */

	/* The last cause found by a costly look, and what it was found for. */
	__u64 cause_id;
	__u32 cause;
	__u32 reclaim; /* inside a reclaim scope: whose */
	__u32 scope;   /* 1 + cause of what is deleted inside a function that does nothing else */
	/* The last advice call that moved pages: its kind (0: not known) and its number. */
	__u16 advice_kind;
	__u16 advice_call;
	__u64 advice_id;

	/* The direct read that has begun; direct_iocb 0: none. */
	__u64 direct_iocb;
	__u64 direct_bytes;  /* asked, cut at EOF */
	__u64 direct_before; /* read by the same call before this began */

	__u64 runtime_ns; /* CPU time, bytes and calls, as far as they are charged to the job */
	__u64 rchar_bytes;
	__u64 syscr_calls;

	__u64 fault_address; /* the last one of the task that was not mapped */
	__u64 trace_advice;  /* the last advice call that traces recorded */
};

#define NR_URING 4096 /* a power of two, in sets of URING_WAYS: reads in flight that hash alike */

/*
 * Reads submitted to io_uring, by process and last page. The submitter, task work or a worker
 * issues them, and only their range shows which one an event belongs to.
 */
struct uring_read {
	__u64 pos, end; /* bytes asked */
	__u64 mapping;	/* 0: not known */
	__u64 tick;	/* when one was last submitted or counted */
	__u32 tgid;
	__u32 state;   /* generation << 16 | submitted, not counted yet; CPUs change it at once */
	__u32 read_on; /* as it was: what an earlier look left over is of no meaning */
	__u32 pad;     /* for order_reads() */
};
#define URING_TAKEN 0xffff /* not a number: somebody fills it */

/* Counts of a CPU for one file in this generation that are not in its row yet. */
struct cell {
	__u64 inode; /* 0: free */
	struct file_key file;
	struct file_row row;
};

/* Cells of a CPU in each generation: files of the job by inode number, and everybody else. */
#define CELLS_FILES 8
enum { CELL_OTHERS = CELLS_FILES, CELLS_NR };

/*
 * Whole reads of the file that the running task of the job reads, in front of its cell: a read of
 * cached pages touches no more memory than it must. One a CPU; where there are more than
 * NR_TALLY_CPUS none is used, and each read is looked at.
 */
#define NR_TALLY_CPUS 1024
struct tally {
	__u64 mapping; /* whose reads it takes; 0: the next one is to be looked at */
	__u64 word;    /* where in outstanding[] its file's word is, in bytes */
	__u64 quiet;   /* that word as long as reads may be taken */
	__u64 regs;    /* the task's user registers */
	__u64 whole;   /* pages that the file fills */
	__u64 read_calls;
	__u64 read_bytes;
	__u64 seed; /* of the file: the hash of its pages is made of it */

	__u64 bound; /* hashes up to it are in the sample of references */
	__u64 inode; /* whose these counts are; 0: nobody's */
	struct file_key file;
	__u64 lookups;	  /* beside one for each call */
	__u32 generation; /* TALLY_*: of the rows they belong to */
	__u32 pad;
	__u64 runs; /* of the per-read hook for reads that were flushed, since the start */

	/* By function: the last call that was taken. call_end 0: the task's state has it. */
	__u64 call_id;
	__u64 call_pos;
	__u64 call_end;

	/* For the CPU, whichever task reads. */
	__u64 loaded;	/* struct live has the state of the running task, or the tally is of several
			   CPUs; 0: it is of no job */
	__u64 switches; /* from one such task to another, which are passed over */
	__u64 scratch;	/* as in struct live */
	__u64 own;	/* it is of the job, or the tally is of several CPUs */
	__u64 unused[10];
};

/* In a generation that ended it belongs to the sweep, until the sweep returns it. */
enum { TALLY_FREE, TALLY_A, TALLY_B };

/* A read call as a function shows it: what it has still to read. */
struct read_now {
	__u64 iocb; /* of an asynchronous one; 0: it is not */
	__u64 pos;
	__u64 end;		 /* 0: the event does not show the call's bytes */
	struct iter_place place; /* of an asynchronous one */
	__u32 retry;
	__u32 iter; /* where on the task's stack it says what is left; 0: not known */
};

struct live {
	__u64 task; /* whose state this is */
	__u64 regs; /* its user registers; 0 for a kernel thread */
	__u32 epoch;
	__u32 pad;		   /* for order_reads() and order_writes() */
	struct task_state s;	   /* what each read needs comes first */
	__u64 scratch;		   /* turns a typed pointer into a plain address */
	__u64 runs[JOB_NR][EV_NR]; /* program runs in the tasks of each job, without tallies */
	struct read_now now;
	__u32 moves; /* shared.moves when it was last refreshed for these */
	__u32 pad2;
	struct trace_note note;
};

_Static_assert(sizeof(struct tally) == 256, "tally: found by a shift");

#endif
