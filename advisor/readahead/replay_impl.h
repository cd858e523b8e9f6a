/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside of the replay, shared by the files that make it up: replay.c (descriptions, tasks, reads),
 * replay_touch.c (touches of mappings). Nobody else includes this.
 */
#ifndef READAHEAD_REPLAY_IMPL_H
#define READAHEAD_REPLAY_IMPL_H

#include "advisor/readahead/readahead_compare.h"

struct description {
	struct ra_stream stream;
	bool open;
	uint32_t user; /* 1 + the last task that used it */
};

struct replay {
	const struct ra_replay_input *in;
	struct ra_setting setting;
	struct ra_file file;
	struct description **descriptions; /* the last one for what is of none that is known */
	size_t nr_descriptions;
	struct description unknown;
	struct ra_actor **actors;
	size_t nr_actors;
	struct ra_replay_result result;
};

/* Each: 0, -E2BIG or -ENOMEM. */
int replay_actor(struct replay *r, uint32_t number, struct ra_actor **ret);
/* Around an access of the task: what it did before is over, and what it asks for. */
int replay_begin(struct replay *r, const struct trace_event *e, struct ra_actor **ret_actor,
		 struct ra_stream **ret_stream);
int replay_end(struct replay *r, const struct trace_event *e, struct ra_actor *a, uint64_t first,
	       uint64_t end_page);
int replay_fault(struct replay *r, const struct trace_event *e);
int replay_map(struct replay *r, const struct trace_event *e);

#endif
