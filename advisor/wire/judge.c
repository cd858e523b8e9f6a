/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/wire/judge.h"

#include <curl/curl.h>

/* A text is an answer only when it came to its own end. */
static enum verdict_kind of_reply(const struct transport_result *t, const struct wire_reply *r)
{
	if (r->refusal[0] || r->end == WIRE_END_REFUSAL)
		return VERDICT_REFUSAL;
	if (r->end == WIRE_END_NONE)
		return t->streamed ? VERDICT_CUT : VERDICT_NO_STOP;
	if (r->end == WIRE_END_LENGTH)
		return VERDICT_LENGTH;
	if (r->end == WIRE_END_OTHER)
		return VERDICT_NO_STOP;
	for (size_t i = 0; i < r->len; i++)
		if (r->text[i] != ' ' && r->text[i] != '\n' && r->text[i] != '\r' &&
		    r->text[i] != '\t')
			return VERDICT_ANSWERED;
	return VERDICT_EMPTY;
}

static enum verdict_kind of_body(enum llm_api api, const struct transport_result *t,
				 struct wire_reply *r, struct verdict *v)
{
	int err = t->streamed ? t->piece_said : wire_whole(api, t->body ? t->body : "", t->len, r);

	if (r->failed) {
		v->has_error = true;
		v->error = r->error;
		v->status = r->error.status ? r->error.status : v->status;
		return VERDICT_STATUS;
	}
	return err < 0 ? VERDICT_NOT_API : of_reply(t, r);
}

/* Something answers that speaks another protocol (HTTP without headers is none either). */
static bool is_no_http(int curl)
{
	return curl == CURLE_UNSUPPORTED_PROTOCOL || curl == CURLE_WEIRD_SERVER_REPLY;
}

struct verdict judge(enum llm_api api, const struct transport_result *t, struct wire_reply *reply)
{
	struct verdict v = {.curl = t->curl, .status = t->status};

	if (t->too_big)
		v.kind = VERDICT_TOO_BIG;
	else if (t->curl)
		v.kind = is_no_http(t->curl) ? VERDICT_NOT_API : VERDICT_NETWORK;
	else if (t->status >= 300 && t->status < 400)
		v.kind = VERDICT_ELSEWHERE;
	else if (t->status == 200)
		v.kind = of_body(api, t, reply, &v);
	else
		v.kind = VERDICT_STATUS;
	if (v.kind == VERDICT_STATUS && !v.has_error && t->body)
		v.has_error = !wire_error_parse(t->body, t->len, &v.error);
	if (v.kind == VERDICT_STATUS)
		v.complaint = complaint_of(v.status, v.has_error ? &v.error : NULL);
	return v;
}
