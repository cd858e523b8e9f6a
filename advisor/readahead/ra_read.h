/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A read in pieces: between them other tasks may use the file and the open file. Owns the position
 * of such a call; the model's ra_read() runs it as a whole.
 */
#ifndef RA_READ_H
#define RA_READ_H

#include "advisor/readahead/ra_model.h"

/* An unfinished read. */
struct ra_call {
	uint64_t pos, end_pos;
	uint64_t page;	/* position of the call, in pages */
	bool under_way; /* false: it has ended */
	bool looked_up; /* that page was absent, and the call waits for it */
	bool brought;	/* pages, so far */
};

/*
 * Runs the call until it waits for the device or requests readahead again; the next call continues
 * it until its end. f->adds holds the pages of each piece.
 */
void ra_read_begin(struct ra_file *f, struct ra_stream *s, uint64_t pos, uint64_t count,
		   struct ra_call *ret);
void ra_read_go_on(struct ra_file *f, struct ra_stream *s, struct ra_call *c);
/* Whether it has to continue if it requests readahead at this page. */
bool ra_read_is_past(const struct ra_file *f, const struct ra_call *c, uint64_t page);

#endif
