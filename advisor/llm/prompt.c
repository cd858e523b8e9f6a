/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/llm/prompt.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/llm/tokens.h"
#include "cachemon/base/text_builder.h"
#include "embedded_prompts.h"

/* Texts of prompts/, by the first word of the file name: "system", "question", "reply". */
static const char *embedded_prompt(const char *name)
{
	for (size_t i = 0; i < sizeof(embedded_prompts) / sizeof(embedded_prompts[0]); i++)
		if (strcmp(embedded_prompts[i].name, name) == 0)
			return embedded_prompts[i].text;
	return "";
}

/* Writes a field. Characters that would end the field or the line are replaced. */
static void put_field(FILE *out, const char *text)
{
	for (const char *c = text ? text : "-"; *c; c++)
		putc((unsigned char)*c < ' ' || *c == '|' || *c == 0x7f ? ' ' : *c, out);
}

/* Fields separated by bars; NULL ends the list. */
static void put_line(FILE *out, const char *const *fields)
{
	for (size_t i = 0; fields[i]; i++) {
		fputs(i ? " | " : "", out);
		put_field(out, fields[i]);
	}
	putc('\n', out);
}

#define PUT_LINE(out, ...) put_line(out, (const char *const[]){__VA_ARGS__, NULL})

static void put_evidence(FILE *out, const struct pack *p)
{
	fputs("\n# Evidence: key | metric | value | of | quality\n", out);
	for (size_t i = 0; i < p->nr_evidence; i++) {
		const struct pack_evidence *e = &p->evidence[i];

		PUT_LINE(out, e->key, e->metric, e->value ? e->shown : "not measured", e->scope,
			 *e->quality ? e->quality : NULL);
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
	fprintf(out, "%s%s\n", f->action ? " | " : "", f->action ? f->action : "");
}

static void put_findings(FILE *out, const struct pack *p)
{
	fputs("\n# Findings, most gain first: key | id | severity | confidence | of | what | "
	      "evidence | action\n",
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
		PUT_LINE(out, n->text);
	}
	if (p->nr_actions)
		fputs("\n# Actions\n", out);
	for (size_t i = 0; i < p->nr_actions; i++) {
		fprintf(out, "%s: ", p->actions[i].key);
		PUT_LINE(out, p->actions[i].text);
	}
}

static char *user_text(const struct pack *p)
{
	struct text_builder b;
	FILE *out = text_begin(&b);

	if (!out)
		return NULL;
	fputs("# The run and its machine\n", out);
	for (size_t i = 0; i < p->nr_facts; i++)
		PUT_LINE(out, p->facts[i]);
	put_findings(out, p);
	put_evidence(out, p);
	put_notes(out, p);
	if (p->question) {
		fputs("\n# Question\n", out);
		PUT_LINE(out, p->question);
	}
	return text_end(&b);
}

static char *system_text(const struct pack *p)
{
	char *text;

	text_print(&text, "%s%s%s", embedded_prompt("system"), p->question ? "\n" : "",
		   p->question ? embedded_prompt("question") : "");
	return text;
}

/* Sets the choices at a place of the schema (a path of keys): `first`, if any, and the keys of a
 * list whose members begin with their key. Without choices the place stays a free text, because
 * an empty enum is invalid; check.c then drops citations. */
static void put_choices(cJSON *place, const char *const *path, const char *first, const void *list,
			size_t nr, size_t size)
{
	cJSON *choices = cJSON_CreateArray();

	for (; *path; path++)
		place = cJSON_GetObjectItemCaseSensitive(place, *path);
	if (first)
		cJSON_AddItemToArray(choices, cJSON_CreateString(first));
	for (size_t i = 0; i < nr; i++)
		cJSON_AddItemToArray(
			choices,
			cJSON_CreateString(*(const char *const *)((const char *)list + i * size)));
	cJSON_DeleteItemFromObjectCaseSensitive(place, "enum");
	if (!cJSON_GetArraySize(choices) || !cJSON_AddItemToObject(place, "enum", choices))
		cJSON_Delete(choices);
}

#define CHOOSE(place, first, list, nr, ...)                                                        \
	put_choices(place, (const char *const[]){__VA_ARGS__, NULL}, first, list, nr,              \
		    sizeof((list)[0]))
#define STATEMENT "properties", "statements", "items", "properties"

static char *schema_text(const struct pack *p)
{
	cJSON *schema = cJSON_Parse(embedded_prompt("reply"));
	char *text;

	CHOOSE(schema, "job", p->findings, p->nr_findings, STATEMENT, "about");
	CHOOSE(schema, NULL, p->evidence, p->nr_evidence, STATEMENT, "evidence", "items");
	CHOOSE(schema, NULL, p->notes, p->nr_notes, STATEMENT, "notes", "items");
	CHOOSE(schema, "none", p->actions, p->nr_actions, STATEMENT, "action");
	CHOOSE(schema, NULL, p->findings, p->nr_findings, "properties", "ranking", "items");
	text = schema ? cJSON_PrintUnformatted(schema) : NULL;
	cJSON_Delete(schema);
	return text;
}

int prompt_make(const struct pack *pack, struct prompt *ret, struct errtext *err)
{
	struct prompt p = {system_text(pack), user_text(pack), schema_text(pack), 0};

	if (!p.system || !p.user || !p.schema) {
		prompt_free(&p);
		return errtext_set(err, -ENOMEM, "not enough memory for the prompt");
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
