/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The pages that the kernel would bring into the page cache for one file, access by access: a
 * replay of its readahead from a cold or a known cache, without memory pressure. Owns the state of
 * the file and the totals; the caller owns the open files. Pure: independent of probes and
 * database. ra_read() is in ra_read.c.
 */
#ifndef RA_MODEL_H
#define RA_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "advisor/readahead/ra_kernel.h"
#include "advisor/readahead/ra_pages.h"

/* One folio that an access brought in. */
struct ra_add {
	uint64_t first;
	uint8_t order;
	bool marked;
};

struct ra_totals {
	uint64_t lookups; /* pages that reads and faults asked for, inside the file */
	uint64_t misses;  /* requested pages that were absent when the access began */
	uint64_t stalls;  /* accesses that waited for the device */
	uint64_t added_pages;
	uint64_t demand_pages; /* brought pages that the access itself asked for */
	uint64_t wasted_pages; /* prefetched, removed, never requested; see ra_file_wasted() */
	uint64_t requests;     /* runs of contiguous pages sent to the device */
	uint64_t windows;      /* accesses that brought in pages */
};

/* One inode. */
struct ra_file {
	const struct ra_kernel *kernel;
	uint64_t size_bytes;
	uint32_t io_pages;     /* largest request of the device, by its backing_dev_info */
	uint32_t device_pages; /* present read_ahead_kb of the device, in pages */
	unsigned int max_order;
	struct ra_pages pages;
	struct ra_totals totals;
	/* Brought by the last access, in order of arrival. */
	struct ra_add *adds;
	size_t nr_adds, room_adds;
	/* of the current access */
	uint64_t asked_first, asked_end;
	uint64_t request_end; /* a page here would extend the previous request */
};

/* One open file: struct file_ra_state, and FMODE_RANDOM. */
struct ra_stream {
	uint64_t start, size, async_size;
	unsigned int order;
	uint32_t ra_pages;
	int64_t prev_pos; /* -1 before the first read */
	unsigned int mmap_miss;
	bool random;
};

/* A mapping of the file. */
struct ra_mapping {
	uint64_t address_page; /* first page of the mapping */
	uint64_t first_page;   /* page of the file */
	uint64_t nr_pages;
	bool random, sequential, exec; /* MADV_RANDOM, MADV_SEQUENTIAL, PROT_EXEC */
};

enum ra_advice {
	RA_ADVICE_NORMAL,
	RA_ADVICE_SEQUENTIAL,
	RA_ADVICE_RANDOM,
	RA_ADVICE_WILLNEED, /* also for readahead(2) and MADV_WILLNEED */
	RA_ADVICE_DONTNEED,
};

void ra_file_init(struct ra_file *f, const struct ra_kernel *kernel, uint64_t size_bytes,
		  unsigned int max_order, uint32_t io_pages, uint32_t device_pages);
void ra_file_free(struct ra_file *f);
uint64_t ra_file_nr_pages(const struct ra_file *f);
/* Prefetched pages that were never requested, removed or still cached. */
uint64_t ra_file_wasted(const struct ra_file *f);

/* The state after open(). */
void ra_stream_init(struct ra_stream *s, const struct ra_file *f);

/*
 * Each call is one access; f->adds holds what it brought in until the next one. count: bytes
 * requested, not bytes returned.
 */
void ra_read(struct ra_file *f, struct ra_stream *s, uint64_t pos, uint64_t count);
/*
 * A touch of a page of the mapping that is not in the page table. True: fault-around could not map
 * it, so the page was requested from the file. In either case fault-around has mapped the pages of
 * ra_fault_around().
 */
bool ra_touch(struct ra_file *f, struct ra_stream *s, const struct ra_mapping *m, uint64_t page);
/* The pages that fault-around visits for a page: [*ret_first, *ret_end), within the file. */
void ra_fault_around(const struct ra_file *f, const struct ra_mapping *m, uint64_t page,
		     uint64_t *ret_first, uint64_t *ret_end);
/* Whether fault-around maps this page: it is cached, and its folio is not marked. */
bool ra_mappable(const struct ra_file *f, uint64_t page);
void ra_advise(struct ra_file *f, struct ra_stream *s, enum ra_advice advice, uint64_t offset,
	       uint64_t length);
void ra_resize(struct ra_file *f, uint64_t size_bytes);
void ra_remove(struct ra_file *f, uint64_t first, uint64_t nr);

#endif
