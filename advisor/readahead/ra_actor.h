/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compares what each task's access brought in by the model and by the trace, and corrects the model
 * after a difference, so that each difference counts once. Internal to the replay. ra_resident() is
 * in resident.c.
 */
#ifndef RA_ACTOR_H
#define RA_ACTOR_H

#include "advisor/readahead/ra_read.h"
#include "advisor/readahead/replay.h"

struct ra_adds {
	struct ra_add *v;
	size_t nr, room;
};

/* A task and its current access. */
struct ra_actor {
	struct ra_adds model, trace;
	uint64_t asked_first, asked_end;
	struct ra_stream *stream; /* NULL: unknown */
	struct ra_call call;	  /* its read, perhaps unfinished */
	struct trace_ra window;	  /* the last chosen window, if any */
	bool has_window;
	uint64_t touched; /* 1 + the page, during a touch of a mapping */
	bool faulted;	  /* the page was requested, not mapped by fault-around alone */
};

/* 0 or -ENOMEM. */
int ra_adds_push(struct ra_adds *a, struct ra_add add);
/* Keeps the model's result for the access until it is judged. */
int ra_actor_take(struct ra_actor *a, const struct ra_file *f);
/* Ends the access: judges it and corrects the model. */
void ra_actor_judge(struct ra_actor *a, struct ra_file *f, struct ra_replay_result *result);
void ra_actor_free(struct ra_actor *a);

/*
 * Adds the pages of a traced file that were cached before the trace, as far as it shows, to an
 * empty cache: pages that were requested, touched, skipped by a window or removed without having
 * been added. 0, -E2BIG or -ENOMEM.
 */
int ra_resident(const struct trace_event *events, size_t nr_events, struct ra_pages *ret);

#endif
