/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/llm/http/transport.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "cachemon/base/clock.h"

enum { CONNECT_MS = 10000, TOO_LARGE = 100 /* CURLE_TOO_LARGE, since 8.6.0 */ };

struct transfer {
	const struct transport_call *call;
	struct transport_result *ret;
	CURL *curl;
	uint64_t last_byte_ns; /* of the body; 0: none yet */
	char said[CURL_ERROR_SIZE];
};

static void headers_free(struct curl_slist *list)
{
	for (struct curl_slist *l = list; l; l = l->next)
		explicit_bzero(l->data, strlen(l->data));
	curl_slist_free_all(list);
}

static struct curl_slist *add(struct curl_slist *list, const char *line)
{
	struct curl_slist *longer = curl_slist_append(list, line);

	if (!longer)
		headers_free(list);
	return longer;
}

static struct curl_slist *add_key(struct curl_slist *list, const struct transport_call *call)
{
	char line[KEY_MAX + 64];

	snprintf(line, sizeof(line), "%s%s",
		 call->config->api == LLM_ANTHROPIC ? "x-api-key: " : "Authorization: Bearer ",
		 call->key->text);
	list = add(list, line);
	explicit_bzero(line, sizeof(line));
	return list;
}

/* The request's headers, with the key; NULL: no memory. Wiped when freed. */
static struct curl_slist *headers_of(const struct transport_call *call)
{
	struct curl_slist *list = add(NULL, "Content-Type: application/json");

	if (list)
		list = add(list, call->stream ? "Accept: text/event-stream, application/json"
					      : "Accept: application/json");
	/* Servers that do not know "Expect: 100-continue" would let a long request wait. */
	if (list)
		list = add(list, "Expect:");
	if (list && call->config->api == LLM_ANTHROPIC)
		list = add(list, "anthropic-version: 2023-06-01");
	if (list && call->key->len)
		list = add_key(list, call);
	return list;
}

static int grow(char **bytes, size_t *have, const char *more, size_t len, size_t max)
{
	char *p;

	if (len > max - *have)
		return -EMSGSIZE;
	p = realloc(*bytes, *have + len + 1);
	if (!p)
		return -ENOMEM;
	memcpy(p + *have, more, len);
	*have += len;
	p[*have] = '\0';
	*bytes = p;
	return 0;
}

static size_t on_header(char *bytes, size_t size, size_t nr, void *arg)
{
	struct transfer *t = arg;
	size_t len = size * nr;

	if (grow(&t->ret->headers, &t->ret->headers_len, bytes, len, TRANSPORT_HEADERS_MAX)) {
		t->ret->too_big = true;
		return 0;
	}
	return len;
}

/* A stream is one by what the server says, not by what was asked for. */
static bool is_stream(CURL *curl)
{
	static const char type[] = "text/event-stream";
	char *said = NULL;
	long status = 0;

	curl_easy_getinfo(curl, CURLINFO_CONTENT_TYPE, &said);
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	return status == 200 && said && !strncasecmp(said, type, strlen(type));
}

static size_t on_body(char *bytes, size_t size, size_t nr, void *arg)
{
	struct transfer *t = arg;
	size_t len = size * nr;
	int r;

	if (!t->last_byte_ns)
		t->ret->streamed = t->call->stream && t->call->piece && is_stream(t->curl);
	t->last_byte_ns = clock_now_ns();
	r = grow(&t->ret->body, &t->ret->len, bytes, len, TRANSPORT_BODY_MAX);
	if (r) {
		t->ret->too_big = r == -EMSGSIZE;
		return 0;
	}
	if (!t->ret->streamed)
		return len;
	t->ret->piece_said = t->call->piece(t->call->arg, bytes, len);
	return t->ret->piece_said ? 0 : len;
}

/* Called at least once a second. Until the first byte the model may think as long as there is
 * time. */
static int on_progress(void *arg, curl_off_t dltotal, curl_off_t dlnow, curl_off_t ultotal,
		       curl_off_t ulnow)
{
	struct transfer *t = arg;

	t->ret->stalled = t->last_byte_ns && clock_now_ns() - t->last_byte_ns > t->call->stall_ns;
	return t->ret->stalled;
}

static bool set_limits(struct transfer *t)
{
	CURL *c = t->curl;
	uint64_t ms = t->call->left_ns / 1000000;
	long left = ms < 1 ? 1 : (long)ms;

	return !curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L) &&
	       /* Do not wait for a resolver that does not answer. */
	       !curl_easy_setopt(c, CURLOPT_QUICK_EXIT, 1L) &&
	       !curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, left) &&
	       !curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS,
				 left < CONNECT_MS ? left : CONNECT_MS) &&
	       !curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L) &&
	       !curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https") &&
	       !curl_easy_setopt(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) &&
	       !curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header) &&
	       !curl_easy_setopt(c, CURLOPT_HEADERDATA, t) &&
	       !curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body) &&
	       !curl_easy_setopt(c, CURLOPT_WRITEDATA, t) &&
	       !curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, on_progress) &&
	       !curl_easy_setopt(c, CURLOPT_XFERINFODATA, t) &&
	       !curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
}

static bool set_trust(struct transfer *t)
{
	const struct llm_config *config = t->call->config;
	CURL *c = t->curl;
	/* The key is not sent to a proxy; and what is for this machine does not leave it. */
	bool ok = !curl_easy_setopt(c, CURLOPT_SSL_VERIFYPEER, 1L) &&
		  !curl_easy_setopt(c, CURLOPT_SSL_VERIFYHOST, 2L) &&
		  !curl_easy_setopt(c, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2) &&
		  !curl_easy_setopt(c, CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE) &&
		  !curl_easy_setopt(c, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);

	if (ok && t->call->endpoint->loopback)
		ok = !curl_easy_setopt(c, CURLOPT_NOPROXY, "*");
	if (ok && config->ca_file)
		ok = !curl_easy_setopt(c, CURLOPT_CAINFO, config->ca_file) &&
		     !curl_easy_setopt(c, CURLOPT_CAPATH, NULL);
	if (ok && config->cert_file)
		ok = !curl_easy_setopt(c, CURLOPT_SSLCERT, config->cert_file);
	if (ok && config->cert_key_file)
		ok = !curl_easy_setopt(c, CURLOPT_SSLKEY, config->cert_key_file);
	return ok;
}

static bool set_request(struct transfer *t, struct curl_slist *headers)
{
	CURL *c = t->curl;

	return !curl_easy_setopt(c, CURLOPT_URL, t->call->endpoint->url) &&
	       !curl_easy_setopt(c, CURLOPT_USERAGENT, "cachemon/" CACHEMON_VERSION) &&
	       !curl_easy_setopt(c, CURLOPT_POST, 1L) &&
	       !curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)t->call->len) &&
	       !curl_easy_setopt(c, CURLOPT_POSTFIELDS, t->call->body) &&
	       !curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers) &&
	       !curl_easy_setopt(c, CURLOPT_ERRORBUFFER, t->said);
}

static const char *header(CURL *curl, const char *name)
{
	struct curl_header *h = NULL;

	return curl_easy_header(curl, name, 0, CURLH_HEADER, -1, &h) ? NULL : h->value;
}

static void take_result(struct transfer *t, CURLcode code)
{
	struct transport_result *r = t->ret;
	const char *after = header(t->curl, "Retry-After");
	const char *location = header(t->curl, "Location");
	char *url = NULL;
	long status = 0;

	/* A transfer that was ended here went well as far as it was wanted, or stalled. */
	if (code == CURLE_WRITE_ERROR && r->piece_said)
		code = CURLE_OK;
	if (code == CURLE_ABORTED_BY_CALLBACK && r->stalled)
		code = CURLE_OPERATION_TIMEDOUT;
	/* So libcurl says that a line of a header is too long, by its age. */
	if (code == CURLE_OUT_OF_MEMORY || (int)code == TOO_LARGE)
		r->too_big = true;
	curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &status);
	r->curl = (int)code;
	r->status = (int)status;
	r->encoded = header(t->curl, "Content-Encoding") != NULL;
	r->retry_after_ns = after ? transport_retry_after_ns(after, time(NULL)) : -1;
	snprintf(r->said, sizeof(r->said), "%s", t->said[0] ? t->said : curl_easy_strerror(code));
	/* libcurl completes one that names no host. */
	if (location && !curl_easy_getinfo(t->curl, CURLINFO_REDIRECT_URL, &url) && url)
		endpoint_host(url, r->elsewhere, sizeof(r->elsewhere));
}

int transport_do(const struct transport_call *call, struct transport_result *ret)
{
	struct transport_result r = {.retry_after_ns = -1};
	struct transfer t = {.call = call, .ret = &r, .curl = curl_easy_init()};
	struct curl_slist *headers = headers_of(call);
	int err = -ENOMEM;

	if (t.curl && headers && set_request(&t, headers) && set_limits(&t) && set_trust(&t)) {
		take_result(&t, curl_easy_perform(t.curl));
		*ret = r;
		err = 0;
	}
	headers_free(headers);
	curl_easy_cleanup(t.curl);
	return err;
}

void transport_result_free(struct transport_result *r)
{
	free(r->body);
	free(r->headers);
	memset(r, 0, sizeof(*r));
}

int64_t transport_retry_after_ns(const char *value, int64_t now)
{
	char rest = '\0';
	unsigned int seconds = 0;
	time_t date;

	if (strspn(value, "0123456789") == strlen(value) && *value)
		/* More digits than that are a time nobody waits for. */
		return sscanf(value, "%9u%c", &seconds, &rest) == 1 ? (int64_t)seconds * 1000000000
								    : INT64_MAX;
	date = curl_getdate(value, NULL);
	if (date == -1)
		return -1;
	if (date <= now)
		return 0;
	return date - now < 1000000000 ? (int64_t)(date - now) * 1000000000 : INT64_MAX;
}
