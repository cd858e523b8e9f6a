/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/analysis/fill.h"

#include <stddef.h>

#include "cachemon/figures/counters.h"
#include "advisor/analysis/verdict.h"

static struct opt_i64 integer_column(sqlite3_stmt *stmt, int i)
{
	struct opt_i64 v = {.known = sqlite3_column_type(stmt, i) == SQLITE_INTEGER};

	v.value = v.known ? sqlite3_column_int64(stmt, i) : 0;
	return v;
}

static struct opt_f64 real_column(sqlite3_stmt *stmt, int i)
{
	int type = sqlite3_column_type(stmt, i);
	struct opt_f64 v = {.known = type == SQLITE_INTEGER || type == SQLITE_FLOAT};

	v.value = v.known ? sqlite3_column_double(stmt, i) : 0;
	return v;
}

static int insert_verdict(sqlite3_stmt *stmt, int64_t id, enum verdict v, const char *why)
{
	sqlite3_reset(stmt);
	sqlite3_bind_int64(stmt, 1, id);
	sqlite3_bind_text(stmt, 2, verdict_name(v), -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 3, why, -1, SQLITE_TRANSIENT);
	return sqlite3_step(stmt);
}

static void read_moving(sqlite3_stmt *stmt, struct verdict_input *in)
{
	*in = (struct verdict_input){
		.kind = verdict_kind_of((const char *)sqlite3_column_text(stmt, 1)),
		.asked = integer_column(stmt, 2),
		.brought = integer_column(stmt, 3),
		.dropped = integer_column(stmt, 4),
		.redundant = integer_column(stmt, 5),
		.used = integer_column(stmt, 6),
		.used_late = integer_column(stmt, 7),
		.evicted_unused = integer_column(stmt, 8),
		.dropped_refaults = integer_column(stmt, 9),
		.cached = integer_column(stmt, 10),
		.untracked = sqlite3_column_int64(stmt, 11),
		.dropped_refaults_others = integer_column(stmt, 12),
	};
}

/*
 * In a sliced run a page that nobody followed was used, or not, while nobody looked: the fates that
 * were seen are those of the slices alone.
 */
#define ADVICE_USED "iif(r.sliced AND x.untracked > 0, NULL, x.used)"
#define FILE_USED   "iif(r.sliced AND f.untracked > 0, NULL, f.used)"

/* Of the file's row; object-like, so that clang-format keeps the queries in one piece. */
#define BROUGHT	       SQL_brought_pages("f.")
#define READ_WINDOWS   SQL_read_windows("f.")
#define BYTES_PER_CALL SQL_bytes_per_call("f.")
#define RECLAIMED      SQL_evicted_reclaim("f.")

#define SAME_FILE(y)                                                                               \
	y ".job_id = x.job_id AND " y ".dev_major = x.dev_major AND " y                            \
	  ".dev_minor = x.dev_minor AND " y ".ino = x.ino AND " y ".gen = x.gen"
#define FILE_OF_ADVICE SAME_FILE("f")
#define OTHERS_OF_FILE SAME_FILE("o")

/* Each piece of advice of the watched jobs, with the row of its file where it has one. */
#define FROM_ADVICE                                                                                \
	" FROM analysis_scope a JOIN run r ON r.id = a.run_id "                                    \
	"JOIN job j ON j.run_id = r.id AND j.slot <> 0 JOIN advice x ON x.job_id = j.id "          \
	"LEFT JOIN file f ON " FILE_OF_ADVICE " "

/*
 * Dropped pages that were written again came back too, and were not read: no more were than the
 * file had to fetch, where its row has all of it.
 */
static const char moving_query[] =
	"SELECT x.id, x.kind, x.pages_asked, x.pages_brought, x.pages_dropped, "
	"x.redundant_pages, " ADVICE_USED ", x.used_late, x.evicted_unused, "
	"min(x.dropped_refaults, "
	"coalesce(iif(f.folded_before, NULL, " BROUGHT "), x.dropped_refaults)), "
	"x.cached_pages, x.untracked, x.dropped_refaults_others" FROM_ADVICE
	"WHERE x.kind IN ('willneed', 'readahead', 'dontneed')";

/* The file's own row: windows and pages added are exact in a sliced run too. */
static const char standing_query[] =
	"SELECT x.id, x.kind, x.call = 'madvise', f.id, p.name, p.confidence, f.demand_pages, "
	"f.prefetched_sync + f.prefetched_async + f.prefetched_mmap_around, "
	"f.prefetched_mmap_around, f.prefetched_willneed + f.prefetched_readahead2, " READ_WINDOWS
	", f.windows_forced, v.window_pages_max, d.read_ahead_kb * 1024 / "
	"r.page_size_bytes, " BYTES_PER_CALL " / r.page_size_bytes, " FILE_USED
	", f.used_late, f.evicted_unused, " RECLAIMED ", f.faults_major, "
	"CASE r.advice_mode WHEN 'calls' THEN (SELECT count(*) FROM advice o WHERE " OTHERS_OF_FILE
	" AND o.kind IN ('random', 'sequential', 'noreuse')) END, f.untracked" FROM_ADVICE
	"LEFT JOIN v_file v ON v.file_id = f.id "
	"LEFT JOIN device d ON d.run_id = r.id AND d.dev_major = x.dev_major "
	"AND d.dev_minor = x.dev_minor "
	"LEFT JOIN analysis_pattern p ON p.job_id = x.job_id AND p.kind = 'file' "
	"AND p.subject_id = f.id WHERE x.kind NOT IN ('willneed', 'readahead', 'dontneed')";

static enum verdict judge_moving(sqlite3_stmt *row, char why[VERDICT_WHY_MAX])
{
	struct verdict_input in;

	read_moving(row, &in);
	return verdict_of(&in, why);
}

static enum verdict judge_standing(sqlite3_stmt *row, char why[VERDICT_WHY_MAX])
{
	struct verdict_standing in = {
		.kind = (const char *)sqlite3_column_text(row, 1),
		.mapping = sqlite3_column_int(row, 2) != 0,
		.has_file = integer_column(row, 3).known,
		.pattern = (const char *)sqlite3_column_text(row, 4),
		.confidence = real_column(row, 5),
		.demand = integer_column(row, 6),
		.prefetched = integer_column(row, 7),
		.around = integer_column(row, 8),
		.advised = integer_column(row, 9),
		.windows_read_ahead = integer_column(row, 10),
		.windows_forced = integer_column(row, 11),
		.window_pages_max = integer_column(row, 12),
		.read_ahead_pages = integer_column(row, 13),
		.pages_per_call = real_column(row, 14),
		.used = integer_column(row, 15),
		.used_late = integer_column(row, 16),
		.evicted_unused = integer_column(row, 17),
		.reclaimed = integer_column(row, 18),
		.faults_major = integer_column(row, 19),
		.others_standing = integer_column(row, 20),
		.untracked = sqlite3_column_int64(row, 21),
	};

	return verdict_of_standing(&in, why);
}

typedef enum verdict (*judge_fn)(sqlite3_stmt *row, char why[VERDICT_WHY_MAX]);

static int fill_all(sqlite3 *db, const char *query, judge_fn judge, sqlite3_stmt *to)
{
	sqlite3_stmt *from = NULL;
	int rc = sqlite3_prepare_v2(db, query, -1, &from, NULL);

	if (rc == SQLITE_OK)
		while ((rc = sqlite3_step(from)) == SQLITE_ROW) {
			char why[VERDICT_WHY_MAX] = "";
			enum verdict v = judge(from, why);

			rc = insert_verdict(to, sqlite3_column_int64(from, 0), v, why);
			if (rc != SQLITE_DONE)
				break;
		}
	sqlite3_finalize(from);
	return rc;
}

int fill_verdict(sqlite3 *db, struct errtext *err)
{
	sqlite3_stmt *to = NULL;
	int rc = sqlite3_prepare_v2(db, "INSERT INTO temp.analysis_verdict VALUES (?1, ?2, ?3)", -1,
				    &to, NULL);

	if (rc == SQLITE_OK)
		rc = fill_all(db, moving_query, judge_moving, to);
	if (rc == SQLITE_DONE)
		rc = fill_all(db, standing_query, judge_standing, to);
	sqlite3_finalize(to);
	return rc == SQLITE_DONE ? 0 : fill_error(db, "verdicts", err);
}
