/* SPDX-License-Identifier: BSD-2-Clause */
/* What one attempt came to: of what the network said, the status and the reply. Pure. */
#ifndef WIRE_JUDGE_H
#define WIRE_JUDGE_H

#include "advisor/wire/complaint.h"
#include "advisor/wire/transport.h"
#include "advisor/wire/wire.h"

enum verdict_kind {
	VERDICT_ANSWERED,
	VERDICT_NETWORK,   /* see curl */
	VERDICT_STATUS,	   /* see status: other than 200, or told in the body of one with 200 */
	VERDICT_ELSEWHERE, /* the server sends on */
	VERDICT_TOO_BIG,   /* a body or headers beyond the limit */
	VERDICT_NOT_API,   /* what came is not of the API */
	VERDICT_CUT,	   /* a stream that ends before its answer does */
	VERDICT_LENGTH,	   /* an answer cut at the number of tokens allowed */
	VERDICT_NO_STOP,   /* one that ended for another reason than being complete */
	VERDICT_REFUSAL,
	VERDICT_EMPTY
};

struct verdict {
	enum verdict_kind kind;
	int curl;   /* CURLcode */
	int status; /* HTTP's */
	bool has_error;
	struct wire_error error;
	enum complaint complaint;
};

/* reply: of a stream, what its events gave; of others it is filled from the body here. */
struct verdict judge(enum llm_api api, const struct transport_result *t, struct wire_reply *reply);

#endif
