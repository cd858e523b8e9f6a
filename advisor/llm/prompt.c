/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/llm/prompt.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/llm/tokens.h"
#include "embedded_prompts.h"

/* Of prompts/, by the first word of its file name: "system", "question", "reply". */
static const char *embedded_prompt(const char *name)
{
	for (size_t i = 0; i < sizeof(embedded) / sizeof(embedded[0]); i++)
		if (strcmp(embedded[i].name, name) == 0)
			return embedded[i].text;
	return "";
}

const char *prompt_canary(void)
{
	return "vellumheron";
}

/* A field of a line: what would end the field or the line, or begin another part, is none. */
static void put_field(FILE *out, const char *text)
{
	for (const char *c = text ? text : "-"; *c; c++)
		putc((unsigned char)*c < ' ' || *c == '|' || *c == 0x7f ? ' ' : *c, out);
}

static void put_evidence(FILE *out, const struct pack *p)
{
	fputs("\n# Evidence: key | metric | value | of | quality\n", out);
	for (size_t i = 0; i < p->nr_evidence; i++) {
		const struct pack_evidence *e = &p->evidence[i];

		fprintf(out, "%s | ", e->key);
		put_field(out, e->metric);
		fputs(" | ", out);
		put_field(out, e->value ? e->shown : "not measured");
		fputs(" | ", out);
		put_field(out, e->scope);
		if (*e->quality) {
			fputs(" | ", out);
			put_field(out, e->quality);
		}
		putc('\n', out);
	}
}

static void put_finding(FILE *out, const struct pack *p, const struct pack_finding *f)
{
	fprintf(out, "%s | %s | %s | sure %.2f | ", f->key, f->id, severity_names[f->severity],
		f->confidence);
	put_field(out, f->subject);
	fputs(" | ", out);
	put_field(out, f->title);
	fputs(": ", out);
	put_field(out, f->summary);
	fputs(" |", out);
	for (size_t i = 0; i < f->nr_evidence; i++)
		fprintf(out, " %s", p->evidence[f->evidence + i].key);
	if (f->action)
		fprintf(out, " | %s", f->action);
	putc('\n', out);
}

static void put_findings(FILE *out, const struct pack *p)
{
	fputs("\n# Findings, most gain first: key | id | severity | confidence | of | what | "
	      "evidence "
	      "| action\n",
	      out);
	for (size_t i = 0; i < p->nr_findings; i++)
		put_finding(out, p, &p->findings[i]);
	if (!p->nr_findings)
		fputs("none\n", out);
}

static void put_notes(FILE *out, const struct pack *p)
{
	if (p->nr_notes)
		fputs("\n# Notes: what is known of such findings\n", out);
	for (size_t i = 0; i < p->nr_notes; i++) {
		const struct pack_note *n = &p->notes[i];

		fprintf(out, "%s (%s%s): ", n->key, n->of_user ? "of the user, " : "", n->id);
		put_field(out, n->text);
		putc('\n', out);
	}
	if (p->nr_actions)
		fputs("\n# Actions\n", out);
	for (size_t i = 0; i < p->nr_actions; i++) {
		fprintf(out, "%s: ", p->actions[i].key);
		put_field(out, p->actions[i].text);
		putc('\n', out);
	}
}

static void put_all(FILE *out, const struct pack *p)
{
	fputs("# The run and its machine\n", out);
	for (size_t i = 0; i < p->nr_facts; i++) {
		put_field(out, p->facts[i]);
		putc('\n', out);
	}
	put_findings(out, p);
	put_evidence(out, p);
	put_notes(out, p);
	if (p->question) {
		fputs("\n# Question\n", out);
		put_field(out, p->question);
		putc('\n', out);
	}
}

static char *user_text(const struct pack *p)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	put_all(out, p);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

static char *system_text(const struct pack *p)
{
	char *text = NULL;

	if (asprintf(&text, "%s%s%s", embedded_prompt("system"), p->question ? "\n" : "",
		     p->question ? embedded_prompt("question") : "") < 0)
		return NULL;
	return text;
}

/* The choices of a place of the schema. Where there are none it stays any text: an empty enum is no
 * schema, and what is cited then is dropped here. */
static void choose(cJSON *place, const char *first, const char *(*key)(const struct pack *, size_t),
		   const struct pack *p, size_t nr)
{
	cJSON *list = cJSON_CreateArray();

	if (first)
		cJSON_AddItemToArray(list, cJSON_CreateString(first));
	for (size_t i = 0; i < nr; i++)
		cJSON_AddItemToArray(list, cJSON_CreateString(key(p, i)));
	cJSON_DeleteItemFromObjectCaseSensitive(place, "enum");
	if (cJSON_GetArraySize(list))
		cJSON_AddItemToObject(place, "enum", list);
	else
		cJSON_Delete(list);
}

static const char *evidence_key(const struct pack *p, size_t i)
{
	return p->evidence[i].key;
}

static const char *finding_key(const struct pack *p, size_t i)
{
	return p->findings[i].key;
}

static const char *note_key(const struct pack *p, size_t i)
{
	return p->notes[i].key;
}

static const char *action_key(const struct pack *p, size_t i)
{
	return p->actions[i].key;
}

/* A path of keys in the schema. */
static cJSON *at(cJSON *schema, const char *const *keys)
{
	for (; schema && *keys; keys++)
		schema = cJSON_GetObjectItemCaseSensitive(schema, *keys);
	return schema;
}

#define AT(schema, ...) at(schema, (const char *const[]){__VA_ARGS__, NULL})

static char *schema_text(const struct pack *p)
{
	cJSON *schema = cJSON_Parse(embedded_prompt("reply"));
	cJSON *statement = AT(schema, "properties", "statements", "items", "properties");
	char *text = NULL;

	if (statement) {
		choose(AT(statement, "about"), "job", finding_key, p, p->nr_findings);
		choose(AT(statement, "evidence", "items"), NULL, evidence_key, p, p->nr_evidence);
		choose(AT(statement, "notes", "items"), NULL, note_key, p, p->nr_notes);
		choose(AT(statement, "action"), "none", action_key, p, p->nr_actions);
		choose(AT(schema, "properties", "ranking", "items"), NULL, finding_key, p,
		       p->nr_findings);
		text = cJSON_PrintUnformatted(schema);
	}
	cJSON_Delete(schema);
	return text;
}

int prompt_make(const struct pack *pack, struct prompt *ret, struct errtext *err)
{
	struct prompt p = {system_text(pack), user_text(pack), schema_text(pack), 0};

	if (!p.system || !p.user || !p.schema) {
		prompt_free(&p);
		return errtext_set(err, -ENOMEM, "not enough memory for what is to be sent");
	}
	p.tokens = tokens_of(p.system) + tokens_of(p.user) + tokens_of(p.schema);
	*ret = p;
	return 0;
}

void prompt_free(struct prompt *p)
{
	free(p->system);
	free(p->user);
	free(p->schema);
	*p = (struct prompt){0};
}
