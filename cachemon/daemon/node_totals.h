/* SPDX-License-Identifier: BSD-2-Clause */
/* The daemon's answer about the sums of a job, as a line for people. Pure. */
#ifndef NODE_TOTALS_H
#define NODE_TOTALS_H

#include <stdbool.h>

enum { NODE_TOTALS_LINE = 512 };

/* Without a newline; *ret_ended: nothing more will be counted. 0, or -EBADMSG for any other
 * answer. */
int node_totals_line(const char *answer, char ret[NODE_TOTALS_LINE], bool *ret_ended);

#endif
