/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/analysis/fill.h"

#include "advisor/analysis/verdict.h"
#include "cachemon/figures/counters.h"

/*
 * In a sliced run, the fate of an untracked page is unknown: known fates are those of the slices.
 */
#define ADVICE_USED "iif(r.sliced AND x.untracked > 0, NULL, x.used)"
#define FILE_USED   "iif(r.sliced AND f.untracked > 0, NULL, f.used)"

/* From the file's row; object-like, so that clang-format keeps the queries in one piece. */
#define BROUGHT	       SQL_brought_pages("f.")
#define READ_WINDOWS   SQL_read_windows("f.")
#define BYTES_PER_CALL SQL_bytes_per_call("f.")
#define RECLAIMED      SQL_evicted_reclaim("f.")

#define SAME_FILE(y)                                                                               \
	y ".job_id = x.job_id AND " y ".dev_major = x.dev_major AND " y                            \
	  ".dev_minor = x.dev_minor AND " y ".ino = x.ino AND " y ".gen = x.gen"
#define FILE_OF_ADVICE SAME_FILE("f")
#define OTHERS_OF_FILE SAME_FILE("o")

/* Each piece of advice of the watched jobs, joined with the row of its file if there is one. */
#define FROM_ADVICE                                                                                \
	" FROM analysis_scope a JOIN run r ON r.id = a.run_id "                                    \
	"JOIN job j ON j.run_id = r.id AND j.slot <> 0 JOIN advice x ON x.job_id = j.id "          \
	"LEFT JOIN file f ON " FILE_OF_ADVICE " "

/*
 * Dropped pages that were written again came back too, but were not read. So the count is limited
 * to what the file fetched, if its row is complete.
 */
static const char moving_query[] =
	"SELECT x.id, x.kind, x.pages_asked, x.pages_brought, x.pages_dropped, "
	"x.redundant_pages, " ADVICE_USED ", x.used_late, x.evicted_unused, "
	"min(x.dropped_refaults, "
	"coalesce(iif(f.folded_before, NULL, " BROUGHT "), x.dropped_refaults)), "
	"x.cached_pages, x.untracked, x.dropped_refaults_others" FROM_ADVICE
	"WHERE x.kind IN ('willneed', 'readahead', 'dontneed')";

/* From the file's own row, because windows and added pages are exact in a sliced run too. */
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

/* The columns after the id and the kind of a piece of advice. */
typedef enum verdict (*judge_fn)(struct rows *r, const char *kind, char why[VERDICT_WHY_MAX]);

static enum verdict judge_moving(struct rows *r, const char *kind, char why[VERDICT_WHY_MAX])
{
	struct verdict_input in = {.kind = verdict_kind_of(kind)};

	in.asked = rows_i64(r);
	in.brought = rows_i64(r);
	in.dropped = rows_i64(r);
	in.redundant = rows_i64(r);
	in.used = rows_i64(r);
	in.used_late = rows_i64(r);
	in.evicted_unused = rows_i64(r);
	in.dropped_refaults = rows_i64(r);
	in.cached = rows_i64(r);
	in.untracked = rows_value(r, 0);
	in.dropped_refaults_others = rows_i64(r);
	return verdict_of(&in, why);
}

static enum verdict judge_standing(struct rows *r, const char *kind, char why[VERDICT_WHY_MAX])
{
	struct verdict_standing in = {.kind = kind};

	in.mapping = rows_value(r, 0) != 0;
	in.has_file = rows_i64(r).known;
	in.pattern = rows_bytes(r).data;
	in.confidence = rows_f64(r);
	in.demand = rows_i64(r);
	in.prefetched = rows_i64(r);
	in.around = rows_i64(r);
	in.advised = rows_i64(r);
	in.windows_read_ahead = rows_i64(r);
	in.windows_forced = rows_i64(r);
	in.window_pages_max = rows_i64(r);
	in.read_ahead_pages = rows_i64(r);
	in.pages_per_call = rows_f64(r);
	in.used = rows_i64(r);
	in.used_late = rows_i64(r);
	in.evicted_unused = rows_i64(r);
	in.reclaimed = rows_i64(r);
	in.faults_major = rows_i64(r);
	in.others_standing = rows_i64(r);
	in.untracked = rows_value(r, 0);
	return verdict_of_standing(&in, why);
}

static int fill_from(sqlite3 *db, const char *query, judge_fn judge, struct errtext *err)
{
	struct fill_row f = fill_begin(db, "INSERT INTO temp.analysis_verdict VALUES (?1, ?2, ?3)");
	struct arena texts = {0};
	struct rows r;
	int e = f.rc == SQLITE_OK ? 0 : fill_error(db, "verdicts", err);

	if (e)
		return e;
	r = rows_begin(db, &texts, query, 0, NULL);
	while (!e && rows_next(&r)) {
		char why[VERDICT_WHY_MAX] = "";
		int64_t id = rows_value(&r, 0);
		const char *kind = rows_bytes(&r).data;

		/* Out of memory, or a damaged database: a kind is never NULL. */
		if (!kind) {
			r.damage = "a row of advice has no kind";
			break;
		}
		fill_integer(&f, id);
		fill_text(&f, verdict_name(judge(&r, kind, why)));
		fill_text(&f, why);
		e = fill_insert(&f) ? 0 : fill_error(db, "verdicts", err);
	}
	e = fill_finish(&r, e, "verdicts", err);
	fill_end(&f);
	arena_free(&texts);
	return e;
}

int fill_verdict(sqlite3 *db, struct errtext *err)
{
	int e = fill_from(db, moving_query, judge_moving, err);

	return e ? e : fill_from(db, standing_query, judge_standing, err);
}
