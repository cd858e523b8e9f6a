/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * TLS and passwords of the metrics server, from a file in the form of Prometheus's exporters:
 * tls_server_config with cert_file and key_file, and basic_auth_users with bcrypt hashes. Owns the
 * reading of these; other keys are errors, because they would restrict access.
 */
#ifndef WEB_CONFIG_H
#define WEB_CONFIG_H

#include <stddef.h>

#include "cachemon/base/errtext.h"

struct web_user {
	char *name, *hash;
};

struct web_config {
	char *cert, *key; /* PEM; NULL: without TLS */
	struct web_user *users;
	size_t nr_users; /* 0: without passwords */
};

/* directory: of relative names. 0, or -errno with a text. Free *ret after a failure too. */
int web_config_parse(const char *file, const char *directory, const char *text, size_t len,
		     struct web_config *ret, struct errtext *err);
/* The same for a file, which must be of root or of this user, and which only they can change. */
int web_config_load(const char *file, struct web_config *ret, struct errtext *err);
void web_config_free(struct web_config *c);

#endif
