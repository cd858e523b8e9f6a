/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "advisor/llm/check_impl.h"

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
