/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a request goes: the address out of what the user configured, and what is to be known of it
 * before anything is sent. Pure; libcurl's own parser of URLs decides, so that nothing is checked
 * that differs from what is used.
 */
#ifndef WIRE_ENDPOINT_H
#define WIRE_ENDPOINT_H

#include "advisor/wire/client.h"

struct endpoint {
	char *url;	/* whole, of the API's call */
	char host[256]; /* with its port where that is said; inert */
	char name[256]; /* without it, as libcurl has it */
	bool plain;	/* http */
	bool loopback;	/* this machine */
};

/* -EINVAL with a text: no URL, of another scheme, or with a user in it. */
int endpoint_make(const char *url, enum llm_api api, struct endpoint *ret, struct errtext *err);
void endpoint_free(struct endpoint *e);

/* The API that an address speaks as far as can be told: Anthropic's by its host or the end of its
 * path. */
enum llm_api endpoint_guess(const char *url);

/* The host of a URL, "" when there is none: of the place that a server sends on to. */
void endpoint_host(const char *url, char *ret, size_t size);

#endif
