/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The pages that the kernel would bring into the page cache for one file, access by access: a
 * replay of its readahead from a cold or a known cache, without memory pressure. Owns the state of
 * the file and the totals; the caller owns the open files. Pure: knows no probe and no database.
 * ra_read() and ra_splice() are in ra_read.c.
 */
#ifndef RA_MODEL_H
#define RA_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "advisor/readahead/ra_kernel.h"
#include "advisor/readahead/ra_pages.h"

/* One folio that an access brought. */
struct ra_add {
	uint64_t first;
	uint8_t order;
	bool marked;
};

struct ra_totals {
	uint64_t lookups; /* pages that reads and faults asked for, inside the file */
	uint64_t misses;  /* of them those that were not there when the access began */
	uint64_t stalls;  /* accesses that had to wait for the device */
	uint64_t added_pages;
	uint64_t demand_pages; /* of them those that the access itself asked for */
	uint64_t wasted_pages; /* prefetched, gone, and never asked for; see ra_file_wasted() */
	uint64_t requests;     /* runs of pages that went to the device as one */
	uint64_t windows;      /* accesses that brought pages */
};

/* One inode. */
struct ra_file {
	const struct ra_kernel *kernel;
	uint64_t size_bytes;
	uint32_t io_pages;     /* what one request to the device may be, by its backing_dev_info */
	uint32_t device_pages; /* read_ahead_kb of the device now, in pages */
	unsigned int max_order;
	struct ra_pages pages;
	struct ra_totals totals;
	/* By the last access, in the order of arrival. */
	struct ra_add *adds;
	size_t nr_adds, room_adds;
	/* of the access under way */
	uint64_t asked_first, asked_end;
	uint64_t request_end; /* a page here would belong to the request before it */
};

/* One open file description: struct file_ra_state, and FMODE_RANDOM. */
struct ra_stream {
	uint64_t start, size, async_size;
	unsigned int order;
	uint32_t ra_pages;
	int64_t prev_pos; /* -1 until a read */
	unsigned int mmap_miss;
	bool random;
};

/* A mapping of it in memory. */
struct ra_mapping {
	uint64_t address_page; /* where it begins, in pages */
	uint64_t first_page;   /* of the file */
	uint64_t nr_pages;
	bool random, sequential, exec; /* MADV_RANDOM, MADV_SEQUENTIAL, PROT_EXEC */
};

enum ra_advice {
	RA_ADVICE_NORMAL,
	RA_ADVICE_SEQUENTIAL,
	RA_ADVICE_RANDOM,
	RA_ADVICE_WILLNEED, /* readahead(2) and MADV_WILLNEED too */
	RA_ADVICE_DONTNEED,
};

void ra_file_init(struct ra_file *f, const struct ra_kernel *kernel, uint64_t size_bytes,
		  unsigned int max_order, uint32_t io_pages, uint32_t device_pages);
void ra_file_free(struct ra_file *f);
uint64_t ra_file_nr_pages(const struct ra_file *f);
/* Prefetched pages nobody asked for, gone or still there. */
uint64_t ra_file_wasted(const struct ra_file *f);

/* As open() leaves it. */
void ra_stream_init(struct ra_stream *s, const struct ra_file *f);

/*
 * Each is one access; what it brought is in f->adds until the next. count: bytes asked for, not
 * those that were given.
 */
void ra_read(struct ra_file *f, struct ra_stream *s, uint64_t pos, uint64_t count);
/* As sendfile(2) and splice(2) read. */
void ra_splice(struct ra_file *f, struct ra_stream *s, uint64_t pos, uint64_t count);
/*
 * A touch of a page of the mapping that is not in the page table. True: fault-around could not map
 * it, and the file was asked for the page. Either way fault-around has mapped what
 * ra_fault_around() has.
 */
bool ra_touch(struct ra_file *f, struct ra_stream *s, const struct ra_mapping *m, uint64_t page);
/* The pages that fault-around looks at for a page: [*ret_first, *ret_end), not beyond the file. */
void ra_fault_around(const struct ra_file *f, const struct ra_mapping *m, uint64_t page,
		     uint64_t *ret_first, uint64_t *ret_end);
/* It maps this one of them: it is there, and its folio is not marked. */
bool ra_mappable(const struct ra_file *f, uint64_t page);
void ra_advise(struct ra_file *f, struct ra_stream *s, enum ra_advice advice, uint64_t offset,
	       uint64_t length);
void ra_resize(struct ra_file *f, uint64_t size_bytes);
void ra_remove(struct ra_file *f, uint64_t first, uint64_t nr);

#endif
