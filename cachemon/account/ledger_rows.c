/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/account/ledger_impl.h"

size_t ledger_nr_directories(const struct ledger *l)
{
	return l->nr_directories;
}

struct ledger_directory *ledger_directory(const struct ledger *l, size_t i)
{
	return l->directories[i];
}

size_t ledger_nr_files(const struct ledger *l)
{
	return l->nr_files;
}

struct ledger_file *ledger_file(const struct ledger *l, size_t i)
{
	return l->files[i];
}

size_t ledger_nr_advice(const struct ledger *l)
{
	return l->nr_advice;
}

struct ledger_advice *ledger_advice(const struct ledger *l, size_t i)
{
	return l->advice[i];
}

size_t ledger_nr_active(const struct ledger *l)
{
	return l->nr_active;
}

const struct ledger_file *ledger_active(const struct ledger *l, size_t i)
{
	return l->active[i];
}

const int64_t *ledger_dead(const struct ledger *l, size_t *ret_nr)
{
	*ret_nr = l->nr_dead;
	return l->dead;
}

static void mark_written(struct ledger_mark *m)
{
	m->fresh = false;
	m->dirty = m->dirty && !m->written;
	m->written = false;
}

static void mark_unwritten(struct ledger_mark *m)
{
	if (m->fresh)
		m->db_id = 0;
	m->fresh = false;
	m->written = false;
}

static void mark_rewrite(struct ledger_mark *m)
{
	if (m->db_id)
		m->dirty = true;
}

static void each_mark(struct ledger *l, void (*visit)(struct ledger_mark *m))
{
	for (size_t i = 0; i < l->nr_directories; i++)
		visit(&l->directories[i]->mark);
	for (size_t i = 0; i < l->nr_files; i++)
		visit(&l->files[i]->mark);
	for (size_t i = 0; i < l->nr_advice; i++)
		visit(&l->advice[i]->mark);
	for (size_t i = 0; i < l->nr_interference; i++)
		visit(&l->interference[i].mark);
	for (size_t i = 0; i < l->nr_filesystems; i++)
		visit(&l->filesystems[i].mark);
}

void ledger_written(struct ledger *l)
{
	each_mark(l, mark_written);
	l->nr_dead = 0;
}

void ledger_unwritten(struct ledger *l)
{
	each_mark(l, mark_unwritten);
}

void ledger_rewrite(struct ledger *l)
{
	each_mark(l, mark_rewrite);
}
