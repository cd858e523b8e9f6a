/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How many pages the job looked up: those that came during the run are counted by the page state,
 * the others are estimated by the sample. Owns which of both a page of the sample belongs to.
 */
#ifndef REFERENCE_KNOWN_H
#define REFERENCE_KNOWN_H

#include "cachemon/account/references.h"

struct cachemon_bpf;

struct reference_known {
	uint64_t looked; /* pages that the page state had counted when it was last asked */
	uint64_t asked_ns;
};

/* When the interval's programs have ended: the sample is told the number. last: nothing follows. */
void reference_known_take(struct reference_known *k, struct cachemon_bpf *skel,
			  struct reference_sample *sample, bool last);

#endif
