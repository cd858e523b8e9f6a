/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A read in pieces, between which other tasks may use the file and the description. Owns where such
 * a call stands; ra_read() of the model is the same as a whole.
 */
#ifndef RA_READ_H
#define RA_READ_H

#include "advisor/readahead/ra_model.h"

/* A read under way. */
struct ra_call {
	uint64_t pos, end_pos;
	uint64_t page;	/* it stands there */
	bool under_way; /* else it is over */
	bool looked_up; /* that page was, and the call waits for it */
	bool brought;	/* pages, so far */
};

/*
 * Runs the call to where it waits for the device or asks readahead once more, and then on until it
 * is over. The pages of each piece are in f->adds.
 */
void ra_read_begin(struct ra_file *f, struct ra_stream *s, uint64_t pos, uint64_t count,
		   struct ra_call *ret);
void ra_read_go_on(struct ra_file *f, struct ra_stream *s, struct ra_call *c);
/* It has gone on if it asks readahead for something at this page. */
bool ra_read_is_past(const struct ra_file *f, const struct ra_call *c, uint64_t page);

#endif
