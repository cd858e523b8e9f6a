/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What follows an attempt: another one after a while, or at once in another shape, or none. Pure:
 * time and chance are handed in. Remembers within one question only.
 */
#ifndef WIRE_POLICY_H
#define WIRE_POLICY_H

#include "advisor/wire/judge.h"

enum {
	POLICY_TRIES = 3, /* of the same request */
	POLICY_STEPS = 2, /* to another name of the limit, and to no stream; these are no tries */
};

struct policy {
	struct wire_shape shape; /* of the next attempt */
	unsigned int tries;
	bool parse_failed;
};

/* No attempt is begun with less than this. */
#define POLICY_LEFT_MIN_NS UINT64_C(250000000)

enum policy_act { POLICY_END, POLICY_AGAIN };

struct policy_next {
	enum policy_act act;
	uint64_t wait_ns;
	bool no_time; /* it would be tried again, but the wait does not fit into what is left */
};

/* retry_after_ns: -1: the server says nothing. random: any. */
struct policy_next policy_after(struct policy *p, const struct verdict *v, int64_t retry_after_ns,
				uint64_t left_ns, uint32_t random);

#endif
