/* SPDX-License-Identifier: BSD-2-Clause */
/* What the transport's files share; for advisor/wire/ only. */
#ifndef WIRE_TRANSPORT_IMPL_H
#define WIRE_TRANSPORT_IMPL_H

#include <curl/curl.h>

#include "advisor/wire/transport.h"

struct transfer {
	const struct transport_call *call;
	struct transport_result *ret;
	CURL *curl;
	uint64_t last_byte_ns; /* of the body; 0: none yet */
	char said[CURL_ERROR_SIZE];
};

/* The request's headers, with the key; NULL: no memory. Wiped when freed. */
struct curl_slist *transfer_headers(const struct transport_call *call);
void transfer_headers_free(struct curl_slist *list);

#endif
