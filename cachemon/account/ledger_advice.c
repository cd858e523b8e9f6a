/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/account/ledger_impl.h"
#include "cachemon/base/text_builder.h"

int advice_init(struct ledger *l)
{
	return hash_index_reserve(&l->advice_index, 1);
}

static void name_advice(struct ledger *l, struct ledger_advice *a, const char *path)
{
	size_t old = a->path ? strlen(a->path) + 1 : 0, len = strlen(path) + 1;

	if (l->advice_path_bytes - old + len > l->limits.path_bytes ||
	    !text_replace(&a->path, path))
		return;
	a->mark.dirty = true;
	l->advice_path_bytes += len - old;
}

static struct ledger_advice *find_or_create(struct ledger *l, const struct sample_advice *sa)
{
	uint64_t hash = ledger_hash_file(&sa->file, sa->job);
	const struct ledger_file *f;
	struct ledger_advice *a;

	for (size_t at = 0, row; hash_index_next(&l->advice_index, hash, &at, &row);) {
		a = l->advice[row];
		if (file_key_equal(&a->key, &sa->file) && a->job == sa->job &&
		    a->kind == sa->kind && a->call == sa->call)
			return a;
	}
	if (l->nr_advice == l->limits.advice ||
	    vec_reserve(l->advice, l->max_advice, l->nr_advice + 1) ||
	    hash_index_reserve(&l->advice_index, l->nr_advice + 1))
		return NULL;
	a = calloc(1, sizeof(*a));
	if (!a)
		return NULL;
	a->key = sa->file;
	a->job = sa->job;
	a->kind = sa->kind;
	a->call = sa->call;
	a->mark.dirty = true;
	f = file_find(l, &sa->file, sa->job);
	if (f && f->path)
		name_advice(l, a, f->path);
	hash_index_put(&l->advice_index, hash, l->nr_advice);
	l->advice[l->nr_advice++] = a;
	return a;
}

void advice_apply(struct ledger *l, const struct sample_advice *sa)
{
	struct ledger_advice *a = find_or_create(l, sa);

	if (!a) {
		l->advice_lost++;
		return;
	}
	if (!memcmp(&a->row, &sa->row, sizeof(a->row)))
		return;
	a->row = sa->row;
	a->mark.dirty = true;
}

void advice_name(struct ledger *l, const struct sample_file *sf)
{
	uint64_t hash;

	if (!l->nr_advice || !sf->path)
		return;
	hash = ledger_hash_file(&sf->key, sf->job);
	for (size_t at = 0, row; hash_index_next(&l->advice_index, hash, &at, &row);) {
		struct ledger_advice *a = l->advice[row];

		if (a->job == sf->job && file_key_equal(&a->key, &sf->key))
			name_advice(l, a, sf->path);
	}
}
