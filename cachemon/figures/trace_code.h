/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The encoding of a file's trace in trace_chunk.data: the events of one file, in order. Owns the
 * events, their fields and their bytes; knows neither probes nor databases. A chunk is
 * self-contained: each begins with a new coder. Values are on disk: append only.
 */
#ifndef TRACE_CODE_H
#define TRACE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* traced_file.reason for a file that another file of its size replaced in the sample. */
#define TRACE_GAVE_WAY "given up for another file of its stratum"

/* Fields besides kind, flags, description, actor and time_ns; all others are 0. */
enum trace_kind {
	/* An open file appears for the first time: order, pos = size of the file, ra_pages,
	 * io_pages, ra, before the access that follows. */
	TRACE_OPEN = 1,
	TRACE_READ = 2,	  /* pos, len: bytes requested, not cut at the end of the file */
	TRACE_FAULT = 3,  /* pos: page; map */
	TRACE_MAP = 4,	  /* fault-around mapped pages: pos, len: first page, pages; map */
	TRACE_ADVICE = 5, /* detail: enum advice_kind; call; pos, len: bytes, len 0: to the end */
	TRACE_WINDOW =
		6,     /* detail: enum trace_hook; pos, len: page, pages asked; ra as it was then */
	TRACE_ADD = 7, /* a folio was added: pos, len: first page, pages; order */
	TRACE_REMOVE = 8,   /* a folio was removed: pos, len: first page, pages; order; detail:
			     * evict_cause */
	TRACE_SIZE = 9,	    /* pos: new size of the file in bytes */
	TRACE_SETTING = 10, /* of the open file: ra_pages, io_pages, flags */
	TRACE_KIND_NR,
};

/* The kernel function in which a window appeared, and the meaning of ra there. */
enum trace_hook {
	TRACE_SYNC = 1,	     /* page_cache_sync_ra(): ra before it, len: requested pages */
	TRACE_ASYNC = 2,     /* page_cache_async_ra(): the same; pos may be a folio's head */
	TRACE_ORDER = 3,     /* page_cache_ra_order(): ra is the chosen window; len 0 */
	TRACE_UNBOUNDED = 4, /* page_cache_ra_unbounded(): len pages, the marker len - async before
				the end: ra.async_size is its lookahead argument, ra.size is len */
};

enum {
	TRACE_RANDOM = 1 << 0,	      /* FMODE_RANDOM of the open file */
	TRACE_NOREUSE = 1 << 1,	      /* FMODE_NOREUSE */
	TRACE_VM_RANDOM = 1 << 2,     /* VM_RAND_READ of the mapping */
	TRACE_VM_SEQUENTIAL = 1 << 3, /* VM_SEQ_READ */
	TRACE_VM_EXEC = 1 << 4,
	TRACE_MISSING = 1 << 5,	  /* FAULT: the page was not in the cache (a major fault) */
	TRACE_RETRY = 1 << 6,	  /* FAULT: the same fault again, after a wait */
	TRACE_PART = 1 << 7,	  /* READ: a part of a sendfile or splice */
	TRACE_RANGE = 1 << 8,	  /* READ: whole pages only: the exact request is unknown */
	TRACE_AFTER = 1 << 9,	  /* READ: recorded at its end, after its windows */
	TRACE_WARM = 1 << 10,	  /* OPEN: its state is not that of a new open file */
	TRACE_BY_WRITE = 1 << 11, /* ADD: by a write */
};

#define TRACE_NO_DESCRIPTION UINT32_MAX /* unknown, or not applicable: a removal */

/* struct file_ra_state; in pages, but prev_pos is a byte (a page before 5.12), -1: no read yet. */
struct trace_ra {
	uint64_t start;
	uint32_t size;
	uint32_t async_size;
	uint32_t mmap_miss;
	int64_t prev_pos;
};

struct trace_map {
	uint32_t id;	/* number of the mapping; TRACE_NO_DESCRIPTION: unknown, the rest is 0 */
	uint32_t align; /* (page number of the virtual address - page of the file) mod 512 */
	uint64_t first_page; /* pages of the file that the mapping covers */
	uint64_t nr_pages;
	uint64_t touched; /* MAP: 1 + the touched page; 0: unknown */
};

struct trace_event {
	uint8_t kind;
	uint8_t detail;
	uint8_t call; /* enum advice_call */
	uint8_t order;
	uint32_t flags;
	uint32_t description; /* number of the open file, from 0 */
	uint32_t actor;	      /* number of the task, from 0 */
	uint64_t time_ns;     /* since the start of the run */
	uint64_t pos;
	uint64_t len;
	uint32_t ra_pages; /* ra_pages of the open file */
	uint32_t io_pages; /* io_pages of its device */
	struct trace_ra ra;
	struct trace_map map;
};

/* The base of the next event's differences. All 0 at the beginning of a chunk. */
struct trace_coder {
	uint64_t time_ns;
	uint64_t pos;
	uint64_t ra_start;
	uint32_t description;
	uint32_t actor;
};

#define TRACE_EVENT_BYTES 160 /* maximum size of an event */

/* Returns the number of bytes, -ENOSPC if room is too small (nothing changed), or -EINVAL. */
int trace_encode(struct trace_coder *coder, const struct trace_event *event, size_t room,
		 uint8_t *ret_data);

/* Returns the number of bytes, 0 if size is 0, or -EBADMSG for invalid bytes. ret_event is
 * written completely or not at all. */
int trace_decode(struct trace_coder *coder, const uint8_t *data, size_t size,
		 struct trace_event *ret_event);

/* Whether the event is plausible for a file: damaged bytes may decode to an event, but hardly to
 * a plausible one. */
bool trace_event_possible(const struct trace_event *e);

#endif
