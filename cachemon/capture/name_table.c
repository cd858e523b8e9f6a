/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/capture/name_table.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct name_table {
	struct name_entry *entries;
	size_t nr, max;
	uint32_t *slots; /* entry + 1; 0: free */
	size_t nr_slots; /* a power of two, at least twice max */
};

static uint64_t hash(const struct file_key *k)
{
	uint64_t h = k->ino * 0x9e3779b97f4a7c15ULL ^ ((uint64_t)k->dev << 32 | k->gen);

	h ^= h >> 32;
	return h * 0xd6e8feb86659fd93ULL ^ h >> 29;
}

static bool same(const struct file_key *a, const struct file_key *b)
{
	return a->ino == b->ino && a->dev == b->dev && a->gen == b->gen;
}

static uint32_t *slot_of(struct name_table *t, const struct file_key *key)
{
	size_t i = hash(key) & (t->nr_slots - 1);

	while (t->slots[i] && !same(&t->entries[t->slots[i] - 1].key, key))
		i = (i + 1) & (t->nr_slots - 1);
	return &t->slots[i];
}

static int grow(struct name_table *t)
{
	size_t max = t->max ? t->max * 2 : 256;
	struct name_entry *entries = realloc(t->entries, max * sizeof(*entries));
	uint32_t *slots;

	if (!entries)
		return -ENOMEM;
	t->entries = entries;
	slots = calloc(max * 2, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(t->slots);
	t->slots = slots;
	t->nr_slots = max * 2;
	t->max = max;
	for (size_t i = 0; i < t->nr; i++)
		*slot_of(t, &t->entries[i].key) = i + 1;
	return 0;
}

int name_table_new(struct name_table **ret)
{
	struct name_table *t = calloc(1, sizeof(*t));

	if (!t || grow(t)) {
		name_table_free(t);
		return -ENOMEM;
	}
	*ret = t;
	return 0;
}

void name_table_free(struct name_table *t)
{
	if (!t)
		return;
	name_table_clear(t);
	free(t->entries);
	free(t->slots);
	free(t);
}

int name_table_put(struct name_table *t, const struct file_key *key, char *path, const char *fstype,
		   bool deleted)
{
	struct name_entry *e;
	uint32_t *slot;

	if (t->nr == t->max && grow(t)) {
		free(path);
		return -ENOMEM;
	}
	slot = slot_of(t, key);
	if (!*slot) {
		memset(&t->entries[t->nr], 0, sizeof(t->entries[0]));
		*slot = ++t->nr;
	}
	e = &t->entries[*slot - 1];
	free(e->path);
	e->key = *key;
	e->path = path;
	e->deleted = deleted;
	e->taken = e->waiting = false;
	/* A second look does not always tell it. */
	if (*fstype)
		strncpy(e->fstype, fstype, sizeof(e->fstype) - 1);
	return 0;
}

struct name_entry *name_table_get(struct name_table *t, const struct file_key *key)
{
	uint32_t slot = *slot_of(t, key);

	return slot ? &t->entries[slot - 1] : NULL;
}

size_t name_table_nr(const struct name_table *t)
{
	return t->nr;
}

struct name_entry *name_table_at(struct name_table *t, size_t i)
{
	return &t->entries[i];
}

void name_table_expire(struct name_table *t)
{
	size_t kept = 0;

	memset(t->slots, 0, t->nr_slots * sizeof(*t->slots));
	for (size_t i = 0; i < t->nr; i++) {
		struct name_entry e = t->entries[i];

		if (e.taken || e.waiting) {
			free(e.path);
			continue;
		}
		e.waiting = true;
		t->entries[kept] = e;
		*slot_of(t, &e.key) = (uint32_t)++kept;
	}
	t->nr = kept;
}

void name_table_clear(struct name_table *t)
{
	for (size_t i = 0; i < t->nr; i++)
		free(t->entries[i].path);
	t->nr = 0;
	if (t->slots)
		memset(t->slots, 0, t->nr_slots * sizeof(*t->slots));
}
