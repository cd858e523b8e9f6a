/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/llm/http/attempt.h"

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
	const struct question *q;
	struct transport_result *ret;
	CURL *curl;
	size_t headers_len;
	uint64_t last_byte_ns; /* time of the body's last byte; 0: none yet */
	char said[CURL_ERROR_SIZE];
};

static void headers_free(struct curl_slist *list)
{
	for (struct curl_slist *l = list; l; l = l->next)
		explicit_bzero(l->data, strlen(l->data));
	curl_slist_free_all(list);
}

static bool add_header(struct curl_slist **list, const char *line)
{
	struct curl_slist *longer = curl_slist_append(*list, line);

	*list = longer ?: *list;
	return longer;
}

/* The request's headers, with the key; NULL: no memory. The key is wiped on free. */
static struct curl_slist *headers_of(const struct question *q)
{
	bool anthropic = q->config->api == LLM_ANTHROPIC, ok;
	char key[KEY_MAX + 64] = "";
	struct curl_slist *list = NULL;

	snprintf(key, sizeof(key), "%s%s", anthropic ? "x-api-key: " : "Authorization: Bearer ",
		 q->key.text);
	/* Servers without support for "Expect: 100-continue" would delay a long request. */
	ok = add_header(&list, "Content-Type: application/json") &&
	     add_header(&list, "Accept: application/json") && add_header(&list, "Expect:") &&
	     (!anthropic || add_header(&list, "anthropic-version: 2023-06-01")) &&
	     (!q->key.len || add_header(&list, key));
	explicit_bzero(key, sizeof(key));
	if (ok)
		return list;
	headers_free(list);
	return NULL;
}

static size_t on_header(char *bytes, size_t size, size_t nr, void *arg)
{
	struct transfer *t = arg;

	t->headers_len += size * nr;
	t->ret->too_big = t->headers_len > TRANSPORT_HEADERS_MAX;
	return t->ret->too_big ? 0 : size * nr;
}

static size_t on_body(char *bytes, size_t size, size_t nr, void *arg)
{
	struct transfer *t = arg;
	struct transport_result *r = t->ret;
	size_t len = size * nr;
	char *body;

	t->last_byte_ns = clock_now_ns();
	r->too_big = len > TRANSPORT_BODY_MAX - r->len;
	body = r->too_big ? NULL : realloc(r->body, r->len + len + 1);
	if (!body)
		return 0;
	memcpy(body + r->len, bytes, len);
	r->body = body;
	r->len += len;
	body[r->len] = '\0';
	return len;
}

/* libcurl calls this at least once a second. Until the first byte comes, the model may use all
 * of the time. */
static int on_progress(void *arg, curl_off_t dltotal, curl_off_t dlnow, curl_off_t ultotal,
		       curl_off_t ulnow)
{
	struct transfer *t = arg;

	t->ret->stalled = t->last_byte_ns && clock_now_ns() - t->last_byte_ns > t->q->stall_ns;
	return t->ret->stalled;
}

#define SET(option, value) (ok = ok && !curl_easy_setopt(t->curl, CURLOPT_##option, value))

static bool set_options(struct transfer *t, const char *body, struct curl_slist *headers)
{
	const struct llm_config *config = t->q->config;
	uint64_t ms = t->q->left_ns / 1000000;
	long left = ms < 1 ? 1 : (long)ms;
	bool ok = true;

	SET(URL, t->q->endpoint.url);
	SET(USERAGENT, "cachemon/" CACHEMON_VERSION);
	SET(POST, 1L);
	SET(POSTFIELDSIZE_LARGE, (curl_off_t)strlen(body));
	SET(POSTFIELDS, body);
	SET(HTTPHEADER, headers);
	SET(ERRORBUFFER, t->said);
	SET(NOSIGNAL, 1L);
	SET(QUICK_EXIT, 1L); /* do not wait for an unresponsive resolver */
	SET(TIMEOUT_MS, left);
	SET(CONNECTTIMEOUT_MS, left < CONNECT_MS ? left : CONNECT_MS);
	SET(FOLLOWLOCATION, 0L);
	SET(PROTOCOLS_STR, "http,https");
	SET(HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	SET(HEADERFUNCTION, on_header);
	SET(HEADERDATA, t);
	SET(WRITEFUNCTION, on_body);
	SET(WRITEDATA, t);
	SET(XFERINFOFUNCTION, on_progress);
	SET(XFERINFODATA, t);
	SET(NOPROGRESS, 0L);
	SET(SSL_VERIFYPEER, 1L);
	SET(SSL_VERIFYHOST, 2L);
	SET(SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	/* The key must not go to a proxy, and requests to this machine must not leave it. */
	SET(HEADEROPT, (long)CURLHEADER_SEPARATE);
	SET(SUPPRESS_CONNECT_HEADERS, 1L);
	if (t->q->endpoint.loopback)
		SET(NOPROXY, "*");
	if (config->ca_file) {
		SET(CAINFO, config->ca_file);
		SET(CAPATH, NULL);
	}
	if (config->cert_file)
		SET(SSLCERT, config->cert_file);
	if (config->cert_key_file)
		SET(SSLKEY, config->cert_key_file);
	return ok;
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

	if (code == CURLE_ABORTED_BY_CALLBACK && r->stalled)
		code = CURLE_OPERATION_TIMEDOUT;
	/* libcurl reports an overlong header line with either code, depending on its version. */
	if (code == CURLE_OUT_OF_MEMORY || (int)code == TOO_LARGE)
		r->too_big = true;
	curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &status);
	r->curl = (int)code;
	r->status = (int)status;
	r->encoded = header(t->curl, "Content-Encoding") != NULL;
	r->retry_after_ns = after ? transport_retry_after_ns(after, time(NULL)) : -1;
	snprintf(r->said, sizeof(r->said), "%s", t->said[0] ? t->said : curl_easy_strerror(code));
	/* libcurl resolves a relative redirect to a full URL. */
	if (location && !curl_easy_getinfo(t->curl, CURLINFO_REDIRECT_URL, &url) && url)
		endpoint_host(url, r->elsewhere, sizeof(r->elsewhere));
}

int transport_do(const struct question *q, const char *body, struct transport_result *ret)
{
	struct transport_result r = {.retry_after_ns = -1};
	struct transfer t = {.q = q, .ret = &r, .curl = curl_easy_init()};
	struct curl_slist *headers = headers_of(q);
	int err = -ENOMEM;

	if (t.curl && headers && set_options(&t, body, headers)) {
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
	memset(r, 0, sizeof(*r));
}

int64_t transport_retry_after_ns(const char *value, int64_t now)
{
	char rest = '\0';
	unsigned int seconds = 0;
	time_t date;

	if (strspn(value, "0123456789") == strlen(value) && *value)
		/* More digits make a time too long to wait for. */
		return sscanf(value, "%9u%c", &seconds, &rest) == 1 ? (int64_t)seconds * 1000000000
								    : INT64_MAX;
	date = curl_getdate(value, NULL);
	if (date == -1)
		return -1;
	if (date <= now)
		return 0;
	return date - now < 1000000000 ? (int64_t)(date - now) * 1000000000 : INT64_MAX;
}
