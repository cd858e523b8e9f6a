/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which model is asked, where and with whose key: CACHEMON_LLM_URL, _MODEL, _API, _JSON, _KEY,
 * _KEY_FILE, and options of the command line on top; and the address of a request. Owns the
 * precedence and the checks that need no network. libcurl's own parser of URLs decides, so that
 * nothing is checked that differs from what is used. A key is read where it is needed and wiped
 * there; no text of an error repeats any of it.
 */
#ifndef LLM_HTTP_CONFIG_H
#define LLM_HTTP_CONFIG_H

#include "advisor/llm/http/client.h"

enum { URL_MAX = 4096 };

struct endpoint {
	char url[URL_MAX]; /* whole, of the API's call */
	char host[256];	   /* with its port where that is said; inert */
	char name[256];	   /* without it, as libcurl has it */
	bool plain;	   /* http */
	bool loopback;	   /* this machine */
};

/* -EINVAL with a text: no URL, of another scheme, or with a user in it. */
int endpoint_make(const char *url, enum llm_api api, struct endpoint *ret, struct errtext *err);

/* The API that an address speaks as far as can be told: Anthropic's by its host or the end of its
 * path. */
enum llm_api endpoint_guess(const char *url);

/* The host of a URL, "" when there is none: of the place that a server sends on to. */
void endpoint_host(const char *url, char *ret, size_t size);

/* Texts that an option may give, else a variable (NULL: see choose_key() in config.c), and their
 * places in struct llm_config. */
enum { LLM_TEXTS_NR = 8 };
extern const struct llm_text {
	const char *option, *variable;
	size_t offset;
} llm_texts[LLM_TEXTS_NR];

/* What is not set on the command line is NULL or false in options. environment: whether its
 * variables count; else only the options are looked at. -EINVAL with a text: an API, a form of JSON
 * or a URL that is none. No URL or no model is no error here: llm_ask() says it. */
int llm_config_make(const struct llm_config *options, bool environment, struct llm_config *ret,
		    struct errtext *err);

enum { KEY_MAX = 4096 };

struct key {
	char text[KEY_MAX + 1]; /* "": none */
	size_t len;
};

/* Out of a variable of the environment or a file, by their names; neither: none. A file is a
 * regular one of this user's that nobody else may read. -EACCES, -EINVAL or an error of the file,
 * with a text. */
int key_read(const char *variable, const char *file, struct key *ret, struct errtext *err);
void key_wipe(struct key *k);

/* Where the key stands in what somebody sent back (NULL: nothing) it becomes '*'. */
void key_mask(const struct key *k, char *text);

#endif
