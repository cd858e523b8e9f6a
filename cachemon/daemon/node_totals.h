/* SPDX-License-Identifier: BSD-2-Clause */
/* The daemon's answer about the sums of a job, as a line for people. Pure. */
#ifndef NODE_TOTALS_H
#define NODE_TOTALS_H

#include <stdbool.h>
#include <stdint.h>

enum { NODE_TOTALS_LINE = 512 };

struct node_totals {
	char line[NODE_TOTALS_LINE]; /* for people, without a newline */
	bool ended;		     /* nothing more will be counted */
	int64_t duration_ns;	     /* since the beginning of the run; -1: not known */
};

/* 0, or -EBADMSG for any other answer. */
int node_totals_parse(const char *answer, struct node_totals *ret);

#endif
