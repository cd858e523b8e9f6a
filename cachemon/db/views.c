/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/db/views.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/text_builder.h"
#include "cachemon/figures/counters.h"
#include "cachemon/db/embedded_views.h"

struct needed_table {
	const char *name;
	const char *columns; /* "a, b, c": those that the views read */
};

/* Since schema 1 a database may have been written by any version. */
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

static int ask_int(sqlite3 *db, const char *sql, const char *a, const char *b, int64_t *ret)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);

	if (rc == SQLITE_OK && a)
		rc = sqlite3_bind_text(stmt, 1, a, -1, SQLITE_STATIC);
	if (rc == SQLITE_OK && b)
		rc = sqlite3_bind_text(stmt, 2, b, -1, SQLITE_STATIC);
	if (rc == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW)
		*ret = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return rc;
}

/* The columns that the database's table lacks, as ", NULL AS a, NULL AS b". */
static int absent_columns(sqlite3 *db, const struct needed_table *t, char **ret_list)
{
	char *copy = strdup(t->columns);
	char *save = NULL;
	struct text_builder b;
	FILE *out = text_begin(&b);
	int rc = copy && out ? SQLITE_OK : SQLITE_NOMEM;

	for (char *c = rc == SQLITE_OK ? strtok_r(copy, ", ", &save) : NULL; c && rc == SQLITE_OK;
	     c = strtok_r(NULL, ", ", &save)) {
		int64_t has = 0;

		rc = ask_int(db,
			     "SELECT count(*) FROM pragma_table_info(?1, 'main') WHERE name = ?2",
			     t->name, c, &has);
		if (!has)
			fprintf(out, ", NULL AS %s", c);
	}
	free(copy);
	if (!text_end(&b))
		rc = SQLITE_NOMEM;
	if (rc != SQLITE_OK) {
		free(b.text);
		return rc;
	}
	*ret_list = b.text;
	return SQLITE_OK;
}

/* NULL: no memory. */
static char *table_sql(const struct needed_table *t)
{
	bool counters = strcmp(t->name, "filesystem") == 0; /* it alone has them */
	struct text_builder b;
	FILE *out = text_begin(&b);

	if (!out)
		return NULL;
	fprintf(out, "CREATE TEMP TABLE %s (%s", t->name, t->columns);
	for (enum counter c = 0; counters && c < C_NR; c++)
		fprintf(out, ", %s", counter_name(c));
	fputs(")", out);
	return text_end(&b);
}

static int stand_in(sqlite3 *db, const struct needed_table *t)
{
	char *absent = NULL;
	char *sql = NULL;
	int64_t has = 0;
	int rc = ask_int(db, "SELECT count(*) FROM main.sqlite_schema WHERE name = ?1", t->name,
			 NULL, &has);

	if (rc == SQLITE_OK && has)
		rc = absent_columns(db, t, &absent);
	if (rc != SQLITE_OK || (absent && !*absent)) {
		free(absent);
		return rc;
	}
	if (!has)
		sql = table_sql(t);
	else if (asprintf(&sql, "CREATE TEMP VIEW %s AS SELECT *%s FROM main.%s", t->name, absent,
			  t->name) < 0)
		sql = NULL;
	rc = sql ? sqlite3_exec(db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
	free(sql);
	free(absent);
	return rc;
}

/* Which counters the table has; nr 0: there is no such table. */
static int counters_of(sqlite3 *db, const char *table, bool has[C_NR], size_t *ret_nr)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, "SELECT name FROM pragma_table_info(?1, 'main')", -1, &stmt,
				    NULL);

	*ret_nr = 0;
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_text(stmt, 1, table, -1, SQLITE_STATIC);
	while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		const char *column = (const char *)sqlite3_column_text(stmt, 0);

		rc = SQLITE_OK;
		for (enum counter c = 0; column && c < C_NR; c++)
			has[c] = has[c] || !strcmp(column, counter_name(c));
		++*ret_nr;
	}
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Counters that versions since have added. */
static int counters_stand_in(sqlite3 *db, const char *table)
{
	bool has[C_NR] = {false};
	bool all = true;
	char *sql = NULL;
	size_t size = 0;
	size_t nr = 0;
	FILE *out;
	int rc = counters_of(db, table, has, &nr);

	for (enum counter c = 0; c < C_NR; c++)
		all = all && has[c];
	if (rc != SQLITE_OK || !nr || all)
		return rc;
	out = open_memstream(&sql, &size);
	if (!out)
		return SQLITE_NOMEM;
	fprintf(out, "CREATE TEMP VIEW IF NOT EXISTS %s AS SELECT *", table);
	for (enum counter c = 0; c < C_NR; c++)
		if (!has[c])
			fprintf(out, ", NULL AS %s", counter_name(c));
	fprintf(out, " FROM main.%s", table);
	rc = fclose(out) == 0 ? sqlite3_exec(db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
	free(sql);
	return rc;
}

int views_of_counters(sqlite3 *db)
{
	static const char *const tables[] = {"job",	     "directory",     "file",
					     "job_interval", "file_interval", "filesystem"};
	int rc = SQLITE_OK;

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]) && rc == SQLITE_OK; i++)
		rc = counters_stand_in(db, tables[i]);
	return rc;
}

/* One pass over the index; where there are more than fit, one over the table. */
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
	int rc = ask_int(db,
			 "SELECT count(*) FROM analysis_scope a JOIN job j ON j.run_id = a.run_id "
			 "AND j.slot <> 0 JOIN file f ON f.job_id = j.id",
			 NULL, NULL, &nr);

	if (rc != SQLITE_OK)
		return rc;
	return sqlite3_exec(db, nr > VIEWS_FILES_MAX ? heaviest : all, NULL, NULL, NULL);
}

/* The planner is told that the scope is one row, so that all views begin there: it has no
 * statistics of the database, and would as soon begin with all of a large table. */
static int scope(sqlite3 *db, int64_t run_id)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_exec(db, "CREATE TEMP TABLE analysis_scope (run_id INTEGER PRIMARY KEY)",
			      NULL, NULL, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(db, "INSERT INTO analysis_scope VALUES (?1)", -1, &stmt,
					NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(stmt, 1, run_id);
	if (rc == SQLITE_OK)
		sqlite3_step(stmt);
	sqlite3_finalize(stmt);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, "ANALYZE temp.analysis_scope", NULL, NULL, NULL);
	return rc;
}

int views_create(sqlite3 *db, int64_t run_id, const char **ret_what)
{
	const char *name, *text;
	int rc = scope(db, run_id);

	*ret_what = "the run";
	if (rc == SQLITE_OK)
		rc = views_of_counters(db);
	for (size_t i = 0; i < NR_NEEDED && rc == SQLITE_OK; i++) {
		*ret_what = needed[i].name;
		rc = stand_in(db, &needed[i]);
	}
	for (size_t i = 0; rc == SQLITE_OK && embedded_view(i, &name, &text); i++) {
		*ret_what = name;
		rc = sqlite3_exec(db, text, NULL, NULL, NULL);
	}
	if (rc == SQLITE_OK) {
		*ret_what = "file";
		rc = choose_files(db);
	}
	return rc;
}
