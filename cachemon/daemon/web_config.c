/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/daemon/web_config.h"

#include <crypt.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "cachemon/base/cleanup.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/daemon/node_config.h"

enum { FILE_MAX = 1 << 16, USERS_MAX = 64, NAME_MAX_BYTES = 128, HASH_BYTES = 60 };

struct reader {
	const char *file, *directory;
	struct web_config *config;
	struct errtext *err;
	yaml_document_t document;
	const char *cert_file, *key_file;
};

static int wrong(struct reader *r, const yaml_node_t *at, const char *what)
{
	return errtext_set(r->err, -EINVAL, "%s:%zu: %s", r->file, at->start_mark.line + 1, what);
}

/* NULL: not a text, or with a byte 0. */
static const char *text_of(const yaml_node_t *n)
{
	const char *text = n->type == YAML_SCALAR_NODE ? (const char *)n->data.scalar.value : NULL;

	return text && strlen(text) == n->data.scalar.length ? text : NULL;
}

typedef int take_pair(struct reader *r, const yaml_node_t *key, const yaml_node_t *value);

static int each_pair(struct reader *r, const yaml_node_t *mapping, take_pair *take)
{
	int e = 0;

	if (mapping->type != YAML_MAPPING_NODE)
		return wrong(r, mapping, "expected lines KEY: VALUE");
	for (yaml_node_pair_t *p = mapping->data.mapping.pairs.start;
	     !e && p < mapping->data.mapping.pairs.top; p++) {
		const yaml_node_t *key = yaml_document_get_node(&r->document, p->key);

		if (!text_of(key))
			return wrong(r, key, "a key is a word");
		e = take(r, key, yaml_document_get_node(&r->document, p->value));
	}
	return e;
}

static int take_file(struct reader *r, const yaml_node_t *value, const char **to)
{
	if (*to)
		return wrong(r, value, "this key was given before");
	*to = text_of(value);
	return *to && **to ? 0 : wrong(r, value, "expected the name of a file");
}

static int take_tls(struct reader *r, const yaml_node_t *key, const yaml_node_t *value)
{
	if (!strcmp(text_of(key), "cert_file"))
		return take_file(r, value, &r->cert_file);
	if (!strcmp(text_of(key), "key_file"))
		return take_file(r, value, &r->key_file);
	return wrong(r, key, "unknown key in tls_server_config; there are cert_file and key_file");
}

static bool is_bcrypt(const char *hash)
{
	return hash && strlen(hash) == HASH_BYTES && !strncmp(hash, "$2", 2) &&
	       crypt_checksalt(hash) == CRYPT_SALT_OK;
}

static int take_user(struct reader *r, const yaml_node_t *key, const yaml_node_t *value)
{
	struct web_config *c = r->config;
	const char *name = text_of(key), *hash = text_of(value);
	struct web_user *u = &c->users[c->nr_users];

	if (!*name || strlen(name) > NAME_MAX_BYTES || strchr(name, ':'))
		return wrong(r, key, "a user's name has 1 to 128 bytes without a colon");
	if (!is_bcrypt(hash))
		return wrong(r, value,
			     "not a bcrypt hash. To make one, run: htpasswd -nBC 10 USER");
	for (size_t i = 0; i < c->nr_users; i++)
		if (!strcmp(c->users[i].name, name))
			return wrong(r, key, "this user was given before");
	if (c->nr_users == USERS_MAX)
		return wrong(r, key, "more than 64 users");
	c->nr_users++;
	u->name = strdup(name);
	u->hash = strdup(hash);
	return u->name && u->hash ? 0 : errtext_set(r->err, -ENOMEM, "out of memory");
}

static int take_section(struct reader *r, const yaml_node_t *key, const yaml_node_t *value)
{
	if (!strcmp(text_of(key), "tls_server_config"))
		return each_pair(r, value, take_tls);
	if (strcmp(text_of(key), "basic_auth_users") != 0)
		return wrong(r, key,
			     "unknown key; there are tls_server_config and basic_auth_users");
	if (r->config->users)
		return wrong(r, key, "this key was given before");
	r->config->users = calloc(USERS_MAX + 1, sizeof(*r->config->users));
	return r->config->users ? each_pair(r, value, take_user)
				: errtext_set(r->err, -ENOMEM, "out of memory");
}

static int read_pem(struct reader *r, const char *name, char **to)
{
	_cleanup_free_ char *path = NULL;
	size_t len;
	int e = text_print(&path, "%s%s%s", *name == '/' ? "" : r->directory,
			   *name == '/' ? "" : "/", name);

	return e ? errtext_set(r->err, e, "out of memory")
		 : node_config_text(path, FILE_MAX, to, &len, r->err);
}

static int read_document(struct reader *r)
{
	const yaml_node_t *root = yaml_document_get_root_node(&r->document);
	int e = root ? each_pair(r, root, take_section) : 0;

	if (!e && r->config->users && !r->config->nr_users)
		e = errtext_set(r->err, -EINVAL, "%s: basic_auth_users has no users", r->file);
	if (!e && !r->cert_file != !r->key_file)
		e = errtext_set(r->err, -EINVAL,
				"%s: tls_server_config needs both cert_file and key_file", r->file);
	if (e || !r->cert_file || !r->key_file)
		return e;
	e = read_pem(r, r->cert_file, &r->config->cert);
	return e ? e : read_pem(r, r->key_file, &r->config->key);
}

int web_config_parse(const char *file, const char *directory, const char *text, size_t len,
		     struct web_config *ret, struct errtext *err)
{
	struct reader r = {.file = file, .directory = directory, .config = ret, .err = err};
	yaml_parser_t yaml;
	int e;

	memset(ret, 0, sizeof(*ret));
	if (!yaml_parser_initialize(&yaml))
		return errtext_set(err, -ENOMEM, "%s: out of memory", file);
	yaml_parser_set_input_string(&yaml, (const unsigned char *)text, len);
	if (!yaml_parser_load(&yaml, &r.document)) {
		e = errtext_set(err, -EINVAL, "%s:%zu: invalid YAML: %s", file,
				yaml.problem_mark.line + 1, yaml.problem ?: "unreadable");
	} else {
		e = read_document(&r);
		yaml_document_delete(&r.document);
	}
	yaml_parser_delete(&yaml);
	return e;
}

int web_config_load(const char *file, struct web_config *ret, struct errtext *err)
{
	_cleanup_free_ char *text = NULL, *directory = NULL;
	const char *slash = strrchr(file, '/');
	size_t len;
	int e;

	memset(ret, 0, sizeof(*ret));
	e = node_config_text(file, FILE_MAX, &text, &len, err);
	if (e)
		return e;
	e = slash ? text_print(&directory, "%.*s", (int)(slash - file), file)
		  : text_print(&directory, ".");
	return e ? errtext_set(err, e, "out of memory")
		 : web_config_parse(file, directory, text, len, ret, err);
}

void web_config_free(struct web_config *c)
{
	for (size_t i = 0; i < c->nr_users; i++) {
		free(c->users[i].name);
		free(c->users[i].hash);
	}
	free(c->users);
	free(c->cert);
	free(c->key);
	memset(c, 0, sizeof(*c));
}
