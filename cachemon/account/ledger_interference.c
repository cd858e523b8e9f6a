/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/account/ledger_impl.h"

_Static_assert(sizeof(struct interference_key) == 24 + COMM_BYTES, "no holes: compared as bytes");

/* The fallback row, which always exists: its cause and kind, and nothing else. */
enum { RESTS = EVICT_NR * 4 * 2, SHARERS_MAX = 64 };

int interference_init(struct ledger *l)
{
	if (!l->limits.interference)
		return 0;
	l->interference = calloc(l->limits.interference + RESTS, sizeof(*l->interference));
	if (!l->interference)
		return -ENOMEM;
	return hash_index_reserve(&l->interference_index, l->limits.interference + RESTS);
}

void interference_free(struct ledger *l)
{
	for (size_t i = 0; i < l->nr_interference; i++)
		free(l->interference[i].cgroup);
	free(l->interference);
	hash_index_free(&l->interference_index);
}

static uint64_t hash_of_key(const struct interference_key *k)
{
	return hash_bytes(0, k, sizeof(*k));
}

static struct ledger_interference *
find_interference(const struct ledger *l, const struct interference_key *k, uint64_t hash)
{
	for (size_t at = 0, row; hash_index_next(&l->interference_index, hash, &at, &row);)
		if (!memcmp(&l->interference[row].key, k, sizeof(*k)))
			return &l->interference[row];
	return NULL;
}

static struct ledger_interference *
create_interference(struct ledger *l, const struct interference_key *k, uint64_t hash)
{
	struct ledger_interference *r = &l->interference[l->nr_interference];

	*r = (struct ledger_interference){.key = *k};
	hash_index_put(&l->interference_index, hash, l->nr_interference++);
	return r;
}

/* The evictor and what it did. */
static void forget_actor(struct interference_key *k)
{
	k->cgroup = 0;
	k->does = DOES_NEITHER;
	memset(k->comm, 0, sizeof(k->comm));
}

/* Returns a row of its own if there is room, else drops the least known part of the key first. */
static struct ledger_interference *interference_row(struct ledger *l,
						    const struct interference_key *k)
{
	struct interference_key less = *k;
	uint64_t hash = hash_of_key(k);
	struct ledger_interference *r = find_interference(l, k, hash);

	if (r || l->nr_interference < l->limits.interference)
		return r ?: create_interference(l, k, hash);
	less.reached = less.owner = LEDGER_NOWHERE;
	r = find_interference(l, &less, hash_of_key(&less));
	if (r)
		return r;
	forget_actor(&less);
	hash = hash_of_key(&less);
	r = find_interference(l, &less, hash);
	return r ?: create_interference(l, &less, hash);
}

static void add_interference(struct ledger *l, const struct interference_key *k, const char *cgroup,
			     uint64_t pages)
{
	struct ledger_interference *r;

	if (!pages)
		return;
	r = interference_row(l, k);
	r->pages += pages;
	r->mark.dirty = true;
	if (cgroup && !r->cgroup && r->key.cgroup)
		r->cgroup = strdup(cgroup);
}

/* The directory of a file of the job; LEDGER_NOWHERE: no file, or unknown. */
static uint32_t directory_number(const struct ledger *l, const struct file_key *file)
{
	const struct fileset_entry *e;
	const struct ledger_file *f;

	if (file_key_none(file))
		return LEDGER_NOWHERE;
	f = file_find(l, file, JOB_WATCHED);
	if (f)
		return f->directory->number;
	e = fileset_find(l->seen, ledger_hash_file(file, JOB_WATCHED));
	return e ? e->place : LEDGER_NOWHERE;
}

static bool of_kswapd(const struct sample_eviction *e)
{
	return e->key.cause == EVICT_RECLAIM_KSWAPD;
}

static struct interference_key key_of(const struct ledger *l, const struct sample_eviction *e)
{
	struct interference_key k = {
		.cause = e->key.cause,
		.kind = e->key.kind,
		.does = e->key.does,
		.exact = 1,
		.owner = directory_number(l, &e->key.owner),
		.reached = directory_number(l, &e->key.reached),
		.cgroup = e->key.cgroup,
	};

	memcpy(k.comm, e->key.comm, sizeof(k.comm));
	return k;
}

/* Tasks that filled memory while kswapd reclaimed. */
struct sharer {
	struct interference_key key;
	const char *cgroup;
};

struct sharers {
	struct sharer of[SHARERS_MAX];
	uint64_t weights[SHARERS_MAX];
	size_t nr;
};

static void share_with(struct sharers *s, const struct interference_key *k, const char *cgroup,
		       uint64_t weight)
{
	struct interference_key less = *k;

	for (size_t i = 0; i < s->nr && weight; i++) {
		if (!memcmp(&s->of[i].key, k, sizeof(*k))) {
			s->weights[i] += weight;
			return;
		}
	}
	/* The last two rows are the overflow, for the job and for others. */
	if (s->nr >= SHARERS_MAX - 2 && (k->cgroup || *k->comm || k->reached != LEDGER_NOWHERE)) {
		forget_actor(&less);
		less.reached = LEDGER_NOWHERE;
		share_with(s, &less, NULL, weight);
	} else if (weight && s->nr < SHARERS_MAX) {
		s->of[s->nr] = (struct sharer){.key = *k, .cgroup = cgroup};
		s->weights[s->nr++] = weight;
	}
}

static uint64_t read_pages(const int64_t *c)
{
	int64_t n = counters_sum(c, SUM_OF(TERMS_brought_pages)) + c[C_other_added_pages];

	return n > 0 ? (uint64_t)n : 0;
}

static void share_with_job(struct sharers *s, const int64_t *c, uint32_t reached)
{
	struct interference_key k = {.cause = EVICT_RECLAIM_KSWAPD,
				     .kind = EVICTOR_OWN,
				     .does = DOES_READ,
				     .reached = reached};

	share_with(s, &k, NULL, read_pages(c));
	k.does = DOES_WRITE;
	share_with(s, &k, NULL, c[C_written_pages] > 0 ? (uint64_t)c[C_written_pages] : 0);
}

static void share_with_others(struct sharers *s, const struct sample_evictions *e)
{
	struct interference_key k = {
		.cause = EVICT_RECLAIM_KSWAPD, .kind = EVICTOR_OTHERS, .reached = LEDGER_NOWHERE};

	for (size_t i = 0; i < e->nr_adders; i++) {
		k.cgroup = e->adders[i].key.cgroup;
		k.does = (uint8_t)e->adders[i].key.does;
		memcpy(k.comm, e->adders[i].key.comm, sizeof(k.comm));
		share_with(s, &k, e->adders[i].cgroup, e->adders[i].pages);
	}
	memset(k.comm, 0, sizeof(k.comm));
	k.cgroup = 0;
	k.does = DOES_NEITHER;
	share_with(s, &k, NULL, e->adders_full);
}

static void find_sharers(const struct ledger *l, const struct sample *sample, struct sharers *s)
{
	s->nr = 0;
	share_with_others(s, sample->evictions);
	share_with_job(s, sample->rest[JOB_WATCHED], LEDGER_NOWHERE);
	for (size_t i = 0; i < sample->nr_files; i++) {
		const struct sample_file *f = &sample->files[i];

		if (f->job == JOB_WATCHED)
			share_with_job(s, f->c, directory_number(l, &f->key));
	}
}

/* Among equal remainders the first wins, so that equal figures give equal shares. */
static size_t largest_remainder(const uint64_t *weights, const uint64_t *shares, size_t nr,
				uint64_t pages, uint64_t sum)
{
	unsigned __int128 most = 0;
	size_t at = nr;

	for (size_t i = 0; i < nr; i++) {
		unsigned __int128 exact = (unsigned __int128)pages * weights[i];
		unsigned __int128 given = (unsigned __int128)shares[i] * sum;

		if (exact > given && exact - given > most) {
			most = exact - given;
			at = i;
		}
	}
	return at;
}

void share_out(uint64_t pages, const uint64_t *weights, size_t nr, uint64_t *ret_shares)
{
	uint64_t sum = 0, given = 0;

	for (size_t i = 0; i < nr; i++)
		sum += weights[i];
	for (size_t i = 0; i < nr; i++) {
		ret_shares[i] = sum ? (uint64_t)((unsigned __int128)pages * weights[i] / sum) : 0;
		given += ret_shares[i];
	}
	for (; sum && given < pages; given++)
		ret_shares[largest_remainder(weights, ret_shares, nr, pages, sum)]++;
}

/* kswapd works for all who add pages. If nobody added any, the pages stay with kswapd. */
static void apply_kswapd(struct ledger *l, const struct sharers *s, const struct sample_eviction *e)
{
	struct interference_key mine = key_of(l, e);
	uint64_t shares[SHARERS_MAX];

	if (!s->nr) {
		add_interference(l, &mine, NULL, e->pages);
		return;
	}
	share_out(e->pages, s->weights, s->nr, shares);
	for (size_t i = 0; i < s->nr; i++) {
		struct interference_key k = s->of[i].key;

		k.owner = mine.owner;
		add_interference(l, &k, s->of[i].cgroup, shares[i]);
	}
}

/* Comes after the files of the sample, so that their directories are known. */
void interference_apply(struct ledger *l, const struct sample *sample)
{
	const struct sample_evictions *e = sample->evictions;
	struct sharers sharers;
	bool found = false;

	for (size_t i = 0; i < e->nr_evicted; i++) {
		const struct sample_eviction *one = &e->evicted[i];
		struct interference_key k;

		if (of_kswapd(one)) {
			if (!found)
				find_sharers(l, sample, &sharers);
			found = true;
			apply_kswapd(l, &sharers, one);
			continue;
		}
		k = key_of(l, one);
		add_interference(l, &k, one->cgroup, one->pages);
	}
	for (int cause = 0; cause < EVICT_NR; cause++) {
		struct interference_key k = {.cause = (uint8_t)cause,
					     .kind = EVICTOR_UNKNOWN,
					     .does = DOES_NEITHER,
					     .exact = 1,
					     .owner = LEDGER_NOWHERE,
					     .reached = LEDGER_NOWHERE};

		add_interference(l, &k, NULL, e->full[cause]);
	}
}
