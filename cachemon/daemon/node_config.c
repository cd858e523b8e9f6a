/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/daemon/node_config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "cachemon/base/cleanup.h"
#include "cachemon/base/parse.h"
#include "cachemon/base/suggest.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/job/job_find.h"

enum { LIST_MAX = 64, WORD_MAX = 256 };

#define SECOND_NS UINT64_C(1000000000)
#define DAY_NS	  (86400 * SECOND_NS)

static const char NONE[] = "none";

enum type {
	T_PATH,
	T_WORD,
	T_INTERVAL,
	T_AGE,
	T_BYTES,
	T_PERCENT,
	T_ADDRESS,
	T_VFS,
	T_KINDS,
	T_PATTERNS,
	T_NR
};

static const char *const units[T_NR] = {
	[T_PATH] = "absolute path",
	[T_WORD] = "name",
	[T_INTERVAL] = "time from 1s to 1h: 10s, 1m",
	[T_AGE] = "time of at least 1m: 30d, 12h, 15m",
	[T_BYTES] = "bytes, at least 16M: 500M, 2G, 1T",
	[T_PERCENT] = "percentage: 0.5%, 1%",
	[T_ADDRESS] = "ADDRESS:PORT",
	[T_VFS] = "functions or calls",
	[T_KINDS] = "list of slurm, unit, container, pod, vm",
	[T_PATTERNS] = "list of patterns KIND:NAME",
};

struct key {
	const char *name;
	enum type type;
	bool optional; /* "none" is a value */
	size_t offset;
	const char *value; /* the default, as in a file */
	uint64_t min, max;
};

#define AT(member) offsetof(struct node_config, member)

/* A key of a section is SECTION.KEY. */
static const struct key keys[] = {
	{"database", T_PATH, false, AT(database), "/var/lib/cachemon/node.db", 0, 0},
	{"interval", T_INTERVAL, false, AT(interval_ns), "10s", SECOND_NS, 3600 * SECOND_NS},
	{"budget", T_PERCENT, false, AT(budget_percent), "1%", 0, 0},
	{"jobs.kinds", T_KINDS, false, AT(jobs.kinds), "[slurm, container, pod, vm]", 0, 0},
	{"jobs.include", T_PATTERNS, false, AT(jobs.include), "[\"*\"]", 0, 0},
	{"jobs.exclude", T_PATTERNS, false, AT(jobs.exclude), "[]", 0, 0},
	{"retention.age", T_AGE, true, AT(retention.age_ns), "30d", 60 * SECOND_NS, 36500 * DAY_NS},
	{"retention.size", T_BYTES, true, AT(retention.size_bytes), "2G", 16 << 20, INT64_MAX},
	{"rollup.minutes", T_AGE, false, AT(retention.minutes_ns), "15m", 60 * SECOND_NS,
	 36500 * DAY_NS},
	{"rollup.quarters", T_AGE, false, AT(retention.quarters_ns), "1d", 60 * SECOND_NS,
	 36500 * DAY_NS},
	{"metrics.textfile_directory", T_PATH, true, AT(metrics.textfile_directory), NONE, 0, 0},
	{"metrics.listen", T_ADDRESS, true, AT(metrics.listen), NONE, 0, 0},
	{"metrics.web_config", T_PATH, true, AT(metrics.web_config), NONE, 0, 0},
	{"metrics.vfs", T_VFS, true, AT(metrics.vfs), NONE, 0, 0},
	{"socket.path", T_PATH, false, AT(socket.path), "/run/cachemon/socket", 0, 0},
	{"socket.admin_group", T_WORD, true, AT(socket.admin_group), NONE, 0, 0},
};
enum { NR_KEYS = sizeof(keys) / sizeof(keys[0]) };

struct reader {
	const char *file;
	struct node_config *config;
	struct errtext *err;
	yaml_parser_t yaml;
	size_t line; /* of the value being read */
	bool seen[NR_KEYS];
};

/* text: what is wrong with the value. */
static int reject(struct reader *r, const struct key *k, const char *value, const char *text)
{
	return errtext_set(r->err, -EINVAL, "%s:%zu: %s: %s '%s'; expected %s%s", r->file, r->line,
			   k->name, text, value, units[k->type], k->optional ? ", or none" : "");
}

static char *keep(struct reader *r, const char *text)
{
	return arena_copy(&r->config->arena, text, strlen(text) + 1);
}

static int take_number(struct reader *r, const struct key *k, const char *text, uint64_t *to)
{
	uint64_t value = 0;
	int e = k->type == T_BYTES ? parse_bytes(text, &value) : parse_age(text, &value);

	if (e == -EINVAL)
		return reject(r, k, text, "invalid value");
	if (e || value < k->min)
		return reject(r, k, text, e ? "too large" : "too small");
	if (value > k->max)
		return reject(r, k, text, "too large");
	*to = value;
	return 0;
}

static int take_path(struct reader *r, const struct key *k, const char *text, const char **to)
{
	if (*text != '/' || strlen(text) >= PATH_MAX)
		return reject(r, k, text, "not an absolute path:");
	*to = keep(r, text);
	return 0;
}

/* ADDRESS:PORT, without looking up names: 127.0.0.1:9000, [::1]:9000. */
static bool parse_address(const char *text, struct sockaddr_storage *ret)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)ret;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;
	const char *colon = strrchr(text, ':');
	char host[INET6_ADDRSTRLEN] = "";
	size_t len = colon ? (size_t)(colon - text) : 0;
	bool brackets = len > 2 && text[0] == '[' && colon[-1] == ']';
	uint64_t port;

	if (!len || parse_u64(colon + 1, &port) || !port || port > UINT16_MAX ||
	    len - 2 * brackets >= sizeof(host))
		return false;
	memcpy(host, text + brackets, len - 2 * brackets);
	memset(ret, 0, sizeof(*ret));
	ret->ss_family = brackets ? AF_INET6 : AF_INET;
	if (brackets)
		v6->sin6_port = htons((uint16_t)port);
	else
		v4->sin_port = htons((uint16_t)port);
	return inet_pton(ret->ss_family, host,
			 brackets ? (void *)&v6->sin6_addr : (void *)&v4->sin_addr) == 1;
}

static int take_address(struct reader *r, const struct key *k, const char *text,
			struct sockaddr_storage *to)
{
	struct sockaddr_storage address;

	if (!parse_address(text, &address))
		return reject(r, k, text, "invalid address");
	*to = address;
	return 0;
}

int node_vfs_parse(const char *text, enum node_vfs *ret)
{
	static const char *const names[] = {
		[NODE_VFS_NONE] = NONE,
		[NODE_VFS_FUNCTIONS] = "functions",
		[NODE_VFS_CALLS] = "calls",
	};
	size_t index;

	if (parse_enum(text, names, sizeof(names) / sizeof(names[0]), &index))
		return -EINVAL;
	*ret = (enum node_vfs)index;
	return 0;
}

static int take_kind(struct reader *r, const struct key *k, const char *text, unsigned int *to)
{
	const char *names[FIND_LAST];

	for (int i = 0; i < FIND_LAST; i++) {
		names[i] = find_kind_name(i);
		if (strcmp(text, names[i]) != 0)
			continue;
		*to |= 1U << i;
		return 0;
	}
	return errtext_set(r->err, -EINVAL, "%s:%zu: %s: unknown kind '%s'; %s", r->file, r->line,
			   k->name, text,
			   suggest_text(suggest_nearest(text, names, FIND_LAST),
					"there are slurm, unit, container, pod and vm")
				   .text);
}

static int take_pattern(struct reader *r, const struct key *k, const char *text,
			struct node_list *to)
{
	if (!*text || strlen(text) > WORD_MAX)
		return reject(r, k, text, "a pattern has 1 to 256 bytes:");
	if (to->nr == LIST_MAX)
		return errtext_set(r->err, -EINVAL, "%s:%zu: %s: more than %d patterns", r->file,
				   r->line, k->name, LIST_MAX);
	if (!to->of)
		to->of = arena_alloc(&r->config->arena, LIST_MAX * sizeof(*to->of));
	if (to->of)
		to->of[to->nr++] = keep(r, text);
	return 0;
}

static bool is_list(const struct key *k)
{
	return k->type == T_KINDS || k->type == T_PATTERNS;
}

/* A value, or one item of a list. */
static int take(struct reader *r, const struct key *k, const char *text)
{
	void *to = (char *)r->config + k->offset;

	if (k->optional && !strcmp(text, NONE)) /* the member is zero already */
		return 0;
	switch (k->type) {
	case T_PATH:
		return take_path(r, k, text, to);
	case T_INTERVAL:
	case T_AGE:
	case T_BYTES:
		return take_number(r, k, text, to);
	case T_PERCENT:
		return parse_percent(text, to) ? reject(r, k, text, "invalid value") : 0;
	case T_ADDRESS:
		return take_address(r, k, text, to);
	case T_VFS:
		return node_vfs_parse(text, to) ? reject(r, k, text, "invalid value") : 0;
	case T_KINDS:
		return take_kind(r, k, text, to);
	case T_PATTERNS:
		return take_pattern(r, k, text, to);
	case T_WORD:
	default:
		if (!*text || strlen(text) > WORD_MAX)
			return reject(r, k, text, "invalid name");
		*(const char **)to = keep(r, text);
		return 0;
	}
}

static int syntax_error(struct reader *r)
{
	const yaml_parser_t *y = &r->yaml;
	size_t line = y->problem_mark.line + 1;

	if (y->error == YAML_MEMORY_ERROR)
		return errtext_set(r->err, -ENOMEM, "%s: out of memory", r->file);
	return errtext_set(r->err, -EINVAL, "%s:%zu: invalid YAML: %s", r->file, line,
			   y->problem ?: "unreadable");
}

static int refuse(struct reader *r, const yaml_event_t *e, const char *text)
{
	return errtext_set(r->err, -EINVAL, "%s:%zu: %s", r->file, e->start_mark.line + 1, text);
}

/* The next event. Aliases would make the text mean more than it shows. */
static int next(struct reader *r, yaml_event_t *ret)
{
	int e = 0;

	if (!yaml_parser_parse(&r->yaml, ret))
		return syntax_error(r);
	if (ret->type == YAML_ALIAS_EVENT)
		e = refuse(r, ret, "aliases (*name) are not supported: repeat the value");
	else if (ret->type == YAML_SCALAR_EVENT &&
		 strlen((const char *)ret->data.scalar.value) != ret->data.scalar.length)
		e = refuse(r, ret, "a value contains the byte 0");
	if (e)
		yaml_event_delete(ret);
	return e;
}

static const char *text_of(const yaml_event_t *e)
{
	return (const char *)e->data.scalar.value;
}

static int read_list(struct reader *r, const struct key *k)
{
	for (;;) {
		yaml_event_t e;
		int ret = next(r, &e);
		bool end;

		if (ret)
			return ret;
		end = e.type == YAML_SEQUENCE_END_EVENT;
		r->line = e.start_mark.line + 1;
		if (e.type == YAML_SCALAR_EVENT)
			ret = take(r, k, text_of(&e));
		else if (!end)
			ret = refuse(r, &e, "a list has names only");
		yaml_event_delete(&e);
		if (ret || end)
			return ret;
	}
}

static int read_value(struct reader *r, const struct key *k)
{
	yaml_event_t e;
	int ret = next(r, &e);

	if (ret)
		return ret;
	r->line = e.start_mark.line + 1;
	if (is_list(k) && e.type == YAML_SEQUENCE_START_EVENT)
		ret = read_list(r, k);
	else if (is_list(k))
		ret = refuse(r, &e, "expected a list: [one, two]");
	else if (e.type != YAML_SCALAR_EVENT)
		ret = refuse(r, &e, "expected one value");
	else
		ret = take(r, k, text_of(&e));
	yaml_event_delete(&e);
	return ret;
}

static int unknown_key(struct reader *r, const yaml_event_t *e, const char *name)
{
	const char *names[NR_KEYS];

	for (int i = 0; i < NR_KEYS; i++)
		names[i] = keys[i].name;
	return errtext_set(r->err, -EINVAL, "%s:%zu: unknown key '%s'; %s", r->file,
			   e->start_mark.line + 1, name,
			   suggest_text(suggest_nearest(name, names, NR_KEYS),
					"docs/node.md has a list of all keys")
				   .text);
}

static bool is_section(const char *name)
{
	size_t len = strlen(name);

	for (int i = 0; i < NR_KEYS; i++)
		if (!strncmp(keys[i].name, name, len) && keys[i].name[len] == '.')
			return true;
	return false;
}

static int read_mapping(struct reader *r, const char *section);

static int read_entry(struct reader *r, const char *section, const yaml_event_t *e)
{
	char name[2 * WORD_MAX];
	yaml_event_t value;
	int ret;

	if (e->type != YAML_SCALAR_EVENT)
		return refuse(r, e, "a key is a word");
	snprintf(name, sizeof(name), "%s%s%.*s", section, *section ? "." : "", WORD_MAX,
		 text_of(e));
	for (int i = 0; i < NR_KEYS; i++) {
		if (strcmp(keys[i].name, name) != 0)
			continue;
		if (r->seen[i])
			return refuse(r, e, "this key was given before");
		r->seen[i] = true;
		return read_value(r, &keys[i]);
	}
	if (*section || !is_section(name))
		return unknown_key(r, e, name);
	ret = next(r, &value);
	if (ret)
		return ret;
	ret = value.type == YAML_MAPPING_START_EVENT
		      ? read_mapping(r, name)
		      : refuse(r, e, "this is a section: its keys follow, indented");
	yaml_event_delete(&value);
	return ret;
}

static int read_mapping(struct reader *r, const char *section)
{
	for (;;) {
		yaml_event_t e;
		int ret = next(r, &e);
		bool end;

		if (ret)
			return ret;
		end = e.type == YAML_MAPPING_END_EVENT;
		if (!end)
			ret = read_entry(r, section, &e);
		yaml_event_delete(&e);
		if (ret || end)
			return ret;
	}
}

/* One document that is a mapping, or nothing. */
static int read_stream(struct reader *r, const struct key *none)
{
	bool done = false;

	for (;;) {
		yaml_event_t e;
		int ret = next(r, &e);
		bool end;

		if (ret)
			return ret;
		end = e.type == YAML_STREAM_END_EVENT;
		if (e.type == YAML_MAPPING_START_EVENT)
			ret = read_mapping(r, "");
		else if (e.type == YAML_DOCUMENT_START_EVENT && done)
			ret = refuse(r, &e, "a second document; the file has only one");
		else if (e.type == YAML_SCALAR_EVENT && *text_of(&e))
			ret = refuse(r, &e, "expected lines KEY: VALUE");
		else if (e.type == YAML_SEQUENCE_START_EVENT)
			ret = refuse(r, &e, "expected lines KEY: VALUE");
		done = done || e.type == YAML_DOCUMENT_END_EVENT;
		yaml_event_delete(&e);
		if (ret || end)
			return ret;
	}
}

static int parse(struct reader *r, const char *text, size_t len,
		 int (*read)(struct reader *r, const struct key *k), const struct key *k)
{
	int e;

	if (!yaml_parser_initialize(&r->yaml))
		return errtext_set(r->err, -ENOMEM, "%s: out of memory", r->file);
	yaml_parser_set_input_string(&r->yaml, (const unsigned char *)text, len);
	e = read(r, k);
	yaml_parser_delete(&r->yaml);
	return e;
}

/* The stream and the document begin before a value. */
static int read_default(struct reader *r, const struct key *k)
{
	for (int i = 0; i < 2; i++) {
		yaml_event_t e;
		int ret = next(r, &e);

		if (ret)
			return ret;
		yaml_event_delete(&e);
	}
	return read_value(r, k);
}

int node_config_parse(const char *file, const char *text, size_t len, struct node_config *ret,
		      struct errtext *err)
{
	struct reader r = {.file = file, .config = ret, .err = err};
	int e;

	memset(ret, 0, sizeof(*ret));
	e = parse(&r, text, len, read_stream, NULL);
	for (int i = 0; i < NR_KEYS && !e; i++)
		if (!r.seen[i])
			e = parse(&r, keys[i].value, strlen(keys[i].value), read_default, &keys[i]);
	if (!e && ret->retention.quarters_ns < ret->retention.minutes_ns)
		e = errtext_set(err, -EINVAL,
				"%s: rollup.quarters must not be less than rollup.minutes", file);
	if (!e && ret->arena.failed)
		e = errtext_set(err, -ENOMEM, "%s: out of memory", file);
	return e;
}

void node_config_free(struct node_config *c)
{
	arena_free(&c->arena);
}

static bool matches(const struct node_list *patterns, const char *job)
{
	for (size_t i = 0; i < patterns->nr; i++)
		if (!fnmatch(patterns->of[i], job, 0))
			return true;
	return false;
}

bool node_config_selects(const struct node_config *c, const char *kind, const char *name)
{
	_cleanup_free_ char *job = NULL;
	bool wanted = false;

	for (int i = 0; i < FIND_LAST; i++)
		if (c->jobs.kinds & 1U << i && !strcmp(kind, find_kind_name(i)))
			wanted = true;
	return wanted && !text_print(&job, "%s:%s", kind, name) && matches(&c->jobs.include, job) &&
	       !matches(&c->jobs.exclude, job);
}

static bool differ(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) != 0 : a != b;
}

struct node_config_fixed node_config_fixed(const struct node_config *started,
					   const struct node_config *now)
{
	const struct {
		const char *name;
		bool differs;
	} fixed[] = {
		{"database", strcmp(started->database, now->database) != 0},
		/* Each run has the length of its intervals. */
		{"interval", started->interval_ns != now->interval_ns},
		{"socket.path", strcmp(started->socket.path, now->socket.path) != 0},
		{"metrics.textfile_directory",
		 differ(started->metrics.textfile_directory, now->metrics.textfile_directory)},
		{"metrics.listen", memcmp(&started->metrics.listen, &now->metrics.listen,
					  sizeof(now->metrics.listen)) != 0},
		{"metrics.web_config",
		 differ(started->metrics.web_config, now->metrics.web_config)},
		{"metrics.vfs", started->metrics.vfs != now->metrics.vfs},
	};
	struct node_config_fixed ret = {""};
	size_t len = 0;

	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		if (fixed[i].differs)
			len += (size_t)snprintf(ret.names + len, sizeof(ret.names) - len, "%s%s",
						len ? ", " : "", fixed[i].name);
	return ret;
}

bool node_config_key(size_t i, struct node_config_key *ret)
{
	if (i >= NR_KEYS)
		return false;
	*ret = (struct node_config_key){
		.name = keys[i].name, .unit = units[keys[i].type], .value = keys[i].value};
	return true;
}
