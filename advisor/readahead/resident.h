/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which pages of a traced file were in the cache before its trace began, as far as the trace tells:
 * those that were asked for, touched, left out of a window or removed without having come. Internal
 * to the replay.
 */
#ifndef READAHEAD_RESIDENT_H
#define READAHEAD_RESIDENT_H

#include "advisor/readahead/ra_pages.h"
#include "cachemon/figures/trace_code.h"

/* Adds them to an empty cache. 0, -E2BIG or -ENOMEM. */
int ra_resident(const struct trace_event *events, size_t nr_events, struct ra_pages *ret);

#endif
