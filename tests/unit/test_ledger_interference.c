/* SPDX-License-Identifier: BSD-2-Clause */
/* LINK: store account db access */
/* Who evicted whose pages: from samples to rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "test_store_fixture.h"

enum { FILES_MAX = 4, EVICTED_MAX = 64 };

struct world {
	struct sample s;
	struct sample_evictions e;
	struct sample_file files[FILES_MAX];
	struct sample_eviction evicted[EVICTED_MAX];
	struct sample_adder adders[2];
};

static struct file_key file(uint64_t ino)
{
	return (struct file_key){.ino = ino, .dev = 1, .gen = 1};
}

/* Files 1 and 2 in /a, 3 in /b. */
static void world_init(struct world *w)
{
	static const char *const paths[] = {"/a/1", "/a/2", "/b/3"};

	memset(w, 0, sizeof(*w));
	for (size_t i = 0; i < 3; i++)
		w->files[i] = (struct sample_file){.key = file(i + 1),
						   .job = JOB_WATCHED,
						   .path = paths[i],
						   .size_bytes = 4096};
	w->s.files = w->files;
	w->s.nr_files = 3;
	w->s.duration_ns = SECOND_NS;
	w->s.evictions = &w->e;
	w->e.evicted = w->evicted;
	w->e.adders = w->adders;
}

static struct sample_eviction *evict(struct world *w, uint64_t ino, enum evict_cause cause,
				     enum evictor_kind kind, uint64_t pages)
{
	struct sample_eviction *e = &w->evicted[w->e.nr_evicted++];

	*e = (struct sample_eviction){.pages = pages};
	e->key.owner = file(ino);
	e->key.cause = (uint8_t)cause;
	e->key.kind = (uint8_t)kind;
	e->key.does = DOES_NEITHER;
	return e;
}

static void apply(struct fixture *f, struct world *w)
{
	ledger_apply(f->l, &w->s);
	if (store_write(f->st, f->l, &w->s, &f->err))
		fail_msg("%s", f->err.text);
	w->s.start_ns += SECOND_NS;
}

static void start(struct fixture *f, size_t interference)
{
	struct ledger_limits limits = ledger_limits_default();
	struct store_run run = test_run();

	limits.interference = interference;
	begin(f, &run, &limits);
}

static void test_directories(void **state)
{
	struct fixture *f = *state;
	const char *db = f->scratch.db;
	struct sample_eviction *e;
	struct world w;

	start(f, 100);
	world_init(&w);
	for (uint64_t ino = 1; ino <= 2; ino++) {
		e = evict(&w, ino, EVICT_RECLAIM_MEMCG, EVICTOR_OWN, 10 * ino);
		e->key.reached = file(3);
		e->key.does = DOES_WRITE;
		strcpy(e->key.comm, "train");
	}
	e = evict(&w, 9, EVICT_OTHER, EVICTOR_OTHERS, 5);
	e->key.cgroup = 7;
	e->cgroup = "/slurm/9";
	strcpy(e->key.comm, "b\xfcro");
	apply(f, &w);
	assert_int_equal(ask(db,
			     "SELECT pages FROM interference WHERE cause = 'reclaim_memcg' AND "
			     "evictor_kind = 'own' AND evictor = 'train' AND evictor_writes AND "
			     "evictor_path = CAST('/b' AS BLOB) AND owner_path = "
			     "CAST('/a' AS BLOB) AND exact"),
			 30);
	assert_int_equal(ask(db, "SELECT pages FROM interference WHERE cause = 'other' AND "
				 "evictor_kind = 'others' AND evictor = 'b?ro' AND owner_path IS "
				 "NULL AND evictor_path IS NULL AND evictor_writes IS NULL AND "
				 "evictor_cgroup = CAST('/slurm/9' AS BLOB)"),
			 5);
	/* A second interval adds to the first, also for files that are not in its sample. */
	w.s.nr_files = 0;
	apply(f, &w);
	assert_int_equal(ask(db, "SELECT pages FROM interference WHERE evictor = 'train'"), 60);
	assert_int_equal(ask(db, "SELECT count(*) FROM interference"), 2);
	assert_true(is_sound(db));
}

/* kswapd's pages are attributed to those who filled memory, in proportion, and marked. */
static void test_kswapd(void **state)
{
	struct fixture *f = *state;
	const char *db = f->scratch.db;
	struct world w;

	start(f, 100);
	world_init(&w);
	w.files[0].c[C_demand_pages] = 100;
	w.files[1].c[C_prefetched_sync] = 200;
	w.files[2].c[C_written_pages] = 400;
	w.adders[0] = (struct sample_adder){.pages = 300, .cgroup = "/backup"};
	w.adders[0].key.cgroup = 3;
	strcpy(w.adders[0].key.comm, "tar");
	w.e.nr_adders = 1;
	evict(&w, 1, EVICT_RECLAIM_KSWAPD, EVICTOR_KERNEL, 101);
	apply(f, &w);
	assert_int_equal(ask(db, "SELECT sum(pages) FROM interference"), 101);
	assert_int_equal(ask(db, "SELECT count(*) FROM interference WHERE exact OR "
				 "cause != 'reclaim_kswapd'"),
			 0);
	assert_int_equal(ask(db, "SELECT pages FROM interference WHERE evictor_path = "
				 "CAST('/a' AS BLOB) AND NOT evictor_writes AND evictor_kind = "
				 "'own'"),
			 30);
	assert_int_equal(ask(db, "SELECT pages BETWEEN 40 AND 41 FROM interference WHERE "
				 "evictor_path = CAST('/b' AS BLOB) AND evictor_writes"),
			 1);
	assert_int_equal(ask(db, "SELECT pages BETWEEN 30 AND 31 FROM interference WHERE evictor = "
				 "'tar' AND evictor_kind = 'others' AND NOT evictor_writes"),
			 1);
	/* No pages were added: they stay with kswapd, which is exact. */
	world_init(&w);
	w.s.start_ns = SECOND_NS;
	strcpy(evict(&w, 1, EVICT_RECLAIM_KSWAPD, EVICTOR_KERNEL, 9)->key.comm, "kswapd0");
	apply(f, &w);
	assert_int_equal(ask(db, "SELECT pages FROM interference WHERE exact AND evictor_kind = "
				 "'kernel' AND evictor = 'kswapd0'"),
			 9);
}

/* More evictors than rows: no page is lost, only its evictor. */
static void test_bounded(void **state)
{
	struct fixture *f = *state;
	const char *db = f->scratch.db;
	struct world w;

	start(f, 3);
	world_init(&w);
	for (int i = 0; i < 40; i++) {
		struct sample_eviction *e = evict(&w, 1 + (uint64_t)i % 3, EVICT_RECLAIM_DIRECT,
						  i % 2 ? EVICTOR_OTHERS : EVICTOR_OWN, 1);

		snprintf(e->key.comm, sizeof(e->key.comm), "c%d", i);
		e->key.cgroup = i % 2 ? (uint64_t)i : 0;
	}
	w.e.full[EVICT_RECLAIM_DIRECT] = 1000;
	apply(f, &w);
	assert_int_equal(ask(db, "SELECT sum(pages) FROM interference"), 1040);
	assert_int_equal(ask(db, "SELECT sum(pages) FROM interference WHERE evictor_kind = 'own'"),
			 20);
	assert_int_equal(ask(db, "SELECT sum(pages) FROM interference WHERE evictor_kind = "
				 "'others'"),
			 20);
	assert_int_equal(ask(db, "SELECT pages FROM interference WHERE evictor_kind IS NULL"),
			 1000);
	assert_int_equal(ask(db, "SELECT count(*) FROM interference"), 6);
}

/* Hundreds of others fill memory: shares for the first ones, and one for the rest. */
static void test_many_adders(void **state)
{
	static struct sample_adder many[300];
	struct fixture *f = *state;
	const char *db = f->scratch.db;
	struct world w;

	start(f, 1000);
	world_init(&w);
	for (int i = 0; i < 300; i++) {
		many[i] = (struct sample_adder){.pages = 10};
		many[i].key.cgroup = (uint64_t)i + 1;
		snprintf(many[i].key.comm, sizeof(many[i].key.comm), "c%d", i);
	}
	w.e.adders = many;
	w.e.nr_adders = 300;
	w.files[2].c[C_written_pages] = 1000;
	evict(&w, 1, EVICT_RECLAIM_KSWAPD, EVICTOR_KERNEL, 4000);
	apply(f, &w);
	assert_int_equal(ask(db, "SELECT sum(pages) FROM interference"), 4000);
	assert_int_equal(ask(db, "SELECT sum(pages) FROM interference WHERE evictor_kind = "
				 "'others'"),
			 3000);
	assert_int_equal(ask(db, "SELECT sum(pages) FROM interference WHERE evictor_kind = 'own'"),
			 1000);
	assert_true(ask(db, "SELECT count(*) FROM interference") <= 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(test_directories),
		STORE_TEST(test_kswapd),
		STORE_TEST(test_bounded),
		STORE_TEST(test_many_adders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
