/* SPDX-License-Identifier: BSD-2-Clause */
/* The rows of a moment: files, the directories that they are in, or the jobs of all runs. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/model/bounds.h"
#include "cachemon/model/model_load.h"
#include "cachemon/model/model_rows.h"
#include "cachemon/top/moment.h"

/* Limits per interval; the store keeps 256 files and 64 directories. */
enum { ROWS_MAX = 4096 };

/* The id of a file without a directory; 0 is the rest. */
enum { UNKNOWN = -2 };

struct file_set {
	struct top_row *rows;
	int64_t *directories; /* directory of each row; 0: not known */
	size_t nr, room;
};

static int by_id(const void *a, const void *b)
{
	const struct top_row *x = a;
	const struct top_row *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

/* Merges rows with the same id. */
static size_t fold_rows(struct top_row *rows, size_t nr)
{
	size_t kept = 0;

	qsort(rows, nr, sizeof(*rows), by_id);
	for (size_t i = 0; i < nr; i++) {
		struct top_row *last = kept ? &rows[kept - 1] : NULL;

		if (last && last->id == rows[i].id) {
			counts_add(&last->counts, &rows[i].counts);
			last->rchar_bytes = opt_add(last->rchar_bytes, rows[i].rchar_bytes);
			last->syscr_calls = opt_add(last->syscr_calls, rows[i].syscr_calls);
		} else {
			if (kept != i)
				rows[kept] = rows[i];
			kept++;
		}
	}
	return kept;
}

static struct top_row *find_row(struct top_row *rows, size_t nr, int64_t id)
{
	struct top_row key = {.id = id};

	return bsearch(&key, rows, nr, sizeof(*rows), by_id);
}

static size_t count_rows(sqlite3 *db, const struct top_moment *m, const char *sql)
{
	size_t nr = 0;

	for (size_t i = 0; i < m->nr_window; i++) {
		size_t n = rows_total(db, sql, m->history[i].id);

		nr += n < ROWS_MAX ? n : ROWS_MAX;
	}
	return nr;
}

struct source {
	const char *id, *from, *count;
};

static const struct source of_files = {
	"SELECT file_id",
	"FROM file_interval WHERE interval_id = ?1",
	"SELECT count(*) FROM file_interval WHERE interval_id = ?1",
};

static const struct source of_directories = {
	"SELECT directory_id",
	"FROM directory_interval WHERE interval_id = ?1",
	"SELECT count(*) FROM directory_interval WHERE interval_id = ?1",
};

static int load_counts(sqlite3 *db, struct top_moment *m, const struct source *source,
		       struct file_set *set, struct errtext *err)
{
	char *sql = model_rows_sql(source->id, source->from);
	int ret = 0;

	set->room = count_rows(db, m, source->count);
	set->rows = arena_alloc(&m->arena, set->room * sizeof(*set->rows));
	set->directories = arena_alloc(&m->arena, set->room * sizeof(*set->directories));
	for (size_t i = 0; set->rows && set->directories && i < m->nr_window && !ret; i++) {
		struct rows r = rows_begin(db, &m->arena, sql, 1, &m->history[i].id);

		for (int n = 0; n < ROWS_MAX && rows_next_of(&r, set->nr, set->room); n++) {
			struct top_row *row = &set->rows[set->nr++];
			struct counts c;

			row->id = rows_value(&r, 0);
			row->counts = top_counts_none();
			model_rows_counts(&r, &c);
			top_counts_take(m, &m->history[i], &row->counts, &c);
		}
		ret = model_rows_end(&r, err);
	}
	free(sql);
	if (!set->rows || !set->directories)
		return model_no_memory(err);
	set->nr = fold_rows(set->rows, set->nr);
	return ret;
}

/* "[no name, inode 12 on device 8:1]", if no name was seen. */
static const char *describe_nameless(struct arena *a, int64_t ino, int64_t major, int64_t minor)
{
	return arena_print(a, "[no name, inode %" PRIu64 " on device %" PRId64 ":%" PRId64 "]",
			   (uint64_t)ino, major, minor);
}

static int load_file_names(sqlite3 *db, struct top_moment *m, struct file_set *set,
			   struct errtext *err)
{
	int ret = 0;

	for (size_t i = 0; i < set->nr; i++)
		set->rows[i].lead = "[file no longer listed]";
	for (size_t i = 0; i < m->nr_window && !ret; i++) {
		struct rows r = rows_begin(
			db, &m->arena,
			"SELECT id, directory_id, path, deleted, ino, dev_major, dev_minor FROM "
			"file "
			"WHERE id IN (SELECT file_id FROM file_interval WHERE interval_id = ?1)",
			1, &m->history[i].id);

		while (rows_next(&r)) {
			struct top_row *row = find_row(set->rows, set->nr, rows_value(&r, 0));
			int64_t directory = rows_value(&r, 0), ino, major;

			if (!row)
				continue;
			set->directories[row - set->rows] = directory;
			row->name = rows_bytes(&r);
			row->lead = rows_value(&r, 0) == 1 ? "[deleted] " : "";
			ino = rows_value(&r, 0);
			major = rows_value(&r, 0);
			if (!row->name.data)
				row->lead =
					describe_nameless(&m->arena, ino, major, rows_value(&r, 0));
		}
		ret = model_rows_end(&r, err);
	}
	return ret;
}

static int name_directories(sqlite3 *db, struct top_moment *m, struct file_set *set,
			    struct errtext *err)
{
	int ret = 0;

	for (size_t i = 0; i < set->nr && !ret; i++) {
		struct top_row *row = &set->rows[i];
		struct rows r = rows_begin(db, &m->arena,
					   "SELECT path FROM directory WHERE id = ?1", 1, &row->id);

		row->lead = row->id == UNKNOWN ? "[unknown directory]" : "[no name]";
		if (rows_next(&r)) {
			row->name = rows_bytes(&r);
			row->lead = row->name.data ? "" : "[files without a name]";
		}
		ret = model_rows_end(&r, err);
	}
	return ret;
}

/* For runs without sums of directories: the sums of files that have rows. */
static void sum_files(struct file_set *set)
{
	for (size_t i = 0; i < set->nr; i++) {
		set->rows[i].id = set->directories[i] ? set->directories[i] : UNKNOWN;
		set->rows[i].name = (struct bytes){0};
	}
	set->nr = fold_rows(set->rows, set->nr);
}

/* To reduce overhead, intervals may have no rows of files. */
static bool file_rows_given_up(const struct top_moment *m)
{
	const struct model_run *run = &m->model.run;

	for (size_t i = 0; i < run->nr_shed; i++)
		if (bytes_is(&run->shed[i].detail, "file_rows"))
			return true;
	return false;
}

/* The job's counts in files or directories without a row; false: all have one. */
static bool make_rest(const struct top_moment *m, const struct file_set *set, const char *name,
		      struct top_row *ret)
{
	*ret = (struct top_row){.lead = name, .last = true};
	ret->counts = m->jobs[0].counts;
	for (size_t i = 0; i < set->nr; i++)
		counts_subtract(&ret->counts, &set->rows[i].counts);
	return counts_any(&ret->counts);
}

/* The files of a directory without a row of their own: its sum without the others. No name: there
 * are none, or the directory has no row. */
static int make_directory_rest(sqlite3 *db, struct top_moment *m, const struct file_set *files,
			       int64_t directory, struct top_row *ret_rest, struct errtext *err)
{
	struct file_set sums = {0};
	struct top_row *sum;
	const char *name;
	int ret = load_counts(db, m, &of_directories, &sums, err);

	*ret_rest = (struct top_row){.lead = "", .last = true};
	sum = ret ? NULL : find_row(sums.rows, sums.nr, directory);
	if (!sum)
		return ret;
	ret = name_directories(db, m, &(struct file_set){.rows = sum, .nr = 1}, err);
	for (size_t i = 0; i < files->nr; i++)
		if (files->directories[i] == directory)
			counts_subtract(&sum->counts, &files->rows[i].counts);
	if (ret || !sum->name.data || !counts_any(&sum->counts))
		return ret;
	/* The view shortens a long name at its beginning. */
	name = arena_print(&m->arena, "%.*s/[all other files]", (int)sum->name.len, sum->name.data);
	if (!name)
		return model_no_memory(err);
	ret_rest->name = (struct bytes){name, strlen(name)};
	ret_rest->counts = sum->counts;
	top_counts_finish(m, &ret_rest->counts, bounds_of_row(&m->model.run));
	return 0;
}

static int load_set(sqlite3 *db, struct top_moment *m, bool exact, struct file_set *set,
		    struct errtext *err)
{
	int ret = load_counts(db, m, exact ? &of_directories : &of_files, set, err);

	if (!ret && !exact)
		ret = load_file_names(db, m, set, err);
	return ret;
}

static const char *rest_name(const struct top_moment *m, const struct file_set *set, bool exact)
{
	if (exact)
		return "[all other directories]";
	return !set->nr && file_rows_given_up(m) ? "[rows not recorded]" : "[all other files]";
}

int top_rows_load(sqlite3 *db, enum top_level level, int64_t directory, struct top_moment *m,
		  struct top_row **ret_rows, size_t *ret_nr, struct errtext *err)
{
	bool exact = level == TOP_DIRECTORIES && m->has_directories;
	struct file_set set = {0};
	unsigned int bounds = bounds_of_row(&m->model.run);
	struct top_row rest = {0}, inside = {0}, *rows;
	bool has_rest;
	int ret = load_set(db, m, exact, &set, err);

	if (ret || !m->nr_jobs)
		return ret;
	has_rest = make_rest(m, &set, rest_name(m, &set, exact), &rest);
	if (level == TOP_DIRECTORIES && !exact) {
		sum_files(&set);
		/* Some of the other files may be in these directories. */
		bounds |= has_rest ? BOUND_ROW : 0;
	}
	if (level == TOP_DIRECTORIES)
		ret = name_directories(db, m, &set, err);
	else if (directory && m->has_directories)
		ret = make_directory_rest(db, m, &set, directory, &inside, err);
	rows = arena_alloc(&m->arena, (set.nr + 2) * sizeof(*rows));
	if (!rows || ret)
		return ret ? ret : model_no_memory(err);
	if (set.nr)
		memcpy(rows, set.rows, set.nr * sizeof(*rows));
	for (size_t i = 0; i < set.nr; i++)
		top_counts_finish(m, &rows[i].counts, bounds);
	if (inside.name.data)
		rows[set.nr++] = inside;
	if (has_rest) {
		top_counts_finish(m, &rest.counts, bounds_of_totals(&m->model.run));
		rows[set.nr++] = rest;
	}
	*ret_rows = rows;
	*ret_nr = set.nr;
	return 0;
}

/* The waits of a process; no other counter of it is known. */
static struct counts waits(struct opt_i64 stall_ns, struct opt_i64 stalls)
{
	struct counts c = {0};

	c.c[C_stall_ns] = stall_ns.value;
	c.c[C_stalls] = stalls.value;
	c.known[C_stall_ns] = stall_ns.known;
	c.known[C_stalls] = stalls.known;
	return c;
}

static int take_processes(sqlite3 *db, struct top_moment *m, struct file_set *set,
			  struct errtext *err)
{
	/* Older databases have no reads of processes. */
	const char *sql = model_has(db, "process_interval", "rchar_bytes")
				  ? "SELECT pid, CAST(pid || ' ' || coalesce(command, '') AS "
				    "BLOB), stall_ns, stalls, rchar_bytes, syscr_calls "
				    "FROM process_interval WHERE interval_id = ?1"
				  : "SELECT pid, CAST(pid || ' ' || coalesce(command, '') AS "
				    "BLOB), stall_ns, stalls, NULL, NULL "
				    "FROM process_interval WHERE interval_id = ?1";
	bool waits_known = counts_get(&m->jobs[0].counts, C_stall_ns).known;
	int ret = 0;

	for (size_t i = 0; i < m->nr_window && !ret; i++) {
		struct rows r = rows_begin(db, &m->arena, sql, 1, &m->history[i].id);

		for (int n = 0; n < ROWS_MAX && rows_next_of(&r, set->nr, set->room); n++) {
			struct top_row *row = &set->rows[set->nr++];
			struct opt_i64 stall_ns, stalls;

			*row = (struct top_row){
				.id = rows_value(&r, 0), .lead = "", .process = true};
			row->name = rows_bytes(&r);
			stall_ns = rows_i64(&r);
			stalls = rows_i64(&r);
			/* Before schema 23, waits that were not measured are 0. */
			stall_ns.known = stalls.known = stall_ns.known && waits_known;
			row->counts = waits(stall_ns, stalls);
			row->rchar_bytes = rows_i64(&r);
			row->syscr_calls = rows_i64(&r);
			/* 0 is the rest. */
			row->id = row->id ? row->id : UNKNOWN;
		}
		ret = model_rows_end(&r, err);
	}
	set->nr = fold_rows(set->rows, set->nr);
	return ret;
}

/* The part of the job's waiting that is in no row; false: zero, or unknown. */
static bool make_other_processes(const struct top_moment *m, const struct file_set *set,
				 struct top_row *ret)
{
	struct opt_i64 ns = counts_get(&m->jobs[0].counts, C_stall_ns);
	struct opt_i64 stalls = counts_get(&m->jobs[0].counts, C_stalls);

	for (size_t i = 0; i < set->nr; i++) {
		ns.value -= set->rows[i].counts.c[C_stall_ns];
		stalls.value -= set->rows[i].counts.c[C_stalls];
	}
	*ret = (struct top_row){.lead = set->nr ? "[all other processes]" : "[not recorded]",
				.last = true,
				.process = true, /* what others read is not known */
				.counts = waits(ns, stalls)};
	return ns.known && stalls.known && (ns.value > 0 || stalls.value > 0);
}

int top_processes_load(sqlite3 *db, struct top_moment *m, struct top_row **ret_rows, size_t *ret_nr,
		       struct errtext *err)
{
	struct file_set set = {0};
	struct top_row rest;
	int ret = 0;

	if (!m->nr_jobs)
		return 0;
	if (model_has(db, "process_interval", "pid"))
		set.room = count_rows(
			db, m, "SELECT count(*) FROM process_interval WHERE interval_id = ?1");
	set.rows = arena_alloc(&m->arena, (set.room + 1) * sizeof(*set.rows));
	if (!set.rows)
		return model_no_memory(err);
	if (set.room)
		ret = take_processes(db, m, &set, err);
	if (make_other_processes(m, &set, &rest))
		set.rows[set.nr++] = rest;
	for (size_t i = 0; i < set.nr; i++)
		top_counts_finish(m, &set.rows[i].counts, bounds_of_row(&m->model.run));
	*ret_rows = set.rows;
	*ret_nr = set.nr;
	return ret;
}

/* The jobs of the runs of a database, each over its whole run. Only the newest runs, which
 * limits the cost of a refresh. */
static int64_t first_run(sqlite3 *db, struct arena *a)
{
	const int64_t most = TOP_RUNS_MAX;
	struct rows r = rows_begin(
		db, a, "SELECT min(id) FROM (SELECT id FROM run ORDER BY id DESC LIMIT ?1)", 1,
		&most);
	int64_t id = rows_next(&r) ? rows_value(&r, 0) : 0;

	rows_finish(&r);
	return id;
}

static const char *lead_of(struct arena *a, const struct model_run *run, bool recorded)
{
	return arena_print(a, "run %" PRId64 "%s: ", run->id, recorded ? ", live" : "");
}

int top_runs_load(sqlite3 *db, struct top_moment *m, struct errtext *err)
{
	struct model_run *runs = NULL;
	struct model_job *jobs = NULL;
	size_t nr_runs = 0, nr = 0, *run_of = NULL;
	int ret = model_all_runs(db, &m->arena, first_run(db, &m->arena), false, &runs, &nr_runs,
				 err);

	if (!ret)
		ret = model_all_jobs(db, &m->arena, false, runs, nr_runs, &jobs, &run_of, &nr, err);
	if (ret)
		return ret;
	m->rows = arena_alloc(&m->arena, (nr + 1) * sizeof(*m->rows));
	if (!m->rows)
		return model_no_memory(err);
	for (size_t i = 0; i < nr; i++) {
		const struct model_run *run = &runs[run_of[i]];
		bool recorded = bytes_is(&run->state, "open");

		m->rows[m->nr_rows++] = (struct top_row){
			.id = jobs[i].id,
			.name = jobs[i].name,
			.lead = lead_of(&m->arena, run, recorded),
			.first = recorded,
			.run_id = run->id,
			.duration_ns = run->duration_ns.value,
			.page_size_bytes = run->page_size_bytes.value,
			.counts = jobs[i].counts,
			.cpu_ns = jobs[i].cpu_ns,
		};
	}
	return m->arena.failed ? model_no_memory(err) : 0;
}
