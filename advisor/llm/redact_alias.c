/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/llm/redact_impl.h"

static const char *const kinds[NAME_NR] = {
	[NAME_PATH] = "file",	    [NAME_DIRECTORY] = "dir", [NAME_JOB] = "job",
	[NAME_USER] = "user",	    [NAME_HOST] = "host",     [NAME_CGROUP] = "cgroup",
	[NAME_COMMAND] = "command",
};

/* Numbers of aliases do not reach beyond that: more names than any report tells of. */
enum { DIGITS_MAX = 7 };

/* "KIND-" at the beginning of text. */
static bool parse_kind(const char *text, size_t len, enum name_kind *ret_kind, size_t *ret_len)
{
	for (int i = 0; i < NAME_NR; i++) {
		size_t n = strlen(kinds[i]);

		if (len > n && memcmp(text, kinds[i], n) == 0 && text[n] == '-') {
			*ret_kind = (enum name_kind)i;
			*ret_len = n + 1;
			return true;
		}
	}
	return false;
}

/* "<KIND-N>" at the beginning of text; false: it is none. */
static bool parse_alias(const char *text, size_t len, enum name_kind *ret_kind,
			uint32_t *ret_number, size_t *ret_len)
{
	enum name_kind kind = NAME_PATH;
	uint32_t number = 0;
	size_t n, at, begin;

	if (!len || text[0] != '<' || !parse_kind(text + 1, len - 1, &kind, &n))
		return false;
	begin = at = n + 1;
	for (; at < len && at < begin + DIGITS_MAX && text[at] >= '0' && text[at] <= '9'; at++)
		number = number * 10 + (uint32_t)(text[at] - '0');
	if (at == begin || text[begin] == '0' || at >= len || text[at] != '>')
		return false;
	*ret_kind = kind;
	*ret_number = number;
	*ret_len = at + 1;
	return true;
}

/* Whether a name has the look of an alias in it: no other name may have that one. */
static bool is_taken(const struct redact *r, enum name_kind kind, size_t number)
{
	char alias[32];
	size_t len = (size_t)snprintf(alias, sizeof(alias), "<%s-%zu>", kinds[kind], number);

	for (size_t i = 0; i < r->nr; i++)
		if (memmem(r->names[i].text, r->names[i].len, alias, len))
			return true;
	return false;
}

int redact_alias_give(struct redact *r, uint32_t name)
{
	struct name *n = &r->names[name];
	struct redact_aliases *a = &r->aliases[n->kind];

	while (!n->number) {
		bool passed = is_taken(r, n->kind, a->nr + 1);

		if (redact_grow((void **)&a->names, a->nr, &a->room, sizeof(*a->names)))
			return -ENOMEM;
		a->names[a->nr++] = passed ? NO_NAME : name;
		n->number = passed ? 0 : (uint32_t)a->nr;
	}
	return 0;
}

uint32_t redact_alias_at(const struct redact *r, const char *text, size_t len, size_t *ret_len)
{
	enum name_kind kind;
	uint32_t number, name;
	const struct name *n;
	size_t used;

	if (!parse_alias(text, len, &kind, &number, &used) || number > r->aliases[kind].nr)
		return NO_NAME;
	name = r->aliases[kind].names[number - 1];
	if (name == NO_NAME)
		return NO_NAME;
	n = &r->names[name];
	if (len - used >= n->ending &&
	    memcmp(text + used, n->text + n->len - n->ending, n->ending) == 0)
		used += n->ending;
	*ret_len = used;
	return name;
}

void redact_alias_put(const struct name *n, FILE *out)
{
	fprintf(out, "<%s-%u>", kinds[n->kind], n->number);
	fwrite(n->text + n->len - n->ending, 1, n->ending, out);
}
