/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What each task's access brought in by the model and by the trace, and the correction of the
 * model where they differ, so that one difference is not counted again and again. Internal to the
 * replay. ra_resident() is in resident.c.
 */
#ifndef RA_ACTOR_H
#define RA_ACTOR_H

#include "advisor/readahead/ra_read.h"
#include "advisor/readahead/replay.h"

struct ra_adds {
	struct ra_add *v;
	size_t nr, room;
};

/* A task, and the access it is at. */
struct ra_actor {
	struct ra_adds model, trace;
	uint64_t asked_first, asked_end;
	struct ra_stream *stream; /* NULL: none known */
	struct ra_call call;	  /* its read, which may be under way */
	struct trace_ra window;	  /* the last one chosen, if there was one */
	bool has_window;
	uint64_t touched; /* 1 + the page, if it is at a touch of a mapping */
	bool faulted;	  /* that page was asked for, not mapped by fault-around alone */
};

/* 0 or -ENOMEM. */
int ra_adds_push(struct ra_adds *a, struct ra_add add);
/* The model's result for the access is kept until it is judged. */
int ra_actor_take(struct ra_actor *a, const struct ra_file *f);
/* The access is over: judged, the model corrected. */
void ra_actor_judge(struct ra_actor *a, struct ra_file *f, struct ra_replay_result *result);
void ra_actor_free(struct ra_actor *a);

/*
 * Which pages of a traced file were in the cache before its trace began, as far as the trace shows:
 * those that were asked for, touched, left out of a window or removed without having come. Adds
 * them to an empty cache. 0, -E2BIG or -ENOMEM.
 */
int ra_resident(const struct trace_event *events, size_t nr_events, struct ra_pages *ret);

#endif
