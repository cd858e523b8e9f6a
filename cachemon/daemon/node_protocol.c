/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/daemon/node_protocol.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cachemon/base/escape.h"

enum field { F_JOB, F_NAME, F_PARTITION, F_UID, F_SINCE, F_COMMAND, F_NR };

static const char *const field_names[F_NR] = {"job", "name",  "partition",
					      "uid", "since", "command"};

#define BIT(f) (1U << (f))

static const struct {
	const char *name;
	unsigned int needs, takes;
} verbs[NODE_VERB_NR] = {
	[NODE_HELLO] = {"hello", 0, 0},
	[NODE_JOBS] = {"jobs", 0, 0},
	[NODE_SNAPSHOT] = {"snapshot", BIT(F_JOB), BIT(F_JOB) | BIT(F_SINCE)},
	[NODE_TOTALS] = {"totals", BIT(F_JOB), BIT(F_JOB)},
	[NODE_BEGIN] = {"begin", BIT(F_JOB),
			BIT(F_JOB) | BIT(F_NAME) | BIT(F_PARTITION) | BIT(F_UID)},
	[NODE_END] = {"end", BIT(F_JOB), BIT(F_JOB)},
	[NODE_SAMPLE] = {"sample", BIT(F_JOB), BIT(F_JOB)},
	[NODE_WATCH] = {"watch", BIT(F_NAME) | BIT(F_COMMAND), BIT(F_NAME) | BIT(F_COMMAND)},
	[NODE_DONE] = {"done", 0, 0},
};

#define REJECT(...) errtext_set(err, -EINVAL, __VA_ARGS__)

/* A name appears in the database and on terminals: valid text without control characters. */
static bool is_name(const char *s, size_t max)
{
	size_t len = strlen(s);
	uint32_t cp;

	if (!len || len > max)
		return false;
	for (size_t n; len; s += n, len -= n) {
		n = escape_decode(s, len, &cp);
		if (!n || escape_is_unsafe(cp))
			return false;
	}
	return true;
}

static int take_text(const cJSON *item, const char *field, char *to, size_t max,
		     struct errtext *err)
{
	if (!cJSON_IsString(item) || !is_name(item->valuestring, max))
		return REJECT("'%s' must be a text of 1 to %zu bytes", field, max);
	strcpy(to, item->valuestring);
	return 0;
}

static int take_name(const cJSON *item, const char *field, char to[NODE_NAME_MAX + 1],
		     struct errtext *err)
{
	return take_text(item, field, to, NODE_NAME_MAX, err);
}

static int take_job(const cJSON *item, char to[NODE_NAME_MAX + 1], struct errtext *err)
{
	const char *colon;
	int e = take_name(item, "job", to, err);

	if (e)
		return e;
	colon = strchr(to, ':');
	return colon && colon != to && colon[1] ? 0 : REJECT("'job' must be KIND:NAME");
}

/* -1 and UINT32_MAX are not ids of users. */
static int take_uid(const cJSON *item, int64_t *to, struct errtext *err)
{
	double v = cJSON_IsNumber(item) ? item->valuedouble : -1;

	if (!(v >= 0 && v < UINT32_MAX) || v != (double)(int64_t)v)
		return REJECT("'uid' must be a user's number");
	*to = (int64_t)v;
	return 0;
}

/* cJSON's numbers have 53 bits. */
static int take_since(const cJSON *item, int64_t *to, struct errtext *err)
{
	double v = cJSON_IsNumber(item) ? item->valuedouble : -1;

	if (!(v >= 0 && v <= (double)(INT64_C(1) << 53)) || v != (double)(int64_t)v)
		return REJECT("'since' must be the number of an interval");
	*to = (int64_t)v;
	return 0;
}

static int take_field(enum field f, const cJSON *item, struct node_request *q, struct errtext *err)
{
	switch (f) {
	case F_JOB:
		return take_job(item, q->job, err);
	case F_NAME:
		return take_name(item, "name", q->name, err);
	case F_PARTITION:
		return take_name(item, "partition", q->partition, err);
	case F_UID:
		return take_uid(item, &q->uid, err);
	case F_COMMAND:
		return take_text(item, "command", q->command, NODE_COMMAND_MAX, err);
	case F_SINCE:
	default:
		return take_since(item, &q->since, err);
	}
}

static int take_verb(const cJSON *root, struct node_request *q, struct errtext *err)
{
	const cJSON *verb = cJSON_GetObjectItemCaseSensitive(root, "request");

	if (!cJSON_IsString(verb))
		return REJECT("a request has a text 'request'");
	for (int i = 0; i < NODE_VERB_NR; i++)
		if (!strcmp(verb->valuestring, verbs[i].name)) {
			q->verb = i;
			return 0;
		}
	return REJECT("unknown request; there are hello, jobs, snapshot, totals, begin, end, "
		      "sample, watch and done");
}

static int take_all(const cJSON *root, struct node_request *q, struct errtext *err)
{
	unsigned int seen = 0, verb_seen = 0;
	int e = take_verb(root, q, err);

	for (const cJSON *i = root->child; i && !e; i = i->next) {
		int f = 0;

		while (f < F_NR && strcmp(i->string, field_names[f]) != 0)
			f++;
		if (!strcmp(i->string, "request"))
			e = verb_seen++ ? REJECT("'%s' is given twice", i->string) : 0;
		else if (f == F_NR || !(verbs[q->verb].takes & BIT(f)))
			e = REJECT("unknown key '%s' in this request", i->string);
		else if (seen & BIT(f))
			e = REJECT("'%s' is given twice", i->string);
		else
			e = take_field(f, i, q, err);
		seen |= BIT(f);
	}
	for (int f = 0; f < F_NR && !e; f++)
		if (verbs[q->verb].needs & ~seen & BIT(f))
			e = REJECT("this request needs '%s'", field_names[f]);
	return e;
}

/* cJSON would end a text at a character 0. */
static bool has_zero(const char *text, size_t len)
{
	return memchr(text, 0, len) || memmem(text, len, "\\u0000", 6);
}

static bool only_blanks(const char *s, const char *end)
{
	while (s < end && strchr(" \t\r\n", *s))
		s++;
	return s == end;
}

int node_request_parse(const char *text, size_t len, struct node_request *ret, struct errtext *err)
{
	struct node_request q = {.uid = -1, .since = -1};
	const char *end = NULL;
	cJSON *root;
	int e;

	if (len > NODE_MESSAGE_MAX)
		return REJECT("a message has at most %d bytes", NODE_MESSAGE_MAX);
	if (has_zero(text, len))
		return REJECT("a message contains the character 0");
	root = cJSON_ParseWithLengthOpts(text, len, &end, false);
	if (cJSON_IsObject(root) && only_blanks(end, text + len))
		e = take_all(root, &q, err);
	else
		e = REJECT("a request is one object in JSON");
	cJSON_Delete(root);
	if (!e)
		*ret = q;
	return e;
}

static bool add_text(cJSON *root, const char *key, const char *text)
{
	return !*text || cJSON_AddStringToObject(root, key, text);
}

int node_request_print(const struct node_request *q, char ret[NODE_MESSAGE_MAX + 1])
{
	cJSON *root = cJSON_CreateObject();
	bool ok = cJSON_AddStringToObject(root, "request", verbs[q->verb].name) &&
		  add_text(root, field_names[F_JOB], q->job) &&
		  add_text(root, field_names[F_NAME], q->name) &&
		  add_text(root, field_names[F_PARTITION], q->partition) &&
		  add_text(root, field_names[F_COMMAND], q->command);
	char since[24];

	if (ok && q->uid >= 0)
		ok = cJSON_AddNumberToObject(root, field_names[F_UID], (double)q->uid);
	/* cJSON prints numbers with 15 digits. */
	snprintf(since, sizeof(since), "%" PRId64, q->since);
	if (ok && q->since >= 0 && verbs[q->verb].takes & BIT(F_SINCE))
		ok = cJSON_AddRawToObject(root, field_names[F_SINCE], since);
	ok = ok && cJSON_PrintPreallocated(root, ret, NODE_MESSAGE_MAX + 1, false);
	cJSON_Delete(root);
	return ok ? 0 : -ENOMEM;
}

bool node_may_see(const struct node_peer *peer, int64_t uid)
{
	return peer->admin || (uid >= 0 && (int64_t)peer->uid == uid);
}

void node_answer_error(const char *text, uint64_t retry_s, char ret[NODE_MESSAGE_MAX + 1])
{
	cJSON *root = cJSON_CreateObject();

	if (!cJSON_AddStringToObject(root, "error", text) ||
	    (retry_s && !cJSON_AddNumberToObject(root, "retry_s", (double)retry_s)) ||
	    !cJSON_PrintPreallocated(root, ret, NODE_MESSAGE_MAX + 1, false))
		strcpy(ret, "{\"error\":\"out of memory\"}");
	cJSON_Delete(root);
}
