/* SPDX-License-Identifier: BSD-2-Clause */
/* What of a request a server does not take, out of its own words; there is no other way to know.
 * Pure. */
#ifndef WIRE_COMPLAINT_H
#define WIRE_COMPLAINT_H

#include "advisor/wire/wire.h"

enum complaint {
	COMPLAINT_NONE,
	COMPLAINT_LONG,	  /* the prompt does not fit */
	COMPLAINT_TOKENS, /* max_tokens: another name is wanted */
	COMPLAINT_STREAM, /* stream_options */
	COMPLAINT_FORM,	  /* the way JSON was asked for */
	COMPLAINT_QUOTA,  /* paid for no more: waiting does not help */
	COMPLAINT_PARSE	  /* the server cannot read its own model's output */
};

/* status: of the reply; error NULL: nothing understood. */
enum complaint complaint_of(int status, const struct wire_error *error);

#endif
