/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Features of a traced file from its events: turns reads and touches of mappings into the arrays of
 * accesses.h and reuse.h. Pure; where pages are many it takes those of a hash, all reads of each.
 */
#ifndef PATTERN_TRACE_FEATURES_H
#define PATTERN_TRACE_FEATURES_H

#include "advisor/pattern/features.h"
#include "cachemon/figures/trace_code.h"

/* 0 or -ENOMEM. size_bytes: of the file at the end; 0: not known. */
int trace_features(const struct trace_event *events, size_t nr, uint64_t size_bytes,
		   uint64_t page_bytes, struct features *f);

#endif
