/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/daemon/metrics_server.h"

#include <crypt.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "cachemon/base/clock.h"
#include "cachemon/daemon/metrics_http.h"

#define SECOND_NS UINT64_C(1000000000)

enum {
	MEMORY = 16384,	   /* of a connection: also the limit of a request */
	GUESSES = 5,	   /* passwords of a peer in a second: each takes a while to check */
	PEERS = 64,	   /* as many as can be connected */
	ACCEPT_MAX = 4096, /* bytes of the header that are looked at */
};

struct connection {
	int fd; /* < 0: the place is free */
	uint64_t since_ns;
	bool cut;
};

/* A sender of passwords that had to be checked: an IPv4 address, or a network of IPv6, of which one
 * host may have all addresses. */
struct peer {
	unsigned char address[8];
	uint64_t since_ns;
	unsigned int guesses; /* since then */
};

struct metrics_server {
	struct MHD_Daemon *http;
	const struct web_config *web;
	struct MHD_Response *text, *open, *home, *empty, *denied;
	struct connection connections[METRICS_CONNECTIONS];
	char **accepted; /* of each user: the password that was right */
	bool closed; /* a connection, in the last turn: libmicrohttpd accepts again in the next */
	struct peer peers[PEERS];
};

/* The quality in the parameters of a media range: 1 without one. */
static double quality(const char *parameters, const char *end)
{
	for (const char *p = parameters; p < end; p++) {
		if (*p != ';')
			continue;
		p++;
		while (p < end && (*p == ' ' || *p == '\t'))
			p++;
		if (end - p < 2 || (*p != 'q' && *p != 'Q') || p[1] != '=')
			continue;
		if (end - p > 2 && p[2] == '1')
			return 1;
		return end - p > 4 && p[2] == '0' && p[3] == '.' ? strtod(p + 2, NULL) : 0;
	}
	return 1;
}

static bool is_type(const char *p, const char *end, const char *type)
{
	size_t len = strlen(type);

	return (size_t)(end - p) >= len && !strncasecmp(p, type, len) &&
	       (p + len == end || strchr("; \t", p[len]));
}

bool metrics_server_accepts_open(const char *accept)
{
	const char *all = accept ? accept + strnlen(accept, ACCEPT_MAX) : NULL;
	double text = 0, open = 0;

	for (const char *p = accept, *end; p < all; p = end + 1) {
		double q;

		end = memchr(p, ',', (size_t)(all - p)) ?: all;
		while (p < end && (*p == ' ' || *p == '\t'))
			p++;
		q = quality(p, end);
		if (is_type(p, end, "application/openmetrics-text") && q > open)
			open = q;
		else if (is_type(p, end, "text/plain") && q > text)
			text = q;
		if (end == all)
			break;
	}
	return open > 0 && open >= text;
}

/* Takes as long wherever they differ. */
static bool same_text(const char *a, const char *b)
{
	size_t len = strlen(a);
	unsigned char differ = 0;

	if (len != strlen(b))
		return false;
	for (size_t i = 0; i < len; i++)
		differ |= (unsigned char)(a[i] ^ b[i]);
	return !differ;
}

static bool hash_matches(const char *password, const char *hash)
{
	const char *made = crypt(password, hash);

	return made && same_text(made, hash);
}

static void address_of(struct MHD_Connection *c, unsigned char ret[8])
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	const struct sockaddr *a = info ? info->client_addr : NULL;

	memset(ret, 0, 8);
	if (a && a->sa_family == AF_INET) {
		memcpy(ret, &((const struct sockaddr_in *)a)->sin_addr, 4);
	} else if (a && a->sa_family == AF_INET6) {
		const struct in6_addr *v6 = &((const struct sockaddr_in6 *)a)->sin6_addr;

		if (IN6_IS_ADDR_V4MAPPED(v6))
			memcpy(ret, v6->s6_addr + 12, 4);
		else
			memcpy(ret, v6->s6_addr, 8);
	}
}

/* Whether this peer may have another password checked now. A new one takes the place of the one
 * that began longest ago. */
static bool may_guess(struct metrics_server *s, const unsigned char address[8])
{
	uint64_t now = clock_now_ns();
	struct peer *p = s->peers;

	for (int i = 0; i < PEERS; i++) {
		if (s->peers[i].since_ns && !memcmp(s->peers[i].address, address, 8)) {
			p = &s->peers[i];
			break;
		}
		if (s->peers[i].since_ns < p->since_ns)
			p = &s->peers[i];
	}
	if (memcmp(p->address, address, 8) != 0 || now - p->since_ns >= SECOND_NS) {
		*p = (struct peer){.since_ns = now};
		memcpy(p->address, address, 8);
	}
	return p->guesses++ < GUESSES;
}

/* MHD_HTTP_OK: they may pass. An unknown user takes as long as a wrong password. A password that
 * was right before is not hashed again, so that neither a scraper nor a guesser takes much time. */
static unsigned int check_password(struct metrics_server *s, const unsigned char address[8],
				   const char *name, const char *password)
{
	const struct web_config *web = s->web;
	size_t user = 0;
	bool right;

	while (user < web->nr_users && strcmp(web->users[user].name, name) != 0)
		user++;
	if (user < web->nr_users && s->accepted[user] && same_text(s->accepted[user], password))
		return MHD_HTTP_OK;
	if (!may_guess(s, address))
		return MHD_HTTP_TOO_MANY_REQUESTS;
	right = hash_matches(password, web->users[user < web->nr_users ? user : 0].hash);
	if (!right || user == web->nr_users)
		return MHD_HTTP_UNAUTHORIZED;
	free(s->accepted[user]);
	s->accepted[user] = strdup(password);
	return MHD_HTTP_OK;
}

static unsigned int authorize(struct metrics_server *s, struct MHD_Connection *c)
{
	char *password = NULL, *name;
	unsigned int status = MHD_HTTP_UNAUTHORIZED;
	unsigned char address[8];

	if (!s->web->nr_users)
		return MHD_HTTP_OK;
	name = MHD_basic_auth_get_username_password(c, &password);
	address_of(c, address);
	if (name && password)
		status = check_password(s, address, name, password);
	MHD_free(name);
	MHD_free(password);
	return status;
}

/* At the head of a request: its body is never read, and the connection closes after the answer. */
static enum MHD_Result answer_request(void *context, struct MHD_Connection *c, const char *url,
				      const char *method, const char *version, const char *upload,
				      size_t *upload_len, void **request)
{
	struct metrics_server *s = context;
	unsigned int status;

	(void)version;
	(void)upload;
	(void)upload_len;
	(void)request;
	status = authorize(s, c);
	if (status == MHD_HTTP_UNAUTHORIZED)
		return MHD_queue_response(c, status, s->denied);
	if (status != MHD_HTTP_OK)
		return MHD_queue_response(c, status, s->empty);
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return MHD_queue_response(c, MHD_HTTP_METHOD_NOT_ALLOWED, s->empty);
	if (!strcmp(url, "/"))
		return MHD_queue_response(c, MHD_HTTP_OK, s->home);
	if (strcmp(url, "/metrics") != 0)
		return MHD_queue_response(c, MHD_HTTP_NOT_FOUND, s->empty);
	if (!s->text)
		return MHD_queue_response(c, MHD_HTTP_SERVICE_UNAVAILABLE, s->empty);
	return MHD_queue_response(c, MHD_HTTP_OK,
				  metrics_server_accepts_open(MHD_lookup_connection_value(
					  c, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT))
					  ? s->open
					  : s->text);
}

static void note_connection(void *context, struct MHD_Connection *c, void **place,
			    enum MHD_ConnectionNotificationCode code)
{
	struct metrics_server *s = context;
	struct connection *of = *place;

	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		s->closed = true;
		if (of)
			of->fd = -1;
		return;
	}
	for (int i = 0; i < METRICS_CONNECTIONS && !of; i++)
		if (s->connections[i].fd < 0)
			of = &s->connections[i];
	if (!of)
		return;
	*of = (struct connection){
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd,
		clock_now_ns(), false};
	*place = of;
}

/* Takes the text, which may be NULL. */
static struct MHD_Response *response(char *text, size_t len, const char *header, const char *value)
{
	struct MHD_Response *r =
		text ? MHD_create_response_from_buffer(len, text, MHD_RESPMEM_MUST_FREE) : NULL;

	if (!r)
		free(text);
	else if (MHD_add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close") != MHD_YES ||
		 MHD_add_response_header(r, header, value) != MHD_YES) {
		MHD_destroy_response(r);
		r = NULL;
	}
	return r;
}

static int open_responses(struct metrics_server *s)
{
	static const char home[] = "<!DOCTYPE html><title>cachemon</title>"
				   "<p>cachemon <a href=\"/metrics\">metrics</a>\n";

	s->home = response(strdup(home), strlen(home), MHD_HTTP_HEADER_CONTENT_TYPE,
			   "text/html; charset=utf-8");
	s->empty = response(strdup(""), 0, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	s->denied = response(strdup(""), 0, MHD_HTTP_HEADER_WWW_AUTHENTICATE,
			     "Basic realm=\"cachemon\"");
	s->accepted = calloc(s->web->nr_users + 1, sizeof(*s->accepted));
	return s->home && s->empty && s->denied && s->accepted ? 0 : -ENOMEM;
}

int metrics_server_new(int listen_fd, const struct web_config *web, struct metrics_server **ret,
		       struct errtext *err)
{
	struct metrics_server *s = calloc(1, sizeof(*s));
	struct MHD_OptionItem tls[] = {{MHD_OPTION_HTTPS_MEM_CERT, 0, web->cert},
				       {MHD_OPTION_HTTPS_MEM_KEY, 0, web->key},
				       {MHD_OPTION_END, 0, NULL}};
	unsigned int flags = MHD_USE_EPOLL | (web->cert ? MHD_USE_TLS : 0);

	if (!s)
		return errtext_set(err, -ENOMEM, "out of memory");
	s->web = web;
	for (int i = 0; i < METRICS_CONNECTIONS; i++)
		s->connections[i].fd = -1;
	if (open_responses(s))
		return errtext_set(err, -ENOMEM, "out of memory");
	s->http = MHD_start_daemon(
		flags, 0, NULL, NULL, answer_request, s, MHD_OPTION_LISTEN_SOCKET, listen_fd,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)METRICS_SILENT_S,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned int)METRICS_CONNECTIONS,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY, MHD_OPTION_NOTIFY_CONNECTION,
		note_connection, s, MHD_OPTION_ARRAY, web->cert ? tls : &tls[2], MHD_OPTION_END);
	if (!s->http)
		return errtext_set(err, -EINVAL,
				   web->cert ? "the certificate or its key is not valid"
					     : "HTTP does not start");
	*ret = s;
	return 0;
}

static void replace(struct MHD_Response **old, struct MHD_Response *now)
{
	if (*old)
		MHD_destroy_response(*old); /* which answers may use still */
	*old = now;
}

/* The newest texts. False: the daemon has ended. */
static bool take_texts(struct metrics_server *s, int channel)
{
	struct metrics_texts texts;
	int r;

	while (!(r = metrics_http_receive(channel, &texts))) {
		replace(&s->text, response(texts.text, texts.text_len, MHD_HTTP_HEADER_CONTENT_TYPE,
					   "text/plain; version=0.0.4; charset=utf-8"));
		replace(&s->open, response(texts.open, texts.open_len, MHD_HTTP_HEADER_CONTENT_TYPE,
					   "application/openmetrics-text; version=1.0.0; "
					   "charset=utf-8"));
		if (!s->open)
			replace(&s->text, NULL);
	}
	return r != -EPIPE;
}

/* A client that sends a byte now and then would stay for ever. */
static int cut_old(struct metrics_server *s)
{
	uint64_t now = clock_now_ns();
	struct connection *oldest = NULL;
	int open = 0;

	for (int i = 0; i < METRICS_CONNECTIONS; i++) {
		struct connection *c = &s->connections[i];

		if (c->fd < 0)
			continue;
		open++;
		if (c->cut)
			continue;
		if (!oldest || c->since_ns < oldest->since_ns)
			oldest = c;
		if (now - c->since_ns < METRICS_AGE_S * SECOND_NS)
			continue;
		shutdown(c->fd, SHUT_RDWR);
		c->cut = true;
	}
	if (open < METRICS_CONNECTIONS || !oldest || oldest->cut)
		return open;
	shutdown(oldest->fd, SHUT_RDWR);
	oldest->cut = true;
	return open;
}

void metrics_server_run(struct metrics_server *s, int channel)
{
	struct pollfd p[] = {{.fd = channel, .events = POLLIN}, {.events = POLLIN}};
	bool goes_on = true;

	p[1].fd = MHD_get_daemon_info(s->http, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
	while (goes_on) {
		int wait_ms = cut_old(s) ? 1000 : -1;
		MHD_UNSIGNED_LONG_LONG due_ms;

		if (MHD_get_timeout(s->http, &due_ms) == MHD_YES &&
		    (wait_ms < 0 || due_ms < (unsigned int)wait_ms))
			wait_ms = (int)due_ms;
		poll(p, 2, s->closed ? 0 : wait_ms);
		s->closed = false;
		goes_on = take_texts(s, channel);
		MHD_run(s->http);
	}
}
