/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/capture/name_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/account/file_key.h"
#include "cachemon/base/vec.h"

struct name_table {
	struct name_entry *entries;
	size_t nr, max;
	struct hash_index index;
};

static int make_room_for_name(struct name_table *t)
{
	if (vec_reserve(t->entries, t->max, t->nr + 1))
		return -ENOMEM;
	return hash_index_reserve(&t->index, t->max);
}

int name_table_new(struct name_table **ret)
{
	struct name_table *t = calloc(1, sizeof(*t));

	if (!t || make_room_for_name(t)) {
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
	hash_index_free(&t->index);
	free(t);
}

int name_table_put(struct name_table *t, const struct file_key *key, char *path, const char *fstype,
		   bool deleted)
{
	struct name_entry *e;

	if (make_room_for_name(t)) {
		free(path);
		return -ENOMEM;
	}
	e = name_table_get(t, key);
	if (!e) {
		hash_index_put(&t->index, file_key_hash(key), t->nr);
		e = &t->entries[t->nr++];
		memset(e, 0, sizeof(*e));
	}
	free(e->path);
	e->key = *key;
	e->path = path;
	e->deleted = deleted;
	e->taken = e->waiting = false;
	/* A later lookup without a type keeps the known one. */
	if (*fstype)
		strncpy(e->fstype, fstype, sizeof(e->fstype) - 1);
	return 0;
}

struct name_entry *name_table_get(struct name_table *t, const struct file_key *key)
{
	uint64_t hash = file_key_hash(key);

	for (size_t at = 0, row; hash_index_next(&t->index, hash, &at, &row);)
		if (file_key_equal(&t->entries[row].key, key))
			return &t->entries[row];
	return NULL;
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

	hash_index_clear(&t->index);
	for (size_t i = 0; i < t->nr; i++) {
		struct name_entry e = t->entries[i];

		if (e.taken || e.waiting) {
			free(e.path);
			continue;
		}
		e.waiting = true;
		hash_index_put(&t->index, file_key_hash(&e.key), kept);
		t->entries[kept++] = e;
	}
	t->nr = kept;
}

void name_table_clear(struct name_table *t)
{
	for (size_t i = 0; i < t->nr; i++)
		free(t->entries[i].path);
	t->nr = 0;
	hash_index_clear(&t->index);
}
