/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/rules/embedded.h"
#include "advisor/rules/rule_set_impl.h"

/* One more element of an array in the arena, whose room doubles. */
static int push_item(struct arena *a, void *array, size_t *nr, const void *item, size_t size)
{
	void **list = array;
	char *more = *list;

	if (!(*nr & (*nr - 1))) {
		more = arena_alloc(a, (*nr ? 2 * *nr : 1) * size);
		if (!more)
			return -ENOMEM;
		if (*nr)
			memcpy(more, *list, *nr * size);
		*list = more;
	}
	memcpy(more + (*nr)++ * size, item, size);
	return 0;
}

struct rule *rule_set_find(struct rule_set *s, const char *id)
{
	for (size_t i = 0; i < s->nr_rules; i++)
		if (strcmp(s->rules[i].id, id) == 0)
			return &s->rules[i];
	return NULL;
}

const struct rule *rule_set_rule(const struct rule_set *s, const char *id)
{
	return rule_set_find((struct rule_set *)s, id);
}

const struct note *rule_set_note(const struct rule_set *s, const char *id)
{
	for (size_t i = 0; i < s->nr_notes; i++)
		if (strcmp(s->notes[i].id, id) == 0)
			return &s->notes[i];
	return NULL;
}

int rule_set_put_rule(struct rule_set *s, const struct rule *rule)
{
	struct rule *old = rule_set_find(s, rule->id);

	if (!old)
		return push_item(&s->arena, &s->rules, &s->nr_rules, rule, sizeof(*rule));
	*old = *rule;
	return 0;
}

int rule_set_put_note(struct rule_set *s, const struct note *note)
{
	struct note *old = (struct note *)rule_set_note(s, note->id);

	if (!old)
		return push_item(&s->arena, &s->notes, &s->nr_notes, note, sizeof(*note));
	*old = *note;
	return 0;
}

int rule_set_problem(struct rule_set *s, int e, const struct errtext *err)
{
	const char *text;

	if (e == -ENOMEM)
		return e;
	text = arena_bytes(&s->arena, err->text, strlen(err->text)).data;
	if (!text)
		return -ENOMEM;
	return push_item(&s->arena, &s->problems, &s->nr_problems, &text, sizeof(text));
}

static const char *builtin_name(struct arena *a, const char *before, const char *id,
				const char *after)
{
	char name[160];

	snprintf(name, sizeof(name), "%s%s%s", before, id, after);
	return arena_bytes(a, name, strlen(name)).data;
}

static int load_builtin(struct rule_set *s)
{
	struct errtext err = {0};
	const char *id, *text;
	int e = 0;

	for (size_t i = 0; !e && embedded_rule(i, &id, &text); i++) {
		const char *file = builtin_name(&s->arena, "sql/rules/", id, ".sql");
		struct rule rule;

		e = file ? rule_parse(&s->arena, file, id, text, &rule, &err) : -ENOMEM;
		rule.builtin = true;
		e = e ? rule_set_problem(s, e, &err) : rule_set_put_rule(s, &rule);
	}
	for (size_t i = 0; !e && embedded_note(i, &id, &text); i++) {
		const char *file = builtin_name(&s->arena, "prompts/notes/", id, ".md");
		struct note note;

		e = file ? note_parse(&s->arena, file, id, text, &note, &err) : -ENOMEM;
		e = e ? rule_set_problem(s, e, &err) : rule_set_put_note(s, &note);
	}
	return e;
}

static int by_rule_id(const void *a, const void *b)
{
	return strcmp(((const struct rule *)a)->id, ((const struct rule *)b)->id);
}

static int by_note_id(const void *a, const void *b)
{
	return strcmp(((const struct note *)a)->id, ((const struct note *)b)->id);
}

int rule_set_load(const struct rule_dirs *dirs, struct rule_set *ret)
{
	struct rule_set s = {0};
	int e = load_builtin(&s);

	for (size_t i = 0; dirs && i < dirs->nr && !e; i++)
		e = rule_dir_load(&s, &dirs->dir[i]);
	if (!e && s.arena.failed)
		e = -ENOMEM;
	if (e) {
		rule_set_free(&s);
		return e;
	}
	if (s.nr_rules)
		qsort(s.rules, s.nr_rules, sizeof(*s.rules), by_rule_id);
	if (s.nr_notes)
		qsort(s.notes, s.nr_notes, sizeof(*s.notes), by_note_id);
	*ret = s;
	return 0;
}

void rule_set_free(struct rule_set *s)
{
	arena_free(&s->arena);
	*s = (struct rule_set){0};
}
