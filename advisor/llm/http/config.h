/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which model to query, with which URL and key: the variables CACHEMON_LLM_URL, _MODEL, _API,
 * _JSON, _KEY, _KEY_FILE, overridden by command-line options. Owns the precedence and the checks
 * that need no network. Uses libcurl's own URL parser, so that the checked URL is the used one. The
 * key is read where it is needed and wiped there; no error text repeats any of it.
 */
#ifndef LLM_HTTP_CONFIG_H
#define LLM_HTTP_CONFIG_H

#include "advisor/llm/http/client.h"

enum { URL_MAX = 4096 };

struct endpoint {
	char url[URL_MAX]; /* complete URL of the API's endpoint */
	char host[256];	   /* with the port if given; printable */
	char name[256];	   /* without the port, as libcurl reports it */
	bool plain;	   /* http */
	bool loopback;	   /* this machine */
};

/* -EINVAL with a text: not a URL, another scheme, or with a user name. */
int endpoint_make(const char *url, enum llm_api api, struct endpoint *ret, struct errtext *err);

/* The host of a URL, such as the target of a redirect; "": none. */
void endpoint_host(const char *url, char *ret, size_t size);

/* Settings from an option or else a variable (NULL: see choose_key() in config.c), and their
 * places in struct llm_config. */
enum { LLM_TEXTS_NR = 8 };
extern const struct llm_text {
	const char *option, *variable;
	size_t offset;
} llm_texts[LLM_TEXTS_NR];

/* Options that are not given are NULL or false. environment: whether to read variables too.
 * -EINVAL with a text: an invalid API, JSON mode or URL. A missing URL or model is not an error
 * here: llm_ask() reports it. */
int llm_config_make(const struct llm_config *options, bool environment, struct llm_config *ret,
		    struct errtext *err);

enum { KEY_MAX = 4096 };

struct key {
	char text[KEY_MAX + 1]; /* "": none */
	size_t len;
};

/* Reads the key from the named variable or file; no names: no key. A file must be a regular file
 * of this user that nobody else may read. -EACCES, -EINVAL or an error of the file, with a text. */
int key_read(const char *variable, const char *file, struct key *ret, struct errtext *err);
void key_wipe(struct key *k);

/* Replaces each occurrence of the key in a received text by '*' (NULL: no text). */
void key_mask(const struct key *k, char *text);

#endif
