/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/rules/needs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cachemon/base/suggest.h"
#include "cachemon/figures/trace_code.h"

/* Why traces of the job are incomplete. A file that gave way to another one is the normal case. */
#define TRACES_END                                                                                 \
	"SELECT 'traces ended early: ' || t.reason || iif(r.level = 'full', '', '; watch --level " \
	"full continues them') FROM traced_file t, run r WHERE t.job_id = :job AND r.id = :run "   \
	"AND t.reason <> '" TRACE_GAVE_WAY "'"

/* Rows of a table that were recorded for the job (:job) or its run (:run). */
static const struct need_table {
	const char *name;
	const char *rows;   /* NULL: may be empty, because nothing may have happened */
	const char *reason; /* query for the reason of its absence; NULL: not recorded */
	const char *of;	    /* table that the database may lack; NULL: name */
	const char *what;   /* what is absent, for people: "the run has no WHAT" */
} tables[] = {
	{"advice", NULL, NULL, NULL, "record of advice"},
	/* A job with reclaimed pages has rows, unless the evictors were not recorded. */
	{"interference",
	 "SELECT 1 FROM interference WHERE job_id = :job UNION ALL "
	 "SELECT 1 FROM v_job WHERE job_id = :job AND evicted_reclaim = 0 AND NOT EXISTS "
	 "(SELECT 1 FROM unmeasured WHERE run_id = :run AND counter = 'interference')",
	 NULL, NULL, "record of evictors"},
	{"filesystem", "SELECT 1 FROM filesystem WHERE job_id = :job", NULL, NULL, "filesystem"},
	{"interval", "SELECT 1 FROM analysis_interval WHERE job_id = :job", NULL, NULL, "timeline"},
	{"machine", "SELECT 1 FROM machine WHERE run_id = :run", NULL, NULL, "fact of the machine"},
	{"machine_interval", "SELECT 1 FROM analysis_memory WHERE run_id = :run AND intervals > 0",
	 NULL, NULL, "figure of the machine's memory"},
	{"device", "SELECT 1 FROM device WHERE run_id = :run", NULL, NULL, "fact of a device"},
	{"job_limit", "SELECT 1 FROM job_limit WHERE job_id = :job", NULL, NULL,
	 "fact of the job's memory limit"},
	{"traced_file", "SELECT 1 FROM traced_file WHERE job_id = :job AND state = 'whole'",
	 TRACES_END, NULL, "recorded access to a file"},
	{"reference_sample",
	 "SELECT 1 FROM reference_sample WHERE job_id = :job AND state = 'whole'",
	 "SELECT reason FROM reference_absent WHERE job_id = :job UNION ALL "
	 "SELECT reason FROM reference_sample WHERE job_id = :job AND reason IS NOT NULL",
	 NULL, "sample of references"},
	{"analysis_curve", "SELECT 1 FROM analysis_curve WHERE job_id = :job",
	 "SELECT lower(substr(absent, 1, 1)) || rtrim(substr(absent, 2), '.') "
	 "FROM analysis_curve_fact WHERE job_id = :job",
	 "reference_sample", "miss-ratio curve"},
	{"analysis_whatif_readahead", "SELECT 1 FROM analysis_whatif_readahead WHERE job_id = :job",
	 TRACES_END, "traced_file", "replay of readahead"},
	{"analysis_pattern", "SELECT 1 FROM analysis_pattern WHERE job_id = :job", NULL, "file",
	 "pattern"},
	{"analysis_grade", "SELECT 1 FROM v_grade WHERE job_id = :job", NULL, "job", "grade"},
};

enum { NR_TABLES = sizeof(tables) / sizeof(tables[0]) };

/* The absent fact in words, if a column that rules need has no value: "the run has no WHAT". */
static const struct need_column {
	const char *name, *what;
} columns[] = {
	{"added_pages", "count of pages added to the cache"},
	{"available_bytes_min", "figure of the machine's available memory"},
	{"cached_pages", "count of the cached pages that advice named"},
	{"cover", "record of how much of a filesystem's reads was seen"},
	{"cpu_ns", "CPU time of the job"},
	{"demand_pages", "count of pages fetched on demand"},
	{"direct_read_bytes", "count of bytes read with O_DIRECT"},
	{"evicted_direct_io", "count of pages dropped by direct I/O"},
	{"evicted_dontcache", "count of pages dropped by RWF_DONTCACHE"},
	{"evicted_dontneed", "count of pages dropped by DONTNEED"},
	{"evicted_drop_caches", "count of pages dropped at an administrator's request"},
	{"evicted_invalidate", "count of pages that a filesystem invalidated"},
	{"evicted_other", "count of pages evicted for other causes"},
	{"evicted_pages", "count of evicted pages"},
	{"evicted_reclaim", "count of reclaimed pages"},
	{"evicted_reclaim_direct", "count of pages reclaimed by allocating tasks"},
	{"evicted_reclaim_kswapd", "count of pages reclaimed in the background"},
	{"evicted_reclaim_memcg", "count of pages reclaimed at the job's memory limit"},
	{"evicted_truncate", "count of truncated pages"},
	{"evicted_unused", "count of prefetched pages that were evicted unused"},
	{"faithful_replay", "replay of readahead that agrees with the kernel"},
	{"faults_major", "count of major faults"},
	{"lookups", "count of lookups"},
	{"mapped_pages_upper_bound", "count of pages mapped around faults"},
	{"misses", "count of misses"},
	{"oom_kills", "count of processes killed at the memory limit"},
	{"pages_brought", "count of pages that advice fetched"},
	{"prefetched_mmap_around", "count of pages prefetched around faults"},
	{"prefetched_pages", "count of prefetched pages"},
	{"present_pages", "count of the job's pages in the cache"},
	{"processes", "count of the job's processes"},
	{"read_bytes", "count of bytes read"},
	{"read_calls", "count of read calls"},
	{"redundant_pages", "count of requested pages that were already cached"},
	{"refaults", "count of pages that came back after eviction"},
	{"stall_ns", "time that the job waited for pages"},
	{"stalls", "count of waits for pages"},
	{"untracked", "count of prefetched pages with an unknown fate"},
	{"used", "count of prefetched pages used in time"},
	{"used_late", "count of prefetched pages that arrived late"},
	{"wall_ns", "duration of the job"},
	{"windows_forced", "count of readahead windows of advice"},
	{"windows_sync", "count of readahead windows for missing pages"},
};

enum { NR_COLUMNS = sizeof(columns) / sizeof(columns[0]) };

/*
 * The first row of a query with :job, :run and :name. *ret_found: there was one; *ret_text: its
 * first column, perhaps NULL.
 */
static int ask_first(const struct needs_subject *s, const char *sql, const char *name,
		     bool *ret_found, const char **ret_text)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(s->db, sql, -1, &stmt, NULL);

	*ret_found = false;
	*ret_text = NULL;
	if (rc != SQLITE_OK)
		return -EIO;
	sqlite3_bind_int64(stmt, sqlite3_bind_parameter_index(stmt, ":job"), s->job_id);
	sqlite3_bind_int64(stmt, sqlite3_bind_parameter_index(stmt, ":run"), s->run_id);
	sqlite3_bind_text(stmt, sqlite3_bind_parameter_index(stmt, ":name"), name, -1,
			  SQLITE_STATIC);
	rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW) {
		*ret_found = true;
		if (sqlite3_column_type(stmt, 0) != SQLITE_NULL)
			*ret_text = arena_bytes(s->arena, sqlite3_column_text(stmt, 0),
						(size_t)sqlite3_column_bytes(stmt, 0))
					    .data;
	}
	sqlite3_finalize(stmt);
	if (s->arena->failed)
		return -ENOMEM;
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : -EIO;
}

/* Columns that only a site's rules need are named by their words: "stall_share", "stall share". */
static void column_what(const char *name, char *ret, size_t size)
{
	for (size_t i = 0; i < NR_COLUMNS; i++)
		if (strcmp(columns[i].name, name) == 0) {
			snprintf(ret, size, "%s", columns[i].what);
			return;
		}
	snprintf(ret, size, "value for %s", name);
	for (char *c = ret; *c; c++)
		*c = *c == '_' ? ' ' : *c;
}

/* Why a counter or a table has no value. what: for people; query: for the reason, or NULL. */
static int why_absent(const struct needs_subject *s, const char *name, const char *what,
		      const char *query, const char **ret_reason)
{
	static const char unmeasured[] =
		"SELECT reason FROM unmeasured WHERE run_id = :run AND counter = :name";
	const char *reason = NULL;
	bool found;
	int e = query ? ask_first(s, query, name, &found, &reason) : 0;

	if (!e && !reason)
		e = ask_first(s, unmeasured, name, &found, &reason);
	if (e)
		return e;
	*ret_reason = arena_print(s->arena, "the run has no %s%s%.500s", what, reason ? ": " : "",
				  reason ? reason : "");
	return *ret_reason ? 0 : -ENOMEM;
}

static int why_no_value(const struct needs_subject *s, const char *column, const char **ret_reason)
{
	const char *query = strcmp(column, "faithful_replay") == 0 ? TRACES_END : NULL;
	char what[128];

	column_what(column, what, sizeof(what));
	return why_absent(s, column, what, query, ret_reason);
}

static int check_counter(const struct needs_subject *s, const struct rule *rule, const char *name,
			 const char **ret_reason, struct errtext *err)
{
	const char *value = NULL;
	char sql[256];
	bool found;
	int e;

	snprintf(sql, sizeof(sql), "SELECT v.%.100s FROM v_job v WHERE v.job_id = :job", name);
	e = ask_first(s, sql, NULL, &found, &value);
	if (e == -EIO)
		return errtext_set(
			err, -EINVAL,
			"%s:%d: v_job has no column '%s'; sql/views/20_job.sql lists its columns",
			rule->file, rule->counters.line, name);
	if (e || value)
		return e;
	return why_no_value(s, name, ret_reason);
}

static int check_table(const struct needs_subject *s, const struct rule *rule, const char *name,
		       const char **ret_reason, struct errtext *err)
{
	const char *names[NR_TABLES];
	const struct need_table *t = NULL;
	const char *text = NULL;
	const char *near;
	bool found = false;
	int e;

	for (size_t i = 0; i < NR_TABLES; i++) {
		names[i] = tables[i].name;
		if (strcmp(names[i], name) == 0)
			t = &tables[i];
	}
	near = t ? NULL : suggest_nearest(name, names, NR_TABLES);
	if (!t)
		return errtext_set(err, -EINVAL,
				   "%s:%d: '%s' is not a table that a rule can need; %s",
				   rule->file, rule->tables.line, name,
				   suggest_text(near, "see docs/advisor.md").text);
	e = ask_first(s, "SELECT 1 FROM main.sqlite_schema WHERE name = :name",
		      t->of ? t->of : name, &found, &text);
	if (e)
		return e;
	if (!found) {
		*ret_reason = arena_print(
			s->arena, "the database has no %s: an older cachemon recorded it", t->what);
		return *ret_reason ? 0 : -ENOMEM;
	}
	e = t->rows ? ask_first(s, t->rows, NULL, &found, &text)
		    : ask_first(s,
				"SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM unmeasured WHERE "
				"run_id = :run AND counter = :name)",
				name, &found, &text);
	if (e || found)
		return e;
	return why_absent(s, name, t->what, t->reason, ret_reason);
}

static int check_fact(const struct needs_subject *s, const struct rule *rule, const char *fact,
		      const char **ret_reason, struct errtext *err)
{
	const char *dot = strchr(fact, '.');
	const char *value = NULL;
	char sql[512];
	bool found;
	int e;

	/* Rows of a view belong to a job, or else to the run. */
	snprintf(sql, sizeof(sql), "SELECT max(v.%.100s IS NOT NULL) FROM %.*s v WHERE v.%s = :%s",
		 dot + 1, (int)(dot - fact < 100 ? dot - fact : 100), fact, "job_id", "job");
	e = ask_first(s, sql, NULL, &found, &value);
	if (e == -EIO) {
		snprintf(sql, sizeof(sql),
			 "SELECT max(v.%.100s IS NOT NULL) FROM %.*s v WHERE v.%s = :%s", dot + 1,
			 (int)(dot - fact < 100 ? dot - fact : 100), fact, "run_id", "run");
		e = ask_first(s, sql, NULL, &found, &value);
	}
	if (e == -EIO)
		return errtext_set(err, -EINVAL,
				   "%s:%d: there is no view and column '%s'; sql/views lists them",
				   rule->file, rule->facts.line, fact);
	/* No row: the fact does not apply. */
	if (e || !value || strcmp(value, "0") != 0)
		return e;
	return why_no_value(s, dot + 1, ret_reason);
}

int needs_check(const struct needs_subject *s, const struct rule *rule, const char **ret_reason,
		struct errtext *err)
{
	const char *reason = NULL;
	int e = 0;

	for (size_t i = 0; i < rule->tables.nr && !e && !reason; i++)
		e = check_table(s, rule, rule->tables.word[i], &reason, err);
	for (size_t i = 0; i < rule->counters.nr && !e && !reason; i++)
		e = check_counter(s, rule, rule->counters.word[i], &reason, err);
	for (size_t i = 0; i < rule->facts.nr && !e && !reason; i++)
		e = check_fact(s, rule, rule->facts.word[i], &reason, err);
	if (!e)
		*ret_reason = reason;
	return e;
}
