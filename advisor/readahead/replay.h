/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the accesses of a traced file would have brought in with another setting, and how far the
 * model agrees with what they did bring in with the one in force. Owns the way from events to the
 * model; pure.
 */
#ifndef READAHEAD_REPLAY_H
#define READAHEAD_REPLAY_H

#include "advisor/readahead/ra_model.h"
#include "cachemon/figures/trace_code.h"

enum ra_setting_kind {
	RA_SETTING_ACTUAL, /* as it was: read_ahead_kb, advice */
	RA_SETTING_PAGES,  /* another read_ahead_kb, advice as it was */
	RA_SETTING_RANDOM, /* every description advised so when it was opened, nothing else later */
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
	uint32_t device_pages; /* read_ahead_kb in pages as the file was chosen */
	uint32_t io_pages;
	bool warm; /* pages of it may have been cached when the trace began */
};

struct ra_replay_result {
	struct ra_totals totals;
	uint64_t wasted_pages;
	/* With the actual setting: accesses that brought in pages, in the trace or in the
	 * model. */
	uint64_t windows, exact_windows;
	uint64_t traced_pages; /* that the kernel brought, by writes apart */
	uint64_t mapped;       /* touches of mappings among the accesses */
	uint64_t evicted;      /* pages that memory pressure took */
	bool inexact_reads;    /* what calls asked is known only in whole pages */
	bool reads_of_none;    /* reads whose description is not known: io_uring's in flight */
	bool shared;	       /* tasks used a description in turns */
};

/* 0, -EBADMSG (an event of no kind), -E2BIG or -ENOMEM. Nothing is changed on failure. */
int ra_replay(const struct ra_replay_input *in, struct ra_setting setting,
	      struct ra_replay_result *ret);

#endif
