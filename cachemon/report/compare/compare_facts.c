/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/compare/compare_findings.h"

#include <string.h>

#include "cachemon/model/model_rows.h"

/* What a run was on and how it was watched: a name and a value, as text. */
#define OF_THE_RUN                                                                                 \
	"SELECT 0 AS at, 'host' AS what, host AS value FROM run WHERE id = ?1 "                    \
	"UNION ALL SELECT 1, 'kernel', kernel FROM run WHERE id = ?1 "                             \
	"UNION ALL SELECT 2, 'architecture', arch FROM run WHERE id = ?1 "                         \
	"UNION ALL SELECT 3, 'memory, bytes', memory_bytes FROM run WHERE id = ?1 "                \
	"UNION ALL SELECT 4, 'page size, bytes', page_size_bytes FROM run WHERE id = ?1 "          \
	"UNION ALL SELECT 20, 'cachemon', cachemon FROM run WHERE id = ?1 "                        \
	"UNION ALL SELECT 21, 'level', level FROM run WHERE id = ?1 "                              \
	"UNION ALL SELECT 22, 'interval, ms', interval_ns / 1000000 FROM run WHERE id = ?1 "

/* From schema 7 on. */
#define OF_THE_MACHINE                                                                             \
	"UNION ALL SELECT 5, 'processors', nr_cpus FROM machine WHERE run_id = ?1 "                \
	"UNION ALL SELECT 6, 'NUMA nodes', numa_nodes FROM machine WHERE run_id = ?1 "             \
	"UNION ALL SELECT 7, 'swap, bytes', swap_bytes FROM machine WHERE run_id = ?1 "            \
	"UNION ALL SELECT 8, 'reclaim', iif(mglru, 'by generations', 'by two lists') "             \
	"FROM machine WHERE run_id = ?1 AND mglru IS NOT NULL "                                    \
	"UNION ALL SELECT 9, 'transparent huge pages', thp FROM machine WHERE run_id = ?1 "        \
	"UNION ALL SELECT 10, 'least memory limit of a job, bytes', min(m.job_limit_bytes) "       \
	"FROM machine_interval m JOIN interval i ON i.id = m.interval_id WHERE i.run_id = ?1 "     \
	"UNION ALL SELECT 11, 'device, by kernel number and name', group_concat(d, ', ') FROM "    \
	"(SELECT dev_major || ':' || dev_minor || coalesce(' ' || name, '') AS d FROM device "     \
	"WHERE run_id = ?1 ORDER BY dev_major, dev_minor) "                                        \
	"UNION ALL SELECT 12, 'read_ahead_kb of ' || coalesce(name, dev_major || ':' || "          \
	"dev_minor), read_ahead_kb FROM device WHERE run_id = ?1 "                                 \
	"UNION ALL SELECT 13, 'rotational: ' || coalesce(name, dev_major || ':' || dev_minor), "   \
	"rotational FROM device WHERE run_id = ?1 "

#define IN_ORDER "ORDER BY at, what"

struct facts {
	struct compare_fact *list;
	size_t nr, room;
};

static bool same(const struct bytes *a, const struct bytes *b)
{
	return a->len == b->len && (!a->len || !memcmp(a->data, b->data, a->len));
}

static void add(struct facts *f, const struct bytes *what, const struct bytes *value, int which)
{
	size_t i = 0;

	while (i < f->nr && !same(&f->list[i].what, what))
		i++;
	if (i == f->room)
		return;
	if (i == f->nr)
		f->list[f->nr++].what = *what;
	f->list[i].value[which] = *value;
}

static int read_run(sqlite3 *db, int64_t run_id, bool machine, struct arena *a, struct facts *f,
		    int which, struct errtext *err)
{
	struct rows r = rows_begin(
		db, a, machine ? OF_THE_RUN OF_THE_MACHINE IN_ORDER : OF_THE_RUN IN_ORDER, 1,
		&run_id);

	while (rows_next(&r)) {
		struct bytes what, value;

		rows_value(&r, 0);
		what = rows_bytes(&r);
		value = rows_bytes(&r);
		add(f, &what, &value, which);
	}
	return model_rows_end(&r, err);
}

static void keep_different(struct facts *f)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->nr; i++)
		if (!same(&f->list[i].value[0], &f->list[i].value[1]))
			f->list[kept++] = f->list[i];
	f->nr = kept;
}

int compare_facts_load(sqlite3 *db, const struct model model[2], struct arena *a,
		       struct compare_fact **ret, size_t *ret_nr, struct errtext *err)
{
	enum { ROOM = 256 };
	struct facts f = {arena_alloc(a, ROOM * sizeof(*f.list)), 0, ROOM};
	bool machine = model_has(db, "machine", NULL);
	int res = 0;

	if (!f.list)
		return model_no_memory(err);
	for (int i = 0; i < 2 && !res; i++)
		res = read_run(db, model[i].run.id, machine, a, &f, i, err);
	keep_different(&f);
	*ret = f.list;
	*ret_nr = f.nr;
	return res;
}
