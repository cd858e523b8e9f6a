/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/db/views.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/text_builder.h"
#include "cachemon/figures/counters.h"
#include "cachemon/db/db_rows.h"
#include "view_texts.h"

struct needed_table {
	const char *name;
	const char *columns; /* "a, b, c": the columns that the views read */
};

/* Any version since schema 1 may have written a database. */
static const struct needed_table needed[] = {
	{"run", "cost_budget"},
	{"filesystem", "id, job_id, dev_major, dev_minor, type, mount, cover, why, files"},
	{"advice", "used, used_late, evicted_unused, resident_unused, redundant_pages, "
		   "dropped_refaults, dropped_refaults_others, cached_pages, untracked"},
	{"reference_sample", "job_id, state, reason, threshold, pages, refs, lookups, "
			     "distinct_pages, distinct_error"},
	{"reference_absent", "job_id, reason"},
	{"traced_file", "id, job_id, dev_major, dev_minor, ino, gen, path, fstype, size_bytes, "
			"ra_pages, io_pages, max_order, stratum, stands_for, state, reason, began"},
	{"interference",
	 "id, job_id, cause, evictor_kind, evictor, evictor_cgroup, evictor_path, evictor_writes, "
	 "owner_path, pages, exact"},
	{"evicting_job", "interference_id, job_id, depth_bytes"},
	{"machine", "run_id, memory_total_bytes, swap_bytes, mglru, nr_cpus, numa_nodes"},
	{"machine_interval", "interval_id, free_bytes, available_bytes, file_cached_bytes, "
			     "dirty_bytes, job_limit_bytes, job_usage_bytes, job_file_bytes"},
	{"device", "run_id, dev_major, dev_minor, name, rotational, read_ahead_kb, "
		   "max_sectors_kb, io_pages, network"},
	{"job_limit", "job_id, limit_bytes, oom_kills"},
};

enum { NR_NEEDED = sizeof(needed) / sizeof(needed[0]) };

/* The column names as ",a,b,"; NULL: the table does not exist. */
static int columns_of(sqlite3 *db, const char *table, char **ret_columns)
{
	sqlite3_stmt *stmt = NULL;
	const char *names = NULL;
	int rc = sqlite3_prepare_v2(db,
				    "SELECT group_concat(name) FROM pragma_table_info(?1, 'main')",
				    -1, &stmt, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_text(stmt, 1, table, -1, SQLITE_STATIC);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW)
		names = (const char *)sqlite3_column_text(stmt, 0);
	if (names && text_print(ret_columns, ",%s,", names))
		rc = SQLITE_NOMEM;
	sqlite3_finalize(stmt);
	return rc == SQLITE_ROW ? SQLITE_OK : rc;
}

/* name has this length; columns as from columns_of(). */
static void put_if_absent(FILE *out, const char *columns, const char *name, size_t len)
{
	char word[64];

	snprintf(word, sizeof(word), ",%.*s,", (int)len, name);
	if (!strstr(columns, word))
		fprintf(out, ", NULL AS %.*s", (int)len, name);
}

/* absent: from put_if_absent(). Creates nothing if it is empty. */
static int make_view(sqlite3 *db, const char *table, struct text_builder *absent)
{
	char *columns = text_end(absent);
	char *sql = NULL;
	int rc = columns ? SQLITE_OK : SQLITE_NOMEM;

	if (columns && *columns)
		rc = text_print(&sql,
				"CREATE TEMP VIEW IF NOT EXISTS %s AS SELECT *%s FROM main.%s",
				table, columns, table)
			     ? SQLITE_NOMEM
			     : sqlite3_exec(db, sql, NULL, NULL, NULL);
	free(sql);
	free(columns);
	return rc;
}

static int make_empty_table(sqlite3 *db, const struct needed_table *t)
{
	bool counters = strcmp(t->name, "filesystem") == 0; /* only this table has those columns */
	struct text_builder b;
	FILE *out = text_begin(&b);
	char *sql;
	int rc;

	if (!out)
		return SQLITE_NOMEM;
	fprintf(out, "CREATE TEMP TABLE %s (%s", t->name, t->columns);
	for (enum counter c = 0; counters && c < C_NR; c++)
		fprintf(out, ", %s", counter_name(c));
	fputs(")", out);
	sql = text_end(&b);
	rc = sql ? sqlite3_exec(db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
	free(sql);
	return rc;
}

static int stand_in(sqlite3 *db, const struct needed_table *t)
{
	struct text_builder absent;
	char *columns = NULL;
	int rc = columns_of(db, t->name, &columns);

	if (rc != SQLITE_OK)
		return rc;
	if (!columns)
		return make_empty_table(db, t);
	text_begin(&absent);
	for (const char *c = t->columns; absent.out && *c; c += strspn(c, ", ")) {
		size_t len = strcspn(c, ",");

		put_if_absent(absent.out, columns, c, len);
		c += len;
	}
	free(columns);
	return make_view(db, t->name, &absent);
}

/* Counters that later versions added. */
static int counters_stand_in(sqlite3 *db, const char *table)
{
	struct text_builder absent;
	char *columns = NULL;
	int rc = columns_of(db, table, &columns);

	if (rc != SQLITE_OK || !columns)
		return rc;
	text_begin(&absent);
	for (enum counter c = 0; absent.out && c < C_NR; c++)
		put_if_absent(absent.out, columns, counter_name(c), strlen(counter_name(c)));
	free(columns);
	return make_view(db, table, &absent);
}

int views_of_counters(sqlite3 *db)
{
	static const char *const tables[] = {
		"job",	      "directory",	   "file", "job_interval", "file_interval",
		"filesystem", "directory_interval"};
	int rc = SQLITE_OK;

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]) && rc == SQLITE_OK; i++)
		rc = counters_stand_in(db, tables[i]);
	return rc;
}

/* One pass over the index; if too many files qualify, one over the table. */
static int choose_files(sqlite3 *db)
{
	static const char all[] =
		"INSERT INTO temp.analysis_file SELECT f.id FROM analysis_scope a "
		"JOIN job j ON j.run_id = a.run_id AND j.slot <> 0 JOIN file f ON f.job_id = j.id";
	static const char heaviest[] =
		"INSERT INTO temp.analysis_file SELECT f.id FROM file f WHERE +f.job_id IN "
		"(SELECT j.id FROM analysis_scope a JOIN job j ON j.run_id = a.run_id "
		" AND j.slot <> 0) ORDER BY coalesce(f.misses, 0) + coalesce(f.evicted_unused, 0) "
		"+ "
		"coalesce(f.refaults, 0) + coalesce(f.faults_major, 0) + "
		"coalesce(f.direct_read_bytes, 0) / (SELECT r.page_size_bytes FROM "
		"analysis_scope a JOIN run r ON r.id = a.run_id) DESC, f.id LIMIT "
		"8192";
	int64_t nr = 0;
	int rc = rows_first(db,
			    "SELECT count(*) FROM analysis_scope a JOIN job j ON j.run_id = "
			    "a.run_id AND j.slot <> 0 JOIN file f ON f.job_id = j.id",
			    &nr);

	if (rc != SQLITE_OK)
		return rc;
	return sqlite3_exec(db, nr > VIEWS_FILES_MAX ? heaviest : all, NULL, NULL, NULL);
}

/* Makes the planner start at the scope, which is one row: without statistics of the database it
 * might start with the whole of a large table. */
static int make_scope(sqlite3 *db, int64_t run_id)
{
	char *sql = NULL;
	int rc = SQLITE_NOMEM;

	if (!text_print(&sql,
			"CREATE TEMP TABLE analysis_scope (run_id INTEGER PRIMARY KEY); "
			"INSERT INTO analysis_scope VALUES (%lld); ANALYZE temp.analysis_scope",
			(long long)run_id))
		rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
	free(sql);
	return rc;
}

bool view_at(size_t i, const char **ret_name, const char **ret_text)
{
	if (i >= sizeof(view_texts) / sizeof(view_texts[0]))
		return false;
	*ret_name = view_texts[i].name;
	*ret_text = view_texts[i].text;
	return true;
}

int views_create(sqlite3 *db, int64_t run_id, const char **ret_what)
{
	const char *name, *text;
	int rc = make_scope(db, run_id);

	*ret_what = "the run";
	if (rc == SQLITE_OK)
		rc = views_of_counters(db);
	for (size_t i = 0; i < NR_NEEDED && rc == SQLITE_OK; i++) {
		*ret_what = needed[i].name;
		rc = stand_in(db, &needed[i]);
	}
	for (size_t i = 0; rc == SQLITE_OK && view_at(i, &name, &text); i++) {
		*ret_what = name;
		rc = sqlite3_exec(db, text, NULL, NULL, NULL);
	}
	if (rc == SQLITE_OK) {
		*ret_what = "file";
		rc = choose_files(db);
	}
	return rc;
}
