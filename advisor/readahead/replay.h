/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Replays the accesses of a traced file with another setting, and measures how well the model
 * matches what they really brought in with the actual one. Owns the step from events to the model.
 * Pure.
 */
#ifndef READAHEAD_REPLAY_H
#define READAHEAD_REPLAY_H

#include "advisor/readahead/ra_model.h"
#include "cachemon/figures/trace_code.h"

enum ra_setting_kind {
	RA_SETTING_ACTUAL, /* the actual setting: read_ahead_kb and advice */
	RA_SETTING_PAGES,  /* another read_ahead_kb, the same advice */
	RA_SETTING_RANDOM, /* every open file gets this advice at open, and no other later */
	RA_SETTING_SEQUENTIAL,
};

struct ra_setting {
	enum ra_setting_kind kind;
	uint32_t pages; /* of RA_SETTING_PAGES */
};

struct ra_replay_input {
	const struct ra_kernel *kernel;
	const struct trace_event *events;
	size_t nr_events;
	unsigned int max_order;
	uint32_t device_pages; /* read_ahead_kb in pages when the file was chosen */
	uint32_t io_pages;
	bool warm; /* some of its pages may have been cached before the trace */
};

struct ra_replay_result {
	struct ra_totals totals;
	uint64_t wasted_pages;
	/* With the actual setting: accesses that brought in pages, in the trace or in the model. */
	uint64_t windows, exact_windows;
	uint64_t traced_pages; /* pages that the kernel brought in, without those of writes */
	uint64_t mapped;       /* touches of mappings among the accesses */
	uint64_t evicted;      /* pages that reclaim removed */
	bool inexact_reads;    /* requests of calls are known only in whole pages */
	bool reads_of_none;    /* reads of an unknown open file: io_uring's in flight */
	bool shared;	       /* tasks shared an open file */
};

/* 0, -EBADMSG (an event of unknown kind), -E2BIG or -ENOMEM. An error leaves ret unchanged. */
int ra_replay(const struct ra_replay_input *in, struct ra_setting setting,
	      struct ra_replay_result *ret);

#endif
