/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "report/data.h"
#include "report/db.h"
#include "report/doc.h"
#include "report/escape.h"
#include "report/model_load.h"
#include "report/output.h"
#include "report/rows.h"
#include "report/show.h"
#include "util/human.h"

struct listing {
	struct doc_table table;
	struct tree tree;
	bool json;
};

/* The names of the watched jobs, and the machine. */
static void put_jobs(struct doc_table *t, const struct model *m)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	const char *lead = "";

	if (!out) {
		t->failed = true;
		return;
	}
	for (size_t i = 0; i < m->nr_jobs; i++) {
		if (model_others(&m->jobs[i]))
			continue;
		fputs(lead, out);
		escape_inert(out, m->jobs[i].name.data, m->jobs[i].name.len);
		lead = ", ";
	}
	fputs(" on ", out);
	escape_inert(out, m->run.host.data, m->run.host.len);
	if (fclose(out) != 0)
		t->failed = true;
	else
		doc_cell(t, "%s", text);
	free(text);
}

static void put_line(struct doc_table *t, const struct model *m)
{
	const struct model_job *job = model_main_job(m);
	const struct model_run *run = &m->run;
	struct counts none = {0};
	const struct counts *c = job && !model_others(job) ? &job->counts : &none;
	struct opt_i64 misses = counts_get(c, C_misses);
	struct derived d;

	counts_derive(c, run->page_size_bytes.value, &d);
	doc_cell(t, "%" PRId64, run->id);
	doc_cell(t, "%s", run->started_ns.known ? show_local(run->started_ns.value).s : "-");
	doc_cell(t, "%s", show_ns(run->duration_ns).s);
	doc_cell_name(t, &run->level, "-");
	doc_cell_name(t, &run->state, "-");
	doc_cell(t, "%s", show_ratio(d.hit_ratio, c->sliced).s);
	doc_cell(t, "%s", misses.known ? human_count((uint64_t)misses.value).text : "-");
	put_jobs(t, m);
}

static void put_object(struct tree *t, const struct model *m)
{
	const struct model_run *run = &m->run;

	tree_object(t, NULL);
	data_run_head(t, run);
	tree_array(t, "jobs");
	for (size_t i = 0; i < m->nr_jobs; i++) {
		const struct model_job *job = &m->jobs[i];

		if (model_others(job))
			continue;
		tree_object(t, NULL);
		tree_bytes(t, "name", job->name.data, job->name.len);
		tree_bytes(t, "selector", job->selector.data, job->selector.len);
		data_hits(t, &job->counts);
		tree_end(t);
	}
	tree_end(t);
	tree_end(t);
}

static int list_one(sqlite3 *db, int64_t id, struct listing *l, char *err, size_t errlen)
{
	struct model_query query = {.run_id = id, .totals_only = true};
	struct model m = {0};
	int ret = model_load(db, &query, &m, err, errlen);

	if (ret < 0)
		return ret;
	if (l->json)
		put_object(&l->tree, &m);
	else
		put_line(&l->table, &m);
	model_free(&m);
	return 0;
}

static int list_all(sqlite3 *db, struct listing *l, size_t *ret_nr, char *err, size_t errlen)
{
	struct arena arena = {0};
	struct rows r = rows_begin(db, &arena, "SELECT id FROM run ORDER BY id", 0, NULL);
	int64_t *ids = NULL;
	size_t nr = 0;
	int ret = 0;

	/* All ids first: each run is then read in a transaction of its own. */
	while (rows_next(&r)) {
		int64_t *more = ids;

		if ((nr & (nr - 1)) == 0)
			more = reallocarray(ids, nr ? nr * 2 : 1, sizeof(*ids));
		if (!more) {
			arena.failed = true;
			break;
		}
		ids = more;
		ids[nr++] = rows_value(&r, 0);
	}
	ret = rows_end(&r, err, errlen);
	for (size_t i = 0; i < nr && !ret; i++)
		ret = list_one(db, ids[i], l, err, errlen);
	free(ids);
	arena_free(&arena);
	*ret_nr = nr;
	return ret;
}

static struct opt_i64 size_of(const char *path)
{
	struct opt_i64 ret = {0};
	char *wal = NULL;
	struct stat st;

	if (stat(path, &st) < 0)
		return ret;
	ret.value = st.st_size;
	ret.known = true;
	if (asprintf(&wal, "%s-wal", path) >= 0) {
		if (stat(wal, &st) == 0)
			ret.value += st.st_size;
		free(wal);
	}
	return ret;
}

static int list_json(sqlite3 *db, const char *path, FILE *out, char *err, size_t errlen)
{
	struct listing l = {.json = true};
	size_t nr = 0;
	int ret = tree_json_begin(&l.tree, out);
	int done = 0;

	if (ret < 0)
		return ret;
	tree_object(&l.tree, NULL);
	tree_int(&l.tree, "schema", 1);
	tree_string(&l.tree, "cachemon", CACHEMON_VERSION);
	tree_bytes(&l.tree, "db", path, strlen(path));
	data_count(&l.tree, "size_bytes", size_of(path));
	tree_array(&l.tree, "runs");
	ret = list_all(db, &l, &nr, err, errlen);
	tree_end(&l.tree);
	tree_end(&l.tree);
	done = tree_finish(&l.tree);
	if (!ret && done < 0)
		snprintf(err, errlen, "cannot write the list: %s.", strerror(-done));
	return ret ? ret : done;
}

static int list_text(sqlite3 *db, const char *path, FILE *out, char *err, size_t errlen)
{
	static const struct doc_column columns[] = {
		{"RUN", DOC_RIGHT},    {"STARTED", DOC_LEFT}, {"TOOK", DOC_RIGHT},
		{"LEVEL", DOC_LEFT},   {"STATE", DOC_LEFT},   {"HITS", DOC_RIGHT},
		{"MISSES", DOC_RIGHT}, {"JOB", DOC_WRAP},
	};
	struct listing l = {.table = doc_table(NULL, columns, 8)};
	struct doc d = doc_text(out);
	size_t nr = 0;
	int ret = list_all(db, &l, &nr, err, errlen);
	int done = 0;

	if (!ret) {
		doc_begin(&d, "%s: %zu run%s, %s", path, nr, nr == 1 ? "" : "s",
			  show_bytes(size_of(path), false).s);
		doc_put_table(&d, &l.table);
		done = doc_end(&d);
		if (done < 0)
			snprintf(err, errlen, "cannot write the list: %s.", strerror(-done));
	}
	doc_table_free(&l.table);
	return ret ? ret : done;
}

int report_runs(const char *path, bool json, FILE *out, char *err, size_t errlen)
{
	sqlite3 *db = NULL;
	int ret = report_db_open(path, &db, err, errlen);

	if (!ret)
		ret = json ? list_json(db, path, out, err, errlen)
			   : list_text(db, path, out, err, errlen);
	sqlite3_close(db);
	if (!ret && fflush(out) != 0) {
		ret = -errno;
		snprintf(err, errlen, "cannot write the list: %s.", strerror(-ret));
	}
	if (ret < 0)
		output_forget(out);
	return ret;
}
