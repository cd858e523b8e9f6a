/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "cachemon/account/ledger_impl.h"

/* The finaliser of MurmurHash3: every bit of the input reaches every bit of the output. */
static uint64_t mix(uint64_t h)
{
	h ^= h >> 33;
	h *= 0xff51afd7ed558ccdULL;
	h ^= h >> 33;
	h *= 0xc4ceb9fe1a85ec53ULL;
	h ^= h >> 33;
	return h;
}

uint64_t ledger_hash_bytes(uint64_t seed, const void *data, size_t len)
{
	const unsigned char *p = data;
	uint64_t h = mix(seed ^ len);

	for (; len >= 8; p += 8, len -= 8) {
		uint64_t word;

		memcpy(&word, p, 8);
		h = mix(h ^ word) + 0x9e3779b97f4a7c15ULL;
	}
	if (len) {
		uint64_t word = 0;

		memcpy(&word, p, len);
		h = mix(h ^ word);
	}
	return mix(h);
}

uint64_t ledger_hash_file(const struct file_key *key, uint32_t job)
{
	return mix(mix(mix(key->ino) ^ ((uint64_t)key->dev << 32 | key->gen)) + job);
}

bool file_key_equal(const struct file_key *a, const struct file_key *b)
{
	return a->ino == b->ino && a->dev == b->dev && a->gen == b->gen;
}

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
