/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/llm/http/config.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "cachemon/access/access.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/base/escape.h"
#include "cachemon/base/parse.h"

static void cleanup_url(CURLU **u)
{
	curl_url_cleanup(*u);
}

#define _cleanup_url_ _cleanup_(cleanup_url)

/* false: missing or too long; then `to` is "". */
static bool get_part(CURLU *u, CURLUPart part, char *to, size_t size)
{
	char *text = NULL;
	bool there = !curl_url_get(u, part, &text, 0) && strlen(text) < size;

	strcpy(to, there ? text : "");
	curl_free(text);
	return there;
}

static bool ends_in(const char *text, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len >= n && !strncmp(text + len - n, end, n);
}

/* The path to append to the user's URL, as the vendors' clients do: "/v1" and "/api/v4" are
 * bases of an API version. */
static const char *rest_of_path(const char *path, size_t len, enum llm_api api)
{
	size_t digits = len;

	if (ends_in(path, len, "/chat/completions") || ends_in(path, len, "/messages"))
		return "";
	if (api == LLM_OPENAI)
		return len ? "/chat/completions" : "/v1/chat/completions";
	while (digits && path[digits - 1] >= '0' && path[digits - 1] <= '9')
		digits--;
	return digits < len && ends_in(path, digits, "/v") ? "/messages" : "/v1/messages";
}

static bool is_loopback(const char *name)
{
	struct in_addr four;
	struct in6_addr six;
	char bare[INET6_ADDRSTRLEN] = "";

	if (!strcasecmp(name, "localhost"))
		return true;
	if (inet_pton(AF_INET, name, &four) == 1)
		return ntohl(four.s_addr) >> 24 == 127;
	if (sscanf(name, "[%45[0-9a-fA-F:.]]", bare) != 1 || inet_pton(AF_INET6, bare, &six) != 1)
		return false;
	return IN6_IS_ADDR_LOOPBACK(&six);
}

/* The URL of the API's endpoint. false: too long. */
static bool complete(CURLU *u, enum llm_api api, struct endpoint *e)
{
	enum { MORE = 32 };
	char path[URL_MAX];
	size_t len;

	if (!get_part(u, CURLUPART_PATH, path, sizeof(path) - MORE))
		return false;
	len = strlen(path);
	while (len && path[len - 1] == '/')
		len--;
	strcpy(path + len, rest_of_path(path, len, api));
	return !curl_url_set(u, CURLUPART_PATH, path, 0) &&
	       !curl_url_set(u, CURLUPART_FRAGMENT, NULL, 0) &&
	       get_part(u, CURLUPART_URL, e->url, sizeof(e->url));
}

int endpoint_make(const char *url, enum llm_api api, struct endpoint *ret, struct errtext *err)
{
	_cleanup_url_ CURLU *u = curl_url();
	struct endpoint e = {0};
	char text[512], port[16];
	CURLUcode code = u ? curl_url_set(u, CURLUPART_URL, url, CURLU_NON_SUPPORT_SCHEME)
			   : CURLUE_OUT_OF_MEMORY;

	/* The text may hold a password, so the message does not repeat it. */
	if (code)
		return errtext_set(err, -EINVAL,
				   "invalid model URL (%s); use a URL such as https://host/v1",
				   curl_url_strerror(code));
	if (!get_part(u, CURLUPART_SCHEME, text, sizeof(text)))
		return errtext_set(err, -EINVAL,
				   "the model URL must begin with https:// or http://");
	e.plain = !strcmp(text, "http");
	if (!e.plain && strcmp(text, "https") != 0)
		return errtext_set(err, -EINVAL, "the model URL uses %.20s; use https or http",
				   text);
	/* A longer one would make the URL too long. */
	if (get_part(u, CURLUPART_USER, e.url, sizeof(e.url)) ||
	    get_part(u, CURLUPART_PASSWORD, e.url, sizeof(e.url)))
		return errtext_set(
			err, -EINVAL,
			"the model URL contains a user or a password: put the key in "
			"CACHEMON_LLM_KEY, or in a file and its name in CACHEMON_LLM_KEY_FILE");
	if (!get_part(u, CURLUPART_HOST, e.name, sizeof(e.name) - 8) || !complete(u, api, &e))
		return errtext_set(err, -EINVAL, "the model URL has no host or is too long");
	get_part(u, CURLUPART_PORT, port, sizeof(port));
	snprintf(text, sizeof(text), "%s%s%s", e.name, *port ? ":" : "", port);
	escape_inert_to(e.host, sizeof(e.host), text);
	e.loopback = is_loopback(e.name);
	*ret = e;
	return 0;
}

void endpoint_host(const char *url, char *ret, size_t size)
{
	_cleanup_url_ CURLU *u = curl_url();
	char host[256] = "";

	if (u && !curl_url_set(u, CURLUPART_URL, url, CURLU_NON_SUPPORT_SCHEME))
		get_part(u, CURLUPART_HOST, host, sizeof(host));
	escape_inert_to(ret, size, host);
}

/* An empty variable counts as unset. */
static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

#define PLACE(member) offsetof(struct llm_config, member)

const struct llm_text llm_texts[LLM_TEXTS_NR] = {
	{"--llm-url", "CACHEMON_LLM_URL", PLACE(url)},
	{"--llm-model", "CACHEMON_LLM_MODEL", PLACE(model)},
	{"--llm-api", "CACHEMON_LLM_API", PLACE(api_name)},
	{"--llm-json", "CACHEMON_LLM_JSON", PLACE(json_name)},
	{"--llm-key-file", NULL, PLACE(key_file)},
	{"--llm-ca", "CACHEMON_LLM_CA", PLACE(ca_file)},
	{"--llm-cert", "CACHEMON_LLM_CERT", PLACE(cert_file)},
	{"--llm-cert-key", "CACHEMON_LLM_CERT_KEY", PLACE(cert_key_file)},
};

/* The API of a URL, as far as can be known: Anthropic's by its host or the end of its path. */
static enum llm_api guess_api(const char *url)
{
	char host[256];

	endpoint_host(url, host, sizeof(host));
	return !strcasecmp(host, "api.anthropic.com") ||
			       ends_in(url, strcspn(url, "?#"), "/messages")
		       ? LLM_ANTHROPIC
		       : LLM_OPENAI;
}

static int choose_forms(struct llm_config *c, struct errtext *err)
{
	size_t api = c->url ? guess_api(c->url) : LLM_OPENAI, json = LLM_JSON_SCHEMA;

	if (c->api_name && parse_enum(c->api_name, llm_api_names, 2, &api))
		return errtext_set(err, -EINVAL,
				   "unknown API '%.40s' (--llm-api, CACHEMON_LLM_API): choose "
				   "openai or anthropic",
				   c->api_name);
	if (c->json_name && parse_enum(c->json_name, llm_json_names, LLM_JSON_NR, &json))
		return errtext_set(err, -EINVAL,
				   "unknown form of JSON '%.40s' (--llm-json, CACHEMON_LLM_JSON): "
				   "choose schema, object or none",
				   c->json_name);
	c->api = (enum llm_api)api;
	c->json = (enum llm_json)json;
	return 0;
}

/* A vendor's key goes to that vendor only, and only encrypted. */
static const char *vendor_key(const struct endpoint *e)
{
	const char *name = !strcasecmp(e->name, "api.openai.com")      ? "OPENAI_API_KEY"
			   : !strcasecmp(e->name, "api.anthropic.com") ? "ANTHROPIC_API_KEY"
								       : NULL;

	return name && !e->plain && variable(name) ? name : NULL;
}

static void choose_key(const struct endpoint *e, struct llm_config *c)
{
	static const char own[] = "CACHEMON_LLM_KEY";

	if (c->key_file && *c->key_file)
		return;
	c->key_file = NULL;
	if (variable(own))
		c->key_env = own;
	else
		c->key_file = variable("CACHEMON_LLM_KEY_FILE");
	if (!c->key_env && !c->key_file && *e->url)
		c->key_env = vendor_key(e);
}

int llm_config_make(const struct llm_config *options, bool environment, struct llm_config *ret,
		    struct errtext *err)
{
	struct llm_config c = *options;
	struct endpoint e = {0};
	int r;

	for (size_t i = 0; environment && i < LLM_TEXTS_NR; i++) {
		const char **text = (const char **)((char *)&c + llm_texts[i].offset);

		if (llm_texts[i].variable && (!*text || !**text))
			*text = variable(llm_texts[i].variable);
	}
	r = choose_forms(&c, err);
	if (!r && c.url)
		r = endpoint_make(c.url, c.api, &e, err);
	if (r)
		return r;
	if (environment)
		choose_key(&e, &c);
	*ret = c;
	return 0;
}

/* Shorter keys may occur in texts by chance. */
enum { MASKED_MIN = 6 };

/* Trims blanks; accepts only what is valid in a header. */
static int take_key(const char *text, size_t len, const char *place, struct key *ret,
		    struct errtext *err)
{
	static const char blanks[] = " \t\r\n";

	while (len && strchr(blanks, text[len - 1]))
		len--;
	while (len && strchr(blanks, *text)) {
		text++;
		len--;
	}
	if (len == 0)
		return errtext_set(err, -EINVAL, "%.200s contains no key", place);
	if (len > KEY_MAX)
		return errtext_set(err, -EINVAL, "the key in %.200s is too long", place);
	for (size_t i = 0; i < len; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return errtext_set(err, -EINVAL,
					   "the key in %.200s contains a character that a key "
					   "cannot have, such as a blank or a line break",
					   place);
	memcpy(ret->text, text, len);
	ret->text[len] = '\0';
	ret->len = len;
	return 0;
}

static int read_file(const char *path, struct key *ret, struct errtext *err)
{
	_cleanup_close_ int fd = access_open(AT_FDCWD, path, O_RDONLY, 0, ACCESS_REGULAR);
	char text[KEY_MAX + 64];
	struct stat st;
	size_t len = 0;
	ssize_t n;
	int r;

	if (fd < 0)
		return errtext_set(err, fd, "the key file %.200s: %s", path, access_strerror(fd));
	if (fstat(fd, &st))
		return errtext_set(err, -errno, "the key file %.200s: %m", path);
	if (st.st_uid != geteuid())
		return errtext_set(
			err, -EACCES,
			"the key file %.200s belongs to user %u, but this process runs as user %u",
			path, st.st_uid, geteuid());
	if (st.st_mode & 077)
		return errtext_set(
			err, -EACCES,
			"other users can access the key file %.200s: run chmod 600 on it", path);
	do {
		n = read(fd, text + len, sizeof(text) - len);
		len += n > 0 ? (size_t)n : 0;
	} while (n > 0 || (n < 0 && errno == EINTR));
	r = n < 0 ? errtext_set(err, -errno, "the key file %.200s: %m", path)
		  : take_key(text, len, path, ret, err);
	explicit_bzero(text, sizeof(text));
	return r;
}

int key_read(const char *variable, const char *file, struct key *ret, struct errtext *err)
{
	const char *value = variable ? getenv(variable) ?: "" : NULL;

	if (file)
		return read_file(file, ret, err);
	if (value)
		return take_key(value, strlen(value), variable, ret, err);
	memset(ret, 0, sizeof(*ret));
	return 0;
}

void key_wipe(struct key *k)
{
	explicit_bzero(k, sizeof(*k));
}

void key_mask(const struct key *k, char *text)
{
	while (text && k->len >= MASKED_MIN && (text = strstr(text, k->text)))
		memset(text, '*', k->len);
}
