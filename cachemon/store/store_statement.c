/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "cachemon/store/store_impl.h"

enum shape {
	PLAIN,	  /* table is the whole statement */
	INSERT,	  /* a row of these columns and then all counters */
	UPDATE,	  /* the same values, but sets only what is behind the '|'; ?1 is the id */
	ADD_ROWS, /* the rows of interval ?2 to those of ?1: key, '|', what is summed too */
};

#define JOB_COLUMNS                                                                                \
	"id, run_id, slot, name, selector|processes, alive, wall_ns, cpu_ns, rchar_bytes, "        \
	"syscr_calls"
#define DIRECTORY_COLUMNS "id, job_id, path|files, files_estimated, subdirectories"
#define FILE_COLUMNS                                                                               \
	"id, job_id, dev_major, dev_minor, ino, gen, folded_before|directory_id, fstype, "         \
	"size_bytes, path, deleted"
#define FILESYSTEM_COLUMNS                                                                         \
	"id, job_id, dev_major, dev_minor|type, mount, cover, why, files, files_estimated"

#define TRACED_COLUMNS                                                                             \
	"id, job_id, dev_major, dev_minor, ino, gen, path, fstype, size_bytes, ra_pages, "         \
	"io_pages, max_order, stratum, stands_for, state, reason, began"
#define MACHINE_GAUGES                                                                             \
	"free_bytes, available_bytes, file_cached_bytes, dirty_bytes, swap_free_bytes, "           \
	"job_limit_bytes, job_usage_bytes, job_file_bytes"

static const struct {
	enum shape shape;
	const char *table;
	const char *columns;
} sources[S_NR] = {
	[S_BEGIN] = {PLAIN, "BEGIN IMMEDIATE", NULL},
	[S_RUN] =
		{PLAIN,
		 "UPDATE run SET duration_ns = ?, state = ?, exit_status = ?, sliced = ?, "
		 "read_on_ns = ?, cost_cpu_ns = ?, cost_probe_cpu_ns = ?, "
		 "cost_collector_cpu_ns = ?, cost_probe_ns_per_lookup = ?, "
		 "cost_share_of_job_cpu = ?, cost_advice_calls_ns = ?, cost_budget = ?, "
		 "cost_share = ?, cost_budget_kept = ?, cost_over_budget_by = ?, "
		 "cost_reads_ns = ?, cost_pages_ns = ?, cost_windows_ns = ?, cost_faults_ns = ?, "
		 "cost_switches_ns = ?, cost_other_ns = ?, loss_map_full = ?, "
		 "loss_chunk_full = ?, loss_ring_drops = ?, loss_state_drops = ?, "
		 "loss_ghosts_dropped = ?, loss_advice_full = ?, "
		 "loss_recursion_misses = ?, loss_intervals = ?, law_error_pages = ? WHERE id = ?",
		 NULL},
	[S_JOB_UPDATE] = {UPDATE, "job", JOB_COLUMNS},
	[S_DIRECTORY_INSERT] = {INSERT, "directory", DIRECTORY_COLUMNS},
	[S_DIRECTORY_UPDATE] = {UPDATE, "directory", DIRECTORY_COLUMNS},
	[S_FILE_INSERT] = {INSERT, "file", FILE_COLUMNS},
	[S_FILE_UPDATE] = {UPDATE, "file", FILE_COLUMNS},
	[S_FILE_DELETE] = {PLAIN, "DELETE FROM file WHERE id = ?", NULL},
	[S_FILESYSTEM_INSERT] = {INSERT, "filesystem", FILESYSTEM_COLUMNS},
	[S_FILESYSTEM_UPDATE] = {UPDATE, "filesystem", FILESYSTEM_COLUMNS},
	[S_ADVICE] =
		{PLAIN,
		 "INSERT INTO advice (id, job_id, dev_major, dev_minor, ino, gen, path, kind, "
		 "call, calls, offset_bytes, length_bytes, pages_asked, pages_brought, "
		 "pages_dropped, used, used_late, evicted_unused, resident_unused, untracked, "
		 "cached_pages, redundant_pages, dropped_refaults, dropped_refaults_others) "
		 "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
		 "ON CONFLICT (id) DO UPDATE SET path = excluded.path, "
		 "calls = excluded.calls, offset_bytes = excluded.offset_bytes, "
		 "length_bytes = excluded.length_bytes, pages_asked = excluded.pages_asked, "
		 "pages_brought = excluded.pages_brought, "
		 "pages_dropped = excluded.pages_dropped, used = excluded.used, "
		 "used_late = excluded.used_late, "
		 "evicted_unused = excluded.evicted_unused, "
		 "resident_unused = excluded.resident_unused, "
		 "untracked = excluded.untracked, cached_pages = excluded.cached_pages, "
		 "redundant_pages = excluded.redundant_pages, "
		 "dropped_refaults = excluded.dropped_refaults, "
		 "dropped_refaults_others = excluded.dropped_refaults_others",
		 NULL},
	[S_ADVICE_FORGET] = {PLAIN,
			     "UPDATE advice SET dropped_refaults = NULL, "
			     "dropped_refaults_others = NULL WHERE job_id = ? AND "
			     "dropped_refaults IS NOT NULL",
			     NULL},
	[S_INTERVAL] = {PLAIN,
			"INSERT INTO interval (run_id, start_ns, duration_ns, read_on_ns) "
			"VALUES (?, ?, ?, ?)",
			NULL},
	[S_JOB_INTERVAL] = {INSERT, "job_interval", "interval_id, job_id|cpu_ns, rchar_bytes"},
	[S_FILE_INTERVAL] = {INSERT, "file_interval", "interval_id, file_id|"},
	[S_MERGE_NEXT] = {PLAIN,
			  "SELECT id, start_ns, duration_ns FROM interval "
			  "WHERE run_id = ? AND start_ns >= ? ORDER BY start_ns LIMIT 1",
			  NULL},
	[S_MERGE_INTERVAL] =
		{PLAIN,
		 "UPDATE interval SET duration_ns = interval.duration_ns + s.duration_ns, "
		 "read_on_ns = interval.read_on_ns + s.read_on_ns, "
		 "rolled = interval.rolled + s.rolled "
		 "FROM interval AS s WHERE interval.id = ?1 AND s.id = ?2",
		 NULL},
	[S_MERGE_JOB] = {ADD_ROWS, "job_interval", "job_id|cpu_ns, rchar_bytes"},
	[S_MERGE_FILE] = {ADD_ROWS, "file_interval", "file_id|"},
	[S_MERGE_DELETE] = {PLAIN, "DELETE FROM interval WHERE id = ?", NULL},
	/* Also rows of files that were folded since. */
	[S_MERGE_TRIM] =
		{PLAIN,
		 "DELETE FROM file_interval WHERE interval_id = ?1 AND file_id NOT IN "
		 "(SELECT t.file_id FROM file_interval AS t JOIN file ON file.id = t.file_id "
		 "WHERE t.interval_id = ?1 "
		 "ORDER BY t.misses DESC, t.lookups DESC, t.read_bytes DESC LIMIT ?2)",
		 NULL},
	[S_REFERENCE_SAMPLE] =
		{PLAIN,
		 "INSERT INTO reference_sample (job_id, state, reason, threshold, pages, refs, "
		 "lookups, distinct_pages, distinct_error) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) "
		 "ON CONFLICT (job_id) DO UPDATE SET state = excluded.state, "
		 "reason = excluded.reason, threshold = excluded.threshold, "
		 "pages = excluded.pages, refs = excluded.refs, lookups = excluded.lookups, "
		 "distinct_pages = excluded.distinct_pages, "
		 "distinct_error = excluded.distinct_error",
		 NULL},
	[S_REFERENCE_PAGE] = {PLAIN,
			      "INSERT INTO reference_page (job_id, number, dev_major, dev_minor, "
			      "ino, gen, page_index, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			      NULL},
	[S_REFERENCE_CHUNK] = {PLAIN,
			       "INSERT INTO reference_chunk (job_id, seq, start_ns, lookups, refs, "
			       "data) VALUES (?, ?, ?, ?, ?, ?)",
			       NULL},
	[S_REFERENCE_DROP_PAGES] = {PLAIN, "DELETE FROM reference_page WHERE job_id = ?", NULL},
	[S_REFERENCE_DROP_CHUNKS] = {PLAIN, "DELETE FROM reference_chunk WHERE job_id = ?", NULL},
	[S_TRACED_INSERT] = {PLAIN,
			     "INSERT INTO traced_file (" TRACED_COLUMNS ") VALUES (?1, ?2, ?3, ?4, "
			     "?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
			     NULL},
	[S_TRACED_UPDATE] = {PLAIN,
			     "UPDATE traced_file SET path = ?7, fstype = ?8, size_bytes = ?9, "
			     "io_pages = ?11, stands_for = ?14, state = ?15, reason = ?16, "
			     "began = ?17 WHERE id = ?1",
			     NULL},
	[S_TRACE_CHUNK] = {PLAIN,
			   "INSERT INTO trace_chunk (traced_file_id, seq, events, data) "
			   "VALUES (?, ?, ?, ?)",
			   NULL},
	[S_SHED] = {PLAIN,
		    "INSERT OR REPLACE INTO shed (run_id, detail, reason, from_ns, to_ns) "
		    "VALUES (?, ?, ?, ?, ?)",
		    NULL},
	[S_ESTIMATE] = {PLAIN,
			"INSERT OR REPLACE INTO estimate (job_id, name, value, low, high, reason) "
			"VALUES (?, ?, ?, ?, ?, ?)",
			NULL},
	[S_TRACE_ABSENT] = {PLAIN,
			    "INSERT OR REPLACE INTO trace_absent (job_id, reason) VALUES (?, ?)",
			    NULL},
	[S_MACHINE] = {PLAIN,
		       "INSERT OR IGNORE INTO machine (run_id, memory_total_bytes, swap_bytes, "
		       "mglru, nr_cpus, numa_nodes, thp) VALUES (?, ?, ?, ?, ?, ?, ?)",
		       NULL},
	[S_MACHINE_INTERVAL] = {PLAIN,
				"INSERT INTO machine_interval (interval_id, " MACHINE_GAUGES
				") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
				NULL},
	/* Not sums: as of the later one. */
	[S_MERGE_MACHINE] = {PLAIN,
			     "INSERT OR REPLACE INTO machine_interval (interval_id, " MACHINE_GAUGES
			     ") SELECT ?1, " MACHINE_GAUGES
			     " FROM machine_interval WHERE interval_id = ?2",
			     NULL},
	[S_DEVICE] = {PLAIN,
		      "INSERT OR IGNORE INTO device (run_id, dev_major, dev_minor, name, "
		      "rotational, read_ahead_kb, max_sectors_kb, io_pages, network) "
		      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
		      NULL},
	/* Where it is not what it was at last. */
	[S_DEVICE_CHANGE] =
		{PLAIN,
		 "INSERT INTO device_change (run_id, dev_major, dev_minor, seen_ns, "
		 "read_ahead_kb) SELECT ?1, ?2, ?3, ?4, ?5 WHERE ?5 IS NOT NULL AND ?5 IS NOT "
		 "coalesce((SELECT read_ahead_kb FROM device_change WHERE run_id = ?1 AND "
		 "dev_major = ?2 AND dev_minor = ?3 ORDER BY seen_ns DESC LIMIT 1), "
		 "(SELECT read_ahead_kb FROM device WHERE run_id = ?1 AND dev_major = ?2 AND "
		 "dev_minor = ?3))",
		 NULL},
	[S_INTERFERENCE] =
		{PLAIN,
		 "INSERT INTO interference (id, job_id, cause, evictor_kind, evictor, "
		 "evictor_cgroup, evictor_path, evictor_writes, owner_path, pages, exact) "
		 "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET "
		 "evictor_cgroup = excluded.evictor_cgroup, pages = excluded.pages",
		 NULL},
	[S_JOB_LIMIT] = {PLAIN,
			 "INSERT OR REPLACE INTO job_limit (job_id, limit_bytes, at, "
			 "oom_kills) VALUES (?, ?, ?, ?)",
			 NULL},
};

struct columns {
	struct {
		const char *name;
		int len;
	} of[C_NR + 16];
	int nr;
	int fixed; /* those before the '|' */
};

static void split(const char *list, struct columns *ret_columns)
{
	struct columns *c = ret_columns;

	c->nr = 0;
	c->fixed = 0;
	while (*list) {
		int len = (int)strcspn(list, ",|");

		c->of[c->nr].name = list;
		c->of[c->nr++].len = len;
		list += len;
		if (*list == '|')
			c->fixed = c->nr;
		list += strspn(list, ",| ");
	}
	for (int i = 0; i < C_NR; i++) {
		c->of[c->nr].name = counter_name(i);
		c->of[c->nr++].len = (int)strlen(counter_name(i));
	}
}

static void put_names(sqlite3_str *s, const struct columns *c, int first)
{
	for (int i = first; i < c->nr; i++)
		sqlite3_str_appendf(s, "%s%.*s", i > first ? ", " : "", c->of[i].len,
				    c->of[i].name);
}

static void put_insert(sqlite3_str *s, const char *table, const struct columns *c)
{
	sqlite3_str_appendf(s, "INSERT INTO %s (", table);
	put_names(s, c, 0);
	sqlite3_str_appendall(s, ") VALUES (");
	for (int i = 0; i < c->nr; i++)
		sqlite3_str_appendall(s, i ? ", ?" : "?");
	sqlite3_str_appendall(s, ")");
}

static void put_update(sqlite3_str *s, const char *table, const struct columns *c)
{
	sqlite3_str_appendf(s, "UPDATE %s SET ", table);
	for (int i = c->fixed; i < c->nr; i++)
		sqlite3_str_appendf(s, "%s%.*s = ?%d", i > c->fixed ? ", " : "", c->of[i].len,
				    c->of[i].name, i + 1);
	sqlite3_str_appendall(s, " WHERE id = ?1");
}

/* A sum with a part that was not measured is not measured: NULL + x is NULL. */
static void put_add_rows(sqlite3_str *s, const char *table, const struct columns *c)
{
	int key = c->of[0].len;
	const char *name = c->of[0].name;

	sqlite3_str_appendf(s, "INSERT INTO %s (interval_id, ", table);
	put_names(s, c, 0);
	sqlite3_str_appendall(s, ") SELECT ?1, ");
	put_names(s, c, 0);
	sqlite3_str_appendf(s, " FROM %s WHERE interval_id = ?2 ON CONFLICT (interval_id, %.*s) ",
			    table, key, name);
	sqlite3_str_appendall(s, "DO UPDATE SET ");
	for (int i = c->fixed; i < c->nr; i++)
		sqlite3_str_appendf(s, "%s%.*s = %.*s + excluded.%.*s", i > c->fixed ? ", " : "",
				    c->of[i].len, c->of[i].name, c->of[i].len, c->of[i].name,
				    c->of[i].len, c->of[i].name);
}

static int prepare(struct store *st, enum statement i)
{
	sqlite3_str *s = sqlite3_str_new(st->db);
	const char *table = sources[i].table;
	struct columns c = {0};
	char *sql;
	int rc;

	if (sources[i].columns)
		split(sources[i].columns, &c);
	switch (sources[i].shape) {
	case PLAIN:
		sqlite3_str_appendall(s, table);
		break;
	case INSERT:
		put_insert(s, table, &c);
		break;
	case UPDATE:
		put_update(s, table, &c);
		break;
	case ADD_ROWS:
		put_add_rows(s, table, &c);
		break;
	}
	rc = sqlite3_str_errcode(s);
	sql = sqlite3_str_finish(s);
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v3(st->db, sql, -1, SQLITE_PREPARE_PERSISTENT,
					&st->statements[i], NULL);
	sqlite3_free(sql);
	return rc;
}

int statements_prepare(struct store *st)
{
	int rc = SQLITE_OK;

	for (int i = 0; i < S_NR && rc == SQLITE_OK; i++)
		if (!st->statements[i])
			rc = prepare(st, i);
	return rc;
}

void statements_finalize(struct store *st)
{
	for (int i = 0; i < S_NR; i++) {
		sqlite3_finalize(st->statements[i]);
		st->statements[i] = NULL;
	}
}
