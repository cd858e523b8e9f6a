/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/llm/check.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/llm/check_impl.h"
#include "cachemon/base/cleanup.h"
#include "cachemon/base/parse.h"

/* Limits of an answer; larger ones would take too long. */
enum { ANSWER_KEYS_MAX = 64, OBJECTS_MAX = 64, CITED_MAX = 64 };

#define X(id, name, text) {name, text},
const struct drop_text drop_reasons[DROP_NR] = {DROP_REASONS(X)};
#undef X

const char *const llm_confidence_names[] = {"low", "medium", "high"};

#define FIND_TEXT(p, list, text) FIND_KEY(p, list, text, strlen(text))

static const cJSON *item_of(const cJSON *o, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(o, key);
}

static const char *text_of(const cJSON *o, const char *key)
{
	return cJSON_GetStringValue(item_of(o, key));
}

static bool is_list(const cJSON *list)
{
	const cJSON *item;

	if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > CITED_MAX)
		return false;
	cJSON_ArrayForEach(item, list) if (!cJSON_IsString(item)) return false;
	return true;
}

/* Each key of the schema exactly once, and no other: JSON parsers differ in which duplicate they
 * take. */
static bool has_shape(const cJSON *o)
{
	return cJSON_IsObject(o) && cJSON_GetArraySize(o) == 6 && text_of(o, "about") &&
	       text_of(o, "text") && is_list(item_of(o, "evidence")) &&
	       is_list(item_of(o, "notes")) && text_of(o, "action") && text_of(o, "confidence");
}

static bool take_confidence(const cJSON *o, struct llm_statement *s)
{
	size_t i = 0;

	if (parse_enum(text_of(o, "confidence"), llm_confidence_names, LLM_HIGH + 1, &i))
		return false;
	s->confidence = (enum llm_confidence)i;
	return true;
}

static bool is_of_user(const struct pack *p, const struct pack_action *a)
{
	for (size_t i = 0; i < p->nr_notes; i++)
		if (strcmp(p->notes[i].id, a->note_id) == 0 && p->notes[i].of_user)
			return true;
	return false;
}

static bool take_about(const struct pack *p, const cJSON *o, struct llm_statement *s)
{
	const char *about = text_of(o, "about"), *action = text_of(o, "action");

	s->about = FIND_TEXT(p, findings, about);
	s->action = FIND_TEXT(p, actions, action);
	return (s->about || !strcmp(about, "job")) &&
	       (s->action ? !is_of_user(p, s->action) : !strcmp(action, "none"));
}

/* Adds what is not in the list yet. false: NULL. */
static bool cite(const void **list, size_t *nr, const void *what)
{
	size_t i = 0;

	while (what && i < *nr && list[i] != what)
		i++;
	if (what && i == *nr)
		list[(*nr)++] = what;
	return what;
}

static bool cite_evidence(struct llm_statement *s, const struct pack_evidence *e)
{
	return cite((const void **)s->evidence, &s->nr_evidence, e);
}

static bool take_lists(const struct pack *p, const cJSON *o, struct llm_statement *s)
{
	const cJSON *item;
	bool known = true;

	cJSON_ArrayForEach(item, item_of(o, "evidence"))
	{
		known &= cite_evidence(s, FIND_TEXT(p, evidence, item->valuestring));
	}
	cJSON_ArrayForEach(item, item_of(o, "notes"))
	{
		known &= cite((const void **)s->notes, &s->nr_notes,
			      FIND_TEXT(p, notes, item->valuestring));
	}
	return known;
}

/* Placeholders and keys in the text are citations too. false: a key or an alias was not in the
 * prompt. */
static bool take_keys(const struct pack *p, const struct said *said, struct llm_statement *s)
{
	size_t len;
	int alias = 0;

	for (size_t i = 0; i < said->nr_filled; i++)
		cite_evidence(s, said->filled[i]);
	for (const char *at = said->plain; (at = marks_key(said->plain, at, &len)); at += len)
		if (!cite_evidence(s, FIND_KEY(p, evidence, at, len)) && !find_any(p, at, len))
			return false;
	for (const char *at = said->plain; (at = strchr(at, '{')); at++)
		if (at[1] >= 'A' && at[1] <= 'Z' && at[2] >= '0' && at[2] <= '9')
			return false;
	for (const char *at = said->plain; !alias && (at = strchr(at, '<')); at++)
		(void)sscanf(at, "<%*[a-z]-%*[0-9]>%n", &alias);
	return !alias;
}

static bool is_measured(const struct llm_statement *s)
{
	for (size_t i = 0; i < s->nr_evidence; i++)
		if (s->evidence[i]->value)
			return true;
	return false;
}

/* Checks the text. DROP_NR: it may be shown. */
static enum drop_reason judge(const struct pack *p, const struct redact *names, const char *text,
			      struct said *said, struct llm_statement *s)
{
	static const char blanks[] = " \t\r\n";
	size_t len;

	text += strspn(text, blanks);
	len = strlen(text);
	while (len && strchr(blanks, text[len - 1]))
		len--;
	if (!len || len > STATEMENT_MAX)
		return DROP_LENGTH;
	if (!clean_text(text, len, said))
		return DROP_CHARACTERS;
	marks_put(p, names, said);
	words_put(said->plain, said->words);
	if (echo_in(p, said))
		return DROP_ECHO;
	if (command_in(said))
		return DROP_COMMAND;
	if (!take_keys(p, said, s))
		return DROP_UNKNOWN_ID;
	if (markup_in(p, said->plain))
		return DROP_MARKUP;
	if (!is_measured(s))
		return DROP_NO_EVIDENCE;
	if (severity_differs(p, s->about, said))
		return DROP_SEVERITY;
	return numbers_hold(p, said) ? DROP_NR : DROP_NUMBER;
}

/* DROP_NR: ret is kept. Sets a->failed on -ENOMEM. */
static enum drop_reason check_statement(const struct pack *p, const struct redact *names,
					const cJSON *o, struct arena *a, struct llm_statement *ret)
{
	struct llm_statement s = {
		.evidence = arena_alloc(a, (p->nr_evidence + 1) * sizeof(void *)),
		.notes = arena_alloc(a, (p->nr_notes + 1) * sizeof(void *)),
	};
	struct said said;
	enum drop_reason reason;

	if (a->failed || !has_shape(o) || !take_confidence(o, &s))
		return DROP_SHAPE;
	if (!take_about(p, o, &s) || !take_lists(p, o, &s))
		return DROP_UNKNOWN_ID;
	reason = judge(p, names, text_of(o, "text"), &said, &s);
	if (reason != DROP_NR)
		return reason;
	s.text = marks_fill(&said, a);
	*ret = s;
	return DROP_NR;
}

/* Moves a finding to its place: last of its own severity. */
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

static void take_ranking(const struct pack *pack, const cJSON *list, struct llm_checked *c)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, list)
	{
		const char *key = cJSON_IsArray(list) ? cJSON_GetStringValue(item) : NULL;
		const struct pack_finding *f = key ? FIND_TEXT(pack, findings, key) : NULL;

		if (f)
			rank(c, f);
	}
	for (size_t i = 0; i < pack->nr_findings; i++)
		rank(c, &pack->findings[i]);
}

/* JSON strings may hold NUL, as "\u0000", but C strings end there. Replaces it by a character
 * that is never shown. An escaped backslash before it is never shown either. */
static char *without_nul(const char *reply, size_t len)
{
	char *copy = malloc(len + 1);

	for (char *at = copy ? memcpy(copy, reply, len) : NULL; at && at < copy + len; at++)
		if (!*at)
			*at = '\1';
		else if (copy + len - at >= 6 && !memcmp(at, "\\u0000", 6))
			at[5] = '1';
	if (copy)
		copy[len] = '\0';
	return copy;
}

/* The first object with statements: this one, or one inside it. */
static const cJSON *answer_in(const cJSON *o)
{
	const cJSON *item, *found = NULL;

	if (cJSON_IsObject(o) && cJSON_IsArray(item_of(o, "statements")))
		return o;
	for (item = o ? o->child : NULL; item && !found; item = item->next)
		found = answer_in(item);
	return found;
}

/* Finds the answer's object. Returns the outermost object that contains it; NULL: no answer. */
static cJSON *parse_answer(const char *text, const cJSON **ret_answer)
{
	static const char think[] = "<think>", unthink[] = "</think>";
	const char *at = text + strspn(text, " \t\r\n"), *end = text + strlen(text);

	if (!strncmp(at, think, strlen(think)))
		at = strstr(at, unthink);
	for (int i = 0; i < OBJECTS_MAX && at && (at = strchr(at, '{'));) {
		const char *behind = at + 1;
		cJSON *root;

		if (at[1 + strspn(at + 1, " \t\r\n")] != '"') { /* skips "{E1}" in a model's
								 * thoughts */
			at++;
			continue;
		}
		i++;
		root = cJSON_ParseWithLengthOpts(at, (size_t)(end - at), &behind, false);
		*ret_answer = answer_in(root);
		if (*ret_answer)
			return root;
		cJSON_Delete(root);
		at = root ? behind : at + 1;
	}
	return NULL;
}

/* No duplicate keys. */
static bool has_own_keys(const cJSON *o)
{
	const cJSON *item, *other;

	if (cJSON_GetArraySize(o) > ANSWER_KEYS_MAX)
		return false;
	for (item = o->child; item; item = item->next)
		for (other = item->next; other; other = other->next)
			if (!strcmp(item->string, other->string))
				return false;
	return true;
}

static int take_answer(const struct pack *pack, const struct redact *names, const cJSON *o,
		       struct llm_checked *c)
{
	struct arena *a = &c->arena;
	const cJSON *item;
	size_t nr = 0;

	c->statements = arena_alloc(a, STATEMENTS_MAX * sizeof(*c->statements));
	c->ranking = arena_alloc(a, (pack->nr_findings + 1) * sizeof(void *));
	cJSON_ArrayForEach(item, item_of(o, "statements"))
	{
		enum drop_reason reason = DROP_TOO_MANY;

		if (a->failed)
			return -ENOMEM;
		if (nr++ < STATEMENTS_MAX)
			reason = check_statement(pack, names, item, a,
						 &c->statements[c->nr_statements]);
		if (reason == DROP_NR)
			c->nr_statements++;
		else
			c->dropped[reason]++;
	}
	if (a->failed)
		return -ENOMEM;
	c->answered = cJSON_IsTrue(item_of(o, "answered"));
	take_ranking(pack, item_of(o, "ranking"), c);
	return 0;
}

int llm_check(const struct pack *pack, const struct redact *names, const char *reply, size_t len,
	      struct llm_checked *ret, struct errtext *err)
{
	_cleanup_free_ char *text = without_nul(reply, len);
	struct llm_checked c = {0};
	const cJSON *answer = NULL;
	cJSON *root = text ? parse_answer(text, &answer) : NULL;
	int e = !text ? -ENOMEM : !root || !has_own_keys(answer) ? -EBADMSG : 0;

	if (!e)
		e = take_answer(pack, names, answer, &c);
	cJSON_Delete(root);
	if (!e) {
		*ret = c;
		return 0;
	}
	llm_checked_free(&c);
	if (e == -EBADMSG)
		return errtext_set(
			err, e,
			"the answer contains no complete JSON object with statements, so "
			"nothing is shown; ask again or use another model");
	return errtext_set(err, e, "not enough memory to check the model's answer");
}

void llm_checked_free(struct llm_checked *c)
{
	arena_free(&c->arena);
	*c = (struct llm_checked){0};
}
