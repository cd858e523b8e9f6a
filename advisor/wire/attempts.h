/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The attempts at one question, from the first request to the last word on it. Owns their order and
 * their limit; runs in the client's process, which ends after it.
 */
#ifndef WIRE_ATTEMPTS_H
#define WIRE_ATTEMPTS_H

#include "advisor/wire/client.h"
#include "advisor/wire/endpoint.h"
#include "advisor/wire/frames.h"

struct attempts_job {
	const struct llm_config *config;
	const struct llm_prompt *prompt;
	const struct endpoint *endpoint;
	bool stream;
	uint64_t limit_ns, stall_ns, deadline_ns; /* CLOCK_MONOTONIC */
	int fd;					  /* for frames */
};

/* Fills end and the text whatever comes of it; *ret_text is malloc'ed or NULL. */
void attempts_run(const struct attempts_job *job, struct frame_end *end, char **ret_text,
		  size_t *ret_len);

#endif
