/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/llm/check.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/llm/check_impl.h"
#include "cachemon/base/cleanup.h"

enum { ANSWER_KEYS_MAX = 64 };

const char *const drop_reason_names[DROP_NR] = {
	[DROP_SHAPE] = "shape",
	[DROP_UNKNOWN_ID] = "unknown_id",
	[DROP_NO_EVIDENCE] = "no_evidence",
	[DROP_NUMBER] = "number",
	[DROP_MARKUP] = "markup",
	[DROP_COMMAND] = "command",
	[DROP_CHARACTERS] = "characters",
	[DROP_LENGTH] = "length",
	[DROP_ECHO] = "echo",
	[DROP_SEVERITY] = "severity",
	[DROP_TOO_MANY] = "too_many",
};

const char *const drop_reason_texts[DROP_NR] = {
	[DROP_SHAPE] = "is not of the form that was asked for",
	[DROP_UNKNOWN_ID] = "cites what was not sent",
	[DROP_NO_EVIDENCE] = "cites nothing that was measured",
	[DROP_NUMBER] = "says a number that is no placeholder",
	[DROP_MARKUP] = "holds markup, a link or an address",
	[DROP_COMMAND] = "holds a command",
	[DROP_CHARACTERS] = "holds characters that are not for showing",
	[DROP_LENGTH] = "is empty or too long",
	[DROP_ECHO] = "repeats the instructions or speaks of them",
	[DROP_SEVERITY] = "contradicts the severity of the rule",
	[DROP_TOO_MANY] = "is one too many",
};

struct collector {
	const struct pack *pack;
	const struct redact *names;
	struct llm_checked *checked;
	size_t nr; /* statements that came */
	int error;
};

static void take(void *arg, const char *object, size_t len)
{
	struct collector *c = arg;
	struct llm_checked *out = c->checked;
	enum drop_reason reason = DROP_NR;
	int kept;

	if (c->error)
		return;
	if (c->nr++ >= STATEMENTS_MAX) {
		out->dropped[DROP_TOO_MANY]++;
		return;
	}
	kept = llm_check_statement(c->pack, c->names, object, len, &out->arena,
				   &out->statements[out->nr_statements], &reason);
	if (kept < 0)
		c->error = kept;
	else if (kept)
		out->nr_statements++;
	else
		out->dropped[reason]++;
}

/* Moves a finding to its place: behind those of its severity, and before lesser ones. */
static void rank(struct llm_checked *c, const struct pack_finding *f)
{
	size_t i;

	for (i = 0; i < c->nr_ranking; i++)
		if (c->ranking[i] == f)
			return;
	while (i && c->ranking[i - 1]->severity < f->severity) {
		c->ranking[i] = c->ranking[i - 1];
		i--;
	}
	c->ranking[i] = f;
	c->nr_ranking++;
}

static int take_ranking(const struct pack *pack, const cJSON *list, struct llm_checked *c)
{
	const cJSON *item;

	c->ranking = arena_alloc(&c->arena, (pack->nr_findings + 1) * sizeof(void *));
	if (!c->ranking)
		return -ENOMEM;
	cJSON_ArrayForEach(item, list)
	{
		const char *key = cJSON_IsString(item) ? item->valuestring : NULL;
		const struct pack_finding *f = key ? find_finding(pack, key, strlen(key)) : NULL;

		if (f)
			rank(c, f);
	}
	for (size_t i = 0; i < pack->nr_findings; i++)
		rank(c, &pack->findings[i]);
	return 0;
}

/* The object with its keys, none twice; so many of them that this takes long are no answer. */
static bool is_answer(const cJSON *o)
{
	const cJSON *item, *other;

	if (cJSON_GetArraySize(o) > ANSWER_KEYS_MAX)
		return false;
	if (!cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(o, "statements")))
		return false;
	cJSON_ArrayForEach(
		item,
		o) for (other = item->next; other;
			other = other->next) if (!strcmp(item->string, other->string)) return false;
	return true;
}

static void delete (cJSON **o)
{
	cJSON_Delete(*o);
}

static int take_rest(const struct pack *pack, const char *object, size_t len, struct llm_checked *c)
{
	const char *end = NULL;
	_cleanup_(delete) cJSON *o = cJSON_ParseWithLengthOpts(object, len, &end, false);
	const cJSON *list;

	if (!o || end != object + len || !is_answer(o))
		return -EBADMSG;
	c->answered = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(o, "answered"));
	list = cJSON_GetObjectItemCaseSensitive(o, "ranking");
	return take_ranking(pack, cJSON_IsArray(list) ? list : NULL, c);
}

static void split_free(struct llm_split **s)
{
	llm_split_free(*s);
}

static int check(const struct pack *pack, const struct redact *names, const char *reply, size_t len,
		 struct llm_checked *c)
{
	_cleanup_(split_free) struct llm_split *split = llm_split_new();
	struct collector collector = {pack, names, c, 0, 0};
	struct split_object object;
	int e;

	c->statements = arena_alloc(&c->arena, STATEMENTS_MAX * sizeof(*c->statements));
	if (!split || !c->statements)
		return -ENOMEM;
	e = llm_split_feed(split, reply, len, take, &collector);
	if (e || collector.error)
		return e == -EFBIG ? -EBADMSG : e ? e : collector.error;
	if (!llm_split_object(split, &object))
		return -EBADMSG;
	c->dropped[DROP_SHAPE] += object.others;
	return take_rest(pack, reply + object.begin, object.end - object.begin, c);
}

int llm_check(const struct pack *pack, const struct redact *names, const char *reply, size_t len,
	      struct llm_checked *ret, struct errtext *err)
{
	struct llm_checked c = {0};
	int e = check(pack, names, reply, len, &c);

	if (!e) {
		*ret = c;
		return 0;
	}
	llm_checked_free(&c);
	if (e == -EBADMSG)
		return errtext_set(err, e,
				   "the model's answer holds no whole object with statements, so "
				   "nothing of it is shown; ask again, or another model");
	return errtext_set(err, e, "not enough memory to check the model's answer");
}

void llm_checked_free(struct llm_checked *c)
{
	arena_free(&c->arena);
	*c = (struct llm_checked){0};
}
