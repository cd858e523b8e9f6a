/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/nodes/nodes_rows.h"

#include <string.h>

#include "cachemon/db/db_read.h"
#include "cachemon/model/model_rows.h"

enum {
	FILES_COMPARED = 400000, /* of all nodes together */
	FILES_LEAST = 32,	 /* of a run, whatever the number of runs */
	PROCESSES = 20,		 /* listed */
};

/*
 * Files are the same if their paths, sizes, mounts and filesystem types are. Bytes
 * are whole pages, as they are counted.
 */
static const char make_tables[] =
	"CREATE TEMP TABLE node_file (path BLOB, mount BLOB, fstype TEXT, size INTEGER, whole "
	"INTEGER, node INTEGER, brought INTEGER)";
static const char add_files[] =
	"INSERT INTO temp.node_file SELECT f.path, (SELECT s.mount FROM filesystem s WHERE "
	"s.job_id = f.job_id AND s.dev_major = f.dev_major AND s.dev_minor = f.dev_minor), "
	"f.fstype, f.size_bytes, (f.size_bytes + ?3 - 1) / ?3 * ?3, ?2, "
	"(" SQL_brought_pages("f.") ") * ?3 FROM file f WHERE f.job_id = ?1 AND f.path NOT NULL "
				    "AND f.deleted = 0 AND " SQL_brought_pages(
					    "f.") " > 0 "
						  "ORDER BY " SQL_brought_pages(
							  "f.") " DESC LIMIT ?4";
static const char share_files[] =
	"CREATE INDEX temp.node_file_path ON node_file (path); "
	"CREATE TEMP TABLE shared_file AS WITH by_node AS (SELECT path, mount, fstype, size, "
	"whole, "
	"sum(brought) AS brought FROM temp.node_file GROUP BY path, mount, fstype, size, whole, "
	"node) "
	"SELECT path, mount, fstype, size, count(*) AS nodes, sum(brought) AS brought, "
	"iif(whole IS NULL, NULL, sum(max(brought - whole, 0))) AS again, "
	"sum(min(brought, whole)) - min(whole, sum(min(brought, whole))) AS shared "
	"FROM by_node GROUP BY path, mount, fstype, size, whole HAVING count(*) > 1";

static int exec(sqlite3 *db, const char *sql, struct errtext *err)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : db_read_error(db, err);
}

static int collect_files(sqlite3 *db, struct nodes_model *m, struct errtext *err)
{
	size_t limit = FILES_COMPARED / (m->nr_runs + 1);
	int ret = exec(db, make_tables, err);

	for (size_t node = 0; node < m->nr_nodes && !ret; node++)
		for (size_t i = 0; i < m->nodes[node].nr_runs && !ret; i++) {
			size_t at = m->nodes[node].first + i;
			int64_t params[] = {m->jobs[at].id, (int64_t)node,
					    m->runs[at].page_size_bytes.value,
					    (int64_t)(limit > FILES_LEAST ? limit : FILES_LEAST)};
			struct rows r = rows_begin(db, &m->arena, add_files, 4, params);

			while (rows_next(&r))
				;
			ret = model_rows_end(&r, err);
		}
	return ret ? ret : exec(db, share_files, err);
}

static void read_file(struct rows *r, struct nodes_file *f)
{
	f->path = rows_bytes(r);
	f->mount = rows_bytes(r);
	f->fstype = rows_bytes(r);
	f->size_bytes = rows_i64(r);
	f->nr_nodes = (size_t)rows_value(r, 0);
	f->brought_bytes = rows_i64(r);
	f->again_bytes = rows_i64(r);
	f->shared_bytes = rows_i64(r);
}

/* number: of the file's row. */
static int load_by_node(sqlite3 *db, int64_t number, struct nodes_model *m, struct nodes_file *f,
			struct errtext *err)
{
	struct rows r = rows_begin(
		db, &m->arena,
		"SELECT n.node, sum(n.brought) FROM temp.shared_file s JOIN temp.node_file n ON "
		"n.path = s.path AND n.mount IS s.mount AND n.fstype IS s.fstype AND n.size IS "
		"s.size WHERE s.rowid = ?1 GROUP BY n.node ORDER BY 2 DESC, 1",
		1, &number);

	f->by_node = arena_alloc(&m->arena, f->nr_nodes * sizeof(*f->by_node));
	while (f->by_node && rows_next_of(&r, f->nr_by_node, f->nr_nodes)) {
		struct nodes_share *s = &f->by_node[f->nr_by_node++];

		s->host = m->nodes[rows_value(&r, 0)].host;
		s->brought_bytes = rows_i64(&r);
	}
	return model_rows_end(&r, err);
}

static int load_sums(sqlite3 *db, struct nodes_model *m, struct errtext *err)
{
	struct rows r =
		rows_begin(db, &m->arena,
			   "SELECT count(*), coalesce(sum(shared), 0), coalesce(sum(again), "
			   "0), (SELECT coalesce(sum(brought), 0) FROM temp.node_file) FROM "
			   "temp.shared_file",
			   0, NULL);

	if (rows_next(&r)) {
		m->nr_shared = (size_t)rows_value(&r, 0);
		m->shared_bytes = rows_i64(&r);
		m->again_bytes = rows_i64(&r);
		m->compared_bytes = rows_i64(&r);
	}
	return model_rows_end(&r, err);
}

int nodes_load_files(sqlite3 *db, size_t most, struct nodes_model *m, struct errtext *err)
{
	int ret = collect_files(db, m, err);
	int64_t *numbers, limit;
	struct rows r;

	if (!ret)
		ret = load_sums(db, m, err);
	if (ret)
		return ret;
	limit = (int64_t)(m->nr_shared < most ? m->nr_shared : most);
	m->files = arena_alloc(&m->arena, ((size_t)limit + 1) * sizeof(*m->files));
	numbers = arena_alloc(&m->arena, ((size_t)limit + 1) * sizeof(*numbers));
	if (!m->files || !numbers)
		return model_no_memory(err);
	r = rows_begin(
		db, &m->arena,
		"SELECT rowid, path, mount, fstype, size, nodes, brought, again, shared FROM "
		"temp.shared_file ORDER BY shared DESC, brought DESC, path LIMIT ?1",
		1, &limit);
	while (rows_next_of(&r, m->nr_files, (size_t)limit)) {
		numbers[m->nr_files] = rows_value(&r, 0);
		read_file(&r, &m->files[m->nr_files++]);
	}
	ret = model_rows_end(&r, err);
	for (size_t i = 0; i < m->nr_files && !ret; i++)
		ret = load_by_node(db, numbers[i], m, &m->files[i], err);
	return ret;
}

/* A figure that one of its intervals lacks is absent. */
#define WHOLE_SUM(column) "iif(count(p." column ") = count(*), sum(p." column "), NULL)"
static const char processes_of[] =
	"SELECT count(*) OVER (), p.pid, max(p.command), " WHOLE_SUM("stall_ns") ", " WHOLE_SUM(
		"stalls") ", " WHOLE_SUM("rchar_bytes") " FROM interval i JOIN process_interval p "
							"ON p.interval_id = i.id WHERE i.run_id = "
							"?1 GROUP BY p.pid ORDER BY 4 DESC, 2 "
							"LIMIT ?2";

/* Keeps the list sorted. */
static void put_process(struct nodes_model *m, const struct nodes_process *p)
{
	size_t at = m->nr_processes;

	while (at && m->processes[at - 1].stall_ns.value < p->stall_ns.value)
		at--;
	if (at == PROCESSES)
		return;
	if (m->nr_processes < PROCESSES)
		m->nr_processes++;
	memmove(&m->processes[at + 1], &m->processes[at],
		(m->nr_processes - 1 - at) * sizeof(*m->processes));
	m->processes[at] = *p;
}

static int load_processes_of(sqlite3 *db, size_t run, struct nodes_model *m, struct errtext *err)
{
	int64_t params[] = {m->runs[run].id, PROCESSES};
	struct rows r = rows_begin(db, &m->arena, processes_of, 2, params);
	size_t all = 0;

	while (rows_next(&r)) {
		struct nodes_process p = {.host = m->runs[run].host};

		all = (size_t)rows_value(&r, 0);
		p.pid = rows_value(&r, 0);
		p.command = rows_bytes(&r);
		p.stall_ns = rows_i64(&r);
		p.stalls = rows_i64(&r);
		p.rchar_bytes = rows_i64(&r);
		put_process(m, &p);
	}
	m->nr_all_processes += all;
	return model_rows_end(&r, err);
}

int nodes_load_processes(sqlite3 *db, struct nodes_model *m, struct errtext *err)
{
	int ret = 0;

	m->processes = arena_alloc(&m->arena, (PROCESSES + 1) * sizeof(*m->processes));
	for (size_t i = 0; m->processes && i < m->nr_runs && !ret; i++)
		ret = load_processes_of(db, i, m, err);
	return ret;
}
