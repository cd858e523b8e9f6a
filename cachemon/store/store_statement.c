/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "cachemon/store/store_impl.h"

/*
 * Columns are in binding order; those after the '|' are set by an update, and a '*' at the end
 * means all counters.
 */
enum shape {
	PLAIN,	  /* table is the whole statement */
	INSERT,	  /* a row of these columns */
	REPLACE,  /* the same, but replaces a row with its key */
	IGNORE,	  /* the same, if it is absent */
	UPSERT,	  /* the same; if a row with the first column exists, an update */
	UPDATE,	  /* the values of an insert, but as an update; ?1 is the id */
	ADD_ROWS, /* adds rows of interval ?2 to those of ?1: key, '|', other sums */
};

#define JOB_COLUMNS                                                                                \
	"id, run_id, slot, name, selector|processes, alive, wall_ns, cpu_ns, rchar_bytes, "        \
	"syscr_calls, *"
#define DIRECTORY_COLUMNS "id, job_id, path|files, files_estimated, subdirectories, *"
#define FILE_COLUMNS                                                                               \
	"id, job_id, dev_major, dev_minor, ino, gen, folded_before|directory_id, fstype, "         \
	"size_bytes, path, deleted, *"
#define FILESYSTEM_COLUMNS                                                                         \
	"id, job_id, dev_major, dev_minor|type, mount, cover, why, files, files_estimated, *"
#define TRACED_COLUMNS                                                                             \
	"id, job_id, dev_major, dev_minor, ino, gen, ra_pages, max_order, stratum|path, fstype, "  \
	"size_bytes, io_pages, stands_for, state, reason, began"
#define MACHINE_GAUGES                                                                             \
	"free_bytes, available_bytes, file_cached_bytes, dirty_bytes, swap_free_bytes, "           \
	"job_limit_bytes, job_usage_bytes, job_file_bytes"

static const struct {
	enum shape shape;
	const char *table;
	const char *columns;
} sources[S_NR] = {
	[S_RUN_INSERT] = {INSERT, "run",
			  "uuid, cachemon, host, kernel, arch, started_ns, writer_boot, "
			  "writer_pidns, writer_pid, writer_start_ticks, level, advice_mode, "
			  "interval_ns, page_size_bytes, memory_bytes, map_bytes, user"},
	[S_RUN_UPDATE] = {UPDATE, "run",
			  "id|duration_ns, state, exit_status, sliced, read_on_ns, cost_cpu_ns, "
			  "cost_probe_cpu_ns, cost_collector_cpu_ns, cost_probe_ns_per_lookup, "
			  "cost_share_of_job_cpu, cost_advice_calls_ns, cost_budget, cost_share, "
			  "cost_budget_kept, cost_over_budget_by, cost_reads_ns, cost_pages_ns, "
			  "cost_windows_ns, cost_faults_ns, cost_switches_ns, cost_other_ns, "
			  "loss_map_full, loss_chunk_full, loss_ring_drops, loss_state_drops, "
			  "loss_ghosts_dropped, loss_advice_full, loss_recursion_misses, "
			  "loss_intervals, law_error_pages, marks_dropped"},
	[S_RUN_INTERVAL] = {PLAIN, "UPDATE run SET interval_ns = ?1 WHERE id = ?2", NULL},
	[S_PROBE] = {INSERT, "probe", "run_id, role, hook, state, reason"},
	[S_UNMEASURED] = {REPLACE, "unmeasured", "run_id, counter, reason"},
	[S_JOB_INSERT] = {INSERT, "job",
			  "run_id, slot, name, selector, kind, external_id, uid, step, job_name, "
			  "partition"},
	[S_JOB_UPDATE] = {UPDATE, "job", JOB_COLUMNS},
	[S_JOB_CGROUP] = {INSERT, "job_cgroup", "job_id, path"},
	[S_DIRECTORY_INSERT] = {INSERT, "directory", DIRECTORY_COLUMNS},
	[S_DIRECTORY_UPDATE] = {UPDATE, "directory", DIRECTORY_COLUMNS},
	[S_FILE_INSERT] = {INSERT, "file", FILE_COLUMNS},
	[S_FILE_UPDATE] = {UPDATE, "file", FILE_COLUMNS},
	[S_FILE_DELETE] = {PLAIN, "DELETE FROM file WHERE id = ?", NULL},
	[S_FILESYSTEM_INSERT] = {INSERT, "filesystem", FILESYSTEM_COLUMNS},
	[S_FILESYSTEM_UPDATE] = {UPDATE, "filesystem", FILESYSTEM_COLUMNS},
	[S_ADVICE] =
		{UPSERT, "advice",
		 "id, job_id, dev_major, dev_minor, ino, gen, kind, call|path, calls, "
		 "offset_bytes, length_bytes, pages_asked, pages_brought, pages_dropped, used, "
		 "used_late, evicted_unused, resident_unused, untracked, cached_pages, "
		 "redundant_pages, dropped_refaults, dropped_refaults_others"},
	[S_ADVICE_FORGET] = {PLAIN,
			     "UPDATE advice SET dropped_refaults = NULL, "
			     "dropped_refaults_others = NULL WHERE job_id = ? AND "
			     "dropped_refaults IS NOT NULL",
			     NULL},
	[S_INTERVAL] = {INSERT, "interval", "run_id, start_ns, duration_ns, read_on_ns"},
	[S_JOB_INTERVAL] = {INSERT, "job_interval", "interval_id, job_id, cpu_ns, rchar_bytes, *"},
	[S_FILE_INTERVAL] = {INSERT, "file_interval", "interval_id, file_id, *"},
	[S_DIRECTORY_INTERVAL] = {INSERT, "directory_interval", "interval_id, directory_id, *"},
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
	[S_MERGE_JOB] = {ADD_ROWS, "job_interval", "job_id|cpu_ns, rchar_bytes, *"},
	[S_MERGE_FILE] = {ADD_ROWS, "file_interval", "file_id|*"},
	[S_MERGE_DIRECTORY] = {ADD_ROWS, "directory_interval", "directory_id|*"},
	[S_MERGE_DELETE] = {PLAIN, "DELETE FROM interval WHERE id = ?", NULL},
	/* Also rows of files that have been folded since. */
	[S_MERGE_TRIM] =
		{PLAIN,
		 "DELETE FROM file_interval WHERE interval_id = ?1 AND file_id NOT IN "
		 "(SELECT t.file_id FROM file_interval AS t JOIN file ON file.id = t.file_id "
		 "WHERE t.interval_id = ?1 "
		 "ORDER BY t.misses DESC, t.lookups DESC, t.read_bytes DESC LIMIT ?2)",
		 NULL},
	[S_MERGE_TRIM_DIRECTORIES] =
		{PLAIN,
		 "DELETE FROM directory_interval WHERE interval_id = ?1 AND directory_id NOT IN "
		 "(SELECT directory_id FROM directory_interval WHERE interval_id = ?1 "
		 "ORDER BY misses DESC, lookups DESC, read_bytes DESC LIMIT ?2)",
		 NULL},
	[S_REFERENCE_SAMPLE] = {UPSERT, "reference_sample",
				"job_id|state, reason, threshold, pages, refs, lookups, "
				"distinct_pages, distinct_error"},
	[S_REFERENCE_PAGE] = {INSERT, "reference_page",
			      "job_id, number, dev_major, dev_minor, ino, gen, page_index, hash"},
	[S_REFERENCE_CHUNK] = {INSERT, "reference_chunk",
			       "job_id, seq, start_ns, lookups, refs, data"},
	[S_REFERENCE_DROP_PAGES] = {PLAIN, "DELETE FROM reference_page WHERE job_id = ?", NULL},
	[S_REFERENCE_DROP_CHUNKS] = {PLAIN, "DELETE FROM reference_chunk WHERE job_id = ?", NULL},
	[S_REFERENCE_ABSENT] = {INSERT, "reference_absent", "job_id, reason"},
	[S_TRACED_INSERT] = {INSERT, "traced_file", TRACED_COLUMNS},
	[S_TRACED_UPDATE] = {UPDATE, "traced_file", TRACED_COLUMNS},
	[S_TRACE_CHUNK] = {INSERT, "trace_chunk", "traced_file_id, seq, events, data"},
	[S_TRACE_ABSENT] = {REPLACE, "trace_absent", "job_id, reason"},
	[S_SHED] = {REPLACE, "shed", "run_id, detail, reason, from_ns, to_ns"},
	[S_ESTIMATE] = {REPLACE, "estimate", "job_id, name, value, low, high, reason"},
	[S_MACHINE] = {IGNORE, "machine",
		       "run_id, memory_total_bytes, swap_bytes, mglru, nr_cpus, numa_nodes, thp"},
	[S_MACHINE_INTERVAL] = {INSERT, "machine_interval", "interval_id, " MACHINE_GAUGES},
	/* These are not sums: the later value replaces the earlier one. */
	[S_MERGE_MACHINE] = {PLAIN,
			     "INSERT OR REPLACE INTO machine_interval (interval_id, " MACHINE_GAUGES
			     ") SELECT ?1, " MACHINE_GAUGES
			     " FROM machine_interval WHERE interval_id = ?2",
			     NULL},
	[S_DEVICE] = {IGNORE, "device",
		      "run_id, dev_major, dev_minor, name, rotational, read_ahead_kb, "
		      "max_sectors_kb, io_pages, network"},
	/* Only where the value differs from the last one. */
	[S_DEVICE_CHANGE] =
		{PLAIN,
		 "INSERT INTO device_change (run_id, dev_major, dev_minor, seen_ns, "
		 "read_ahead_kb) SELECT ?1, ?2, ?3, ?4, ?5 WHERE ?5 IS NOT NULL AND ?5 IS NOT "
		 "coalesce((SELECT read_ahead_kb FROM device_change WHERE run_id = ?1 AND "
		 "dev_major = ?2 AND dev_minor = ?3 ORDER BY seen_ns DESC LIMIT 1), "
		 "(SELECT read_ahead_kb FROM device WHERE run_id = ?1 AND dev_major = ?2 AND "
		 "dev_minor = ?3))",
		 NULL},
	[S_DEVICE_READS] = {PLAIN,
			    "UPDATE device SET reads = ?4, read_ms = ?5 WHERE run_id = ?1 AND "
			    "dev_major = ?2 AND dev_minor = ?3",
			    NULL},
	[S_INTERFERENCE] = {UPSERT, "interference",
			    "id, job_id, cause, evictor_kind, evictor, evictor_path, "
			    "evictor_writes, owner_path, exact|evictor_cgroup, pages"},
	[S_JOB_LIMIT] = {REPLACE, "job_limit", "job_id, limit_bytes, at, oom_kills"},
	[S_WAIT] = {REPLACE, "wait_histogram", "job_id, from_ns, to_ns, sleeps"},
	[S_WAIT_DROP] = {PLAIN, "DELETE FROM wait_histogram WHERE job_id = ?", NULL},
	[S_FILE_WAIT] = {REPLACE, "file_wait", "file_id, from_ns, to_ns, sleeps"},
	[S_FILE_WAIT_DROP] = {PLAIN,
			      "DELETE FROM file_wait WHERE file_id IN (SELECT id FROM file WHERE "
			      "job_id = ?)",
			      NULL},
	[S_WORDING] = {INSERT, "wording",
		       "run_id, job_id, asked_ns, question, prompt_sha256, api, host, model, "
		       "outcome, reason, tokens_in, tokens_out, attempts, duration_ns, redacted, "
		       "kept, dropped, answer"},
	[S_HEAD] = {UPDATE, "job",
		    "id|head_answer, head_grade, head_score, head_finding, head_title"},
	[S_PASS_INTERVAL] =
		{INSERT, "pass_interval",
		 "interval_id, pass, read_bytes, file_bytes, brought_pages, file_pages"},
	[S_MERGE_PASS] = {ADD_ROWS, "pass_interval",
			  "pass|read_bytes, file_bytes, brought_pages, file_pages"},
	[S_PROCESS_INTERVAL] = {INSERT, "process_interval",
				"interval_id, pid, command, stall_ns, stalls, rchar_bytes, "
				"syscr_calls"},
	[S_MERGE_PROCESS] = {ADD_ROWS, "process_interval",
			     "pid, command|stall_ns, stalls, rchar_bytes, syscr_calls"},
	[S_MERGE_TRIM_PROCESSES] =
		{PLAIN,
		 "DELETE FROM process_interval WHERE interval_id = ?1 AND pid NOT IN "
		 "(SELECT pid FROM process_interval WHERE interval_id = ?1 "
		 "ORDER BY stall_ns DESC, rchar_bytes DESC, pid LIMIT ?2)",
		 NULL},
	[S_MARK] = {REPLACE, "mark", "job_id, number, at_ns, text, read_on_ns, cpu_ns, late_ns, *"},
};

struct columns {
	struct {
		const char *name;
		int len;
	} of[C_NR + 32];
	int nr;
	int fixed; /* those before the '|' */
};

static void add_column(struct columns *c, const char *name, size_t len)
{
	c->of[c->nr].name = name;
	c->of[c->nr++].len = (int)len;
}

static void split_columns(const char *list, struct columns *ret_columns)
{
	*ret_columns = (struct columns){.nr = 0};
	while (*list && *list != '*') {
		size_t len = strcspn(list, ",|");

		add_column(ret_columns, list, len);
		list += len;
		if (*list == '|')
			ret_columns->fixed = ret_columns->nr;
		list += strspn(list, ",| ");
	}
	for (enum counter i = 0; *list && i < C_NR; i++)
		add_column(ret_columns, counter_name(i), strlen(counter_name(i)));
}

/* Writes the columns that begin at index first, each with its name in the three %.*s of format. */
static void put_columns(sqlite3_str *s, const struct columns *c, int first, const char *format)
{
	for (int i = first; i < c->nr; i++) {
		int len = c->of[i].len;
		const char *name = c->of[i].name;

		sqlite3_str_appendall(s, i > first ? ", " : "");
		sqlite3_str_appendf(s, format, len, name, len, name, len, name);
	}
}

static void put_insert(sqlite3_str *s, const char *verb, const char *table, const struct columns *c)
{
	sqlite3_str_appendf(s, "%s INTO %s (", verb, table);
	put_columns(s, c, 0, "%.*s");
	sqlite3_str_appendall(s, ") VALUES (");
	for (int i = 0; i < c->nr; i++)
		sqlite3_str_appendall(s, i ? ", ?" : "?");
	sqlite3_str_appendall(s, ")");
}

static void put_upsert(sqlite3_str *s, const char *table, const struct columns *c)
{
	put_insert(s, "INSERT", table, c);
	sqlite3_str_appendf(s, " ON CONFLICT (%.*s) DO UPDATE SET ", c->of[0].len, c->of[0].name);
	put_columns(s, c, c->fixed, "%.*s = excluded.%.*s");
}

static void put_update(sqlite3_str *s, const char *table, const struct columns *c)
{
	sqlite3_str_appendf(s, "UPDATE %s SET ", table);
	for (int i = c->fixed; i < c->nr; i++)
		sqlite3_str_appendf(s, "%s%.*s = ?%d", i > c->fixed ? ", " : "", c->of[i].len,
				    c->of[i].name, i + 1);
	sqlite3_str_appendall(s, " WHERE id = ?1");
}

/* A sum with an unmeasured part is unmeasured: NULL + x is NULL. */
static void put_add_rows(sqlite3_str *s, const char *table, const struct columns *c)
{
	sqlite3_str_appendf(s, "INSERT INTO %s (interval_id, ", table);
	put_columns(s, c, 0, "%.*s");
	sqlite3_str_appendall(s, ") SELECT ?1, ");
	put_columns(s, c, 0, "%.*s");
	sqlite3_str_appendf(s,
			    " FROM %s WHERE interval_id = ?2 ON CONFLICT (interval_id, %.*s) "
			    "DO UPDATE SET ",
			    table, c->of[0].len, c->of[0].name);
	put_columns(s, c, c->fixed, "%.*s = %.*s + excluded.%.*s");
}

int statement_prepare(struct store_file *f, enum statement i)
{
	sqlite3_str *s = sqlite3_str_new(f->db);
	const char *table = sources[i].table;
	struct columns c = {0};
	char *sql;
	int rc;

	if (sources[i].columns)
		split_columns(sources[i].columns, &c);
	switch (sources[i].shape) {
	case PLAIN:
		sqlite3_str_appendall(s, table);
		break;
	case INSERT:
		put_insert(s, "INSERT", table, &c);
		break;
	case REPLACE:
		put_insert(s, "INSERT OR REPLACE", table, &c);
		break;
	case IGNORE:
		put_insert(s, "INSERT OR IGNORE", table, &c);
		break;
	case UPSERT:
		put_upsert(s, table, &c);
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
		rc = sqlite3_prepare_v3(f->db, sql, -1, SQLITE_PREPARE_PERSISTENT,
					&f->statements[i], NULL);
	sqlite3_free(sql);
	return rc;
}

int statements_prepare(struct store_file *f)
{
	int rc = SQLITE_OK;

	for (int i = 0; i < S_NR && rc == SQLITE_OK; i++)
		if (!f->statements[i])
			rc = statement_prepare(f, i);
	return rc;
}

void statements_finalize(struct store_file *f)
{
	for (int i = 0; i < S_NR; i++) {
		sqlite3_finalize(f->statements[i]);
		f->statements[i] = NULL;
	}
}

struct binder bind_first(struct store *st, enum statement s)
{
	return (struct binder){.st = st, .stmt = st->file->statements[s], .column = 1};
}

/* Binds nothing after a failure, because a successful call would erase the error message. */
static bool bind_goes_on(const struct binder *b)
{
	return b->st->rc == SQLITE_OK;
}

static void bind_next(struct binder *b, int rc)
{
	b->st->rc = rc;
	b->column++;
}

static void bind_null(struct binder *b)
{
	if (bind_goes_on(b))
		bind_next(b, sqlite3_bind_null(b->stmt, b->column));
}

void bind_int(struct binder *b, int64_t v)
{
	if (bind_goes_on(b))
		bind_next(b, sqlite3_bind_int64(b->stmt, b->column, v));
}

void bind_known(struct binder *b, bool known, int64_t v)
{
	if (known)
		bind_int(b, v);
	else
		bind_null(b);
}

void bind_count(struct binder *b, int64_t v)
{
	bind_known(b, v >= 0, v);
}

void bind_real(struct binder *b, double v)
{
	if (v < 0)
		bind_null(b);
	else if (bind_goes_on(b))
		bind_next(b, sqlite3_bind_double(b->stmt, b->column, v));
}

/* Borrowed until bind_run(). */
void bind_text(struct binder *b, const char *text)
{
	if (bind_goes_on(b))
		bind_next(b, sqlite3_bind_text(b->stmt, b->column, text, -1, SQLITE_STATIC));
}

void bind_bytes(struct binder *b, const char *bytes)
{
	int len = bytes ? (int)strlen(bytes) : 0;

	if (bind_goes_on(b))
		bind_next(b, sqlite3_bind_blob(b->stmt, b->column, bytes, len, SQLITE_STATIC));
}

void bind_blob(struct binder *b, const void *data, size_t len)
{
	if (bind_goes_on(b))
		bind_next(b, sqlite3_bind_blob64(b->stmt, b->column, data, len, SQLITE_STATIC));
}

void bind_counters(struct binder *b, const struct counters *c, const bool *measured)
{
	for (int i = 0; i < C_NR; i++)
		bind_known(b, measured[i], c->c[i]);
}

bool bind_run(struct binder *b)
{
	int rc;

	if (b->st->rc != SQLITE_OK)
		return false;
	rc = sqlite3_step(b->stmt);
	/* sqlite3_reset() repeats the error of the step. */
	sqlite3_reset(b->stmt);
	if (rc != SQLITE_DONE && rc != SQLITE_ROW)
		b->st->rc = rc;
	return b->st->rc == SQLITE_OK;
}
