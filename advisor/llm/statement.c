/* SPDX-License-Identifier: BSD-2-Clause */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/llm/check_impl.h"
#include "cachemon/base/cleanup.h"

static bool is(const char *key, const char *text, size_t len)
{
	return strlen(key) == len && memcmp(key, text, len) == 0;
}

const struct pack_evidence *find_evidence(const struct pack *p, const char *key, size_t len)
{
	for (size_t i = 0; i < p->nr_evidence; i++)
		if (is(p->evidence[i].key, key, len))
			return &p->evidence[i];
	return NULL;
}

const struct pack_finding *find_finding(const struct pack *p, const char *key, size_t len)
{
	for (size_t i = 0; i < p->nr_findings; i++)
		if (is(p->findings[i].key, key, len))
			return &p->findings[i];
	return NULL;
}

const struct pack_note *find_note(const struct pack *p, const char *key, size_t len)
{
	for (size_t i = 0; i < p->nr_notes; i++)
		if (is(p->notes[i].key, key, len))
			return &p->notes[i];
	return NULL;
}

const struct pack_action *find_action(const struct pack *p, const char *key, size_t len)
{
	for (size_t i = 0; i < p->nr_actions; i++)
		if (is(p->actions[i].key, key, len))
			return &p->actions[i];
	return NULL;
}

/* What a word goes on with: "6.12" is no word of "6.12.9", nor "x1" of "/data/x1". */
static bool goes_on(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c & 0x80) || (c && strchr("_/-", c));
}

static bool has(const char *text, const char *term, size_t len)
{
	for (const char *hit = text; text && (hit = memmem(hit, strlen(hit), term, len)); hit++) {
		const char *behind = hit + len;
		bool dot = *behind == '.' && goes_on(behind[1]);

		if ((hit == text || (!goes_on(hit[-1]) && hit[-1] != '.')) && !goes_on(*behind) &&
		    !dot)
			return true;
	}
	return false;
}

/* Names that somebody chose stand in subjects, scopes and summaries: whole paths of these only. */
static bool has_path(const struct pack *p, const char *term, size_t len)
{
	for (size_t i = 0; i < p->nr_findings; i++)
		if (has(p->findings[i].subject, term, len) ||
		    has(p->findings[i].summary, term, len))
			return true;
	for (size_t i = 0; i < p->nr_evidence; i++)
		if (has(p->evidence[i].scope, term, len))
			return true;
	return false;
}

bool find_term(const struct pack *p, const char *term, size_t len)
{
	for (size_t i = 0; i < p->nr_facts; i++)
		if (has(p->facts[i], term, len))
			return true;
	for (size_t i = 0; i < p->nr_evidence; i++)
		if (has(p->evidence[i].metric, term, len) || has(p->evidence[i].shown, term, len))
			return true;
	for (size_t i = 0; i < p->nr_findings; i++)
		if (has(p->findings[i].id, term, len) || has(p->findings[i].title, term, len))
			return true;
	for (size_t i = 0; i < p->nr_notes; i++)
		if (!p->notes[i].of_user && has(p->notes[i].text, term, len))
			return true;
	for (size_t i = 0; i < p->nr_actions; i++)
		if (has(p->actions[i].text, term, len))
			return true;
	return *term == '/' && has_path(p, term, len);
}

enum { OBJECT_MAX = 64 * 1024, CITED_MAX = 64, NR_KEYS = 6 };

static const char *const keys[NR_KEYS] = {"about", "text",   "evidence",
					  "notes", "action", "confidence"};
static const char *const confidences[] = {"low", "medium", "high"};

/* Enough room for all that can be cited. */
struct citing {
	struct llm_statement *statement;
	size_t room;
};

static void cite(void *arg, const struct pack_evidence *e)
{
	struct citing *c = arg;

	for (size_t i = 0; i < c->statement->nr_evidence; i++)
		if (c->statement->evidence[i] == e)
			return;
	if (c->statement->nr_evidence < c->room)
		c->statement->evidence[c->statement->nr_evidence++] = e;
}

static bool is_text(const cJSON *item)
{
	return cJSON_IsString(item) && item->valuestring;
}

static bool is_list(const cJSON *list)
{
	const cJSON *item;

	if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > CITED_MAX)
		return false;
	cJSON_ArrayForEach(item, list) if (!is_text(item)) return false;
	return true;
}

/* All keys of the schema, each once, and no other: readers differ in which of two they take. */
static bool has_keys(const cJSON *o)
{
	for (size_t i = 0; i < NR_KEYS; i++)
		if (!cJSON_GetObjectItemCaseSensitive(o, keys[i]))
			return false;
	return cJSON_GetArraySize(o) == NR_KEYS;
}

static const cJSON *get(const cJSON *o, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(o, key);
}

static bool has_shape(const cJSON *o)
{
	return cJSON_IsObject(o) && has_keys(o) && is_text(get(o, "about")) &&
	       is_text(get(o, "text")) && is_list(get(o, "evidence")) && is_list(get(o, "notes")) &&
	       is_text(get(o, "action")) && is_text(get(o, "confidence"));
}

/* A string with a NUL, which would end it here and not for others: "\u0000" that is not "\\u0000".
 */
static bool has_nul(const char *object, size_t len)
{
	for (size_t i = 0; i + 6 <= len; i++) {
		if (object[i] != '\\')
			continue;
		if (memcmp(object + i, "\\u0000", 6) == 0)
			return true;
		i++;
	}
	return memchr(object, 0, len) != NULL;
}

static bool take_confidence(const cJSON *o, struct llm_statement *s)
{
	for (int i = 0; i <= LLM_HIGH; i++) {
		if (strcmp(get(o, "confidence")->valuestring, confidences[i]) != 0)
			continue;
		s->confidence = (enum llm_confidence)i;
		return true;
	}
	return false;
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
	const char *about = get(o, "about")->valuestring, *action = get(o, "action")->valuestring;

	if (strcmp(about, "job") != 0) {
		s->about = find_finding(p, about, strlen(about));
		if (!s->about)
			return false;
	}
	if (strcmp(action, "none") != 0) {
		s->action = find_action(p, action, strlen(action));
		if (!s->action || is_of_user(p, s->action))
			return false;
	}
	return true;
}

static bool take_lists(const struct pack *p, const cJSON *o, struct citing *c)
{
	struct llm_statement *s = c->statement;
	const cJSON *item;

	cJSON_ArrayForEach(item, get(o, "evidence"))
	{
		const struct pack_evidence *e =
			find_evidence(p, item->valuestring, strlen(item->valuestring));

		if (!e)
			return false;
		cite(c, e);
	}
	cJSON_ArrayForEach(item, get(o, "notes"))
	{
		const struct pack_note *n =
			find_note(p, item->valuestring, strlen(item->valuestring));
		bool again = false;

		if (!n)
			return false;
		for (size_t i = 0; i < s->nr_notes; i++)
			again |= s->notes[i] == n;
		if (!again)
			s->notes[s->nr_notes++] = n;
	}
	return true;
}

static bool is_measured(const struct llm_statement *s)
{
	for (size_t i = 0; i < s->nr_evidence; i++)
		if (s->evidence[i]->value)
			return true;
	return false;
}

/* The text itself; DROP_NR: may be shown. */
static enum drop_reason judge(const struct basis *b, const char *text, size_t len,
			      struct said *said, struct citing *c)
{
	const struct pack *p = b->pack;

	if (!len || len > STATEMENT_MAX)
		return DROP_LENGTH;
	if (!clean_text(text, len, said))
		return DROP_CHARACTERS;
	marks_put(b, said);
	if (echo_in(p, said->plain))
		return DROP_ECHO;
	if (command_in(said->plain))
		return DROP_COMMAND;
	if (!marks_keys(b, said, cite, c) || marks_unknown(said->plain))
		return DROP_UNKNOWN_ID;
	if (markup_in(p, said->plain))
		return DROP_MARKUP;
	if (!is_measured(c->statement))
		return DROP_NO_EVIDENCE;
	if (severity_differs(p, c->statement->about, said->plain))
		return DROP_SEVERITY;
	return numbers_hold(b, said) ? DROP_NR : DROP_NUMBER;
}

static enum drop_reason judge_text(const struct basis *b, const char *text, struct said *said,
				   struct citing *c)
{
	size_t len;

	text += strspn(text, " \t\r\n");
	len = strlen(text);
	while (len && strchr(" \t\r\n", text[len - 1]))
		len--;
	return judge(b, text, len, said, c);
}

static int make_room(const struct pack *p, struct arena *a, struct citing *c)
{
	c->room = p->nr_evidence;
	c->statement->evidence = arena_alloc(a, (p->nr_evidence + 1) * sizeof(void *));
	c->statement->notes = arena_alloc(a, (p->nr_notes + 1) * sizeof(void *));
	return c->statement->evidence && c->statement->notes ? 0 : -ENOMEM;
}

static int check(const struct basis *b, const cJSON *o, struct citing *c, struct arena *a,
		 enum drop_reason *ret_reason)
{
	struct llm_statement *s = c->statement;
	struct said said;
	int e;

	*ret_reason = DROP_SHAPE;
	if (!has_shape(o) || !take_confidence(o, s))
		return 0;
	e = make_room(b->pack, a, c);
	if (e)
		return e;
	*ret_reason = DROP_UNKNOWN_ID;
	if (!take_about(b->pack, o, s) || !take_lists(b->pack, o, c))
		return 0;
	*ret_reason = judge_text(b, get(o, "text")->valuestring, &said, c);
	if (*ret_reason != DROP_NR)
		return 0;
	s->text = marks_fill(&said, a);
	return s->text ? 1 : -ENOMEM;
}

static void delete (cJSON **o)
{
	cJSON_Delete(*o);
}

int llm_check_statement(const struct pack *pack, const struct redact *names, const char *object,
			size_t len, struct arena *a, struct llm_statement *ret,
			enum drop_reason *ret_reason)
{
	struct llm_statement statement = {0};
	struct basis basis = {pack, names, &statement};
	struct citing citing = {&statement, 0};
	enum drop_reason reason = DROP_SHAPE;
	const char *end = NULL;
	_cleanup_(delete) cJSON *o = NULL;
	int kept = 0;

	if (len && len <= OBJECT_MAX && has_nul(object, len))
		reason = DROP_CHARACTERS;
	else if (len && len <= OBJECT_MAX)
		o = cJSON_ParseWithLengthOpts(object, len, &end, false);
	if (o && end == object + len)
		kept = check(&basis, o, &citing, a, &reason);
	if (kept == 1)
		*ret = statement;
	else if (!kept)
		*ret_reason = reason;
	return kept;
}
