/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/pattern/pattern_file.h"

#include <errno.h>
#include <stdlib.h>

/* Of a job; the same bound as the views have. */
enum { ROWS_MAX = 8192 };

/* In this order in every SELECT here. */
#define COUNTERS                                                                                   \
	"lookups, misses, read_calls, read_bytes, direct_read_bytes, demand_pages, "               \
	"prefetched_sync, prefetched_async, prefetched_willneed, prefetched_readahead2, "          \
	"prefetched_mmap_around, windows_sync, windows_async, windows_forced, faults_major, "      \
	"faults_minor, written_pages"

enum {
	LOOKUPS,
	MISSES,
	READ_CALLS,
	READ_BYTES,
	DIRECT_BYTES,
	DEMAND,
	SYNC,
	ASYNC,
	WILLNEED,
	READAHEAD2,
	AROUND,
	WINDOWS_SYNC,
	WINDOWS_ASYNC,
	WINDOWS_FORCED,
	MAJOR,
	MINOR,
	WRITTEN,
	NR_COUNTERS,
};

struct row {
	double c[NR_COUNTERS];
	bool known[NR_COUNTERS];
};

static struct row read_counters(sqlite3_stmt *stmt, int first)
{
	struct row r;

	for (int i = 0; i < NR_COUNTERS; i++) {
		r.known[i] = sqlite3_column_type(stmt, first + i) == SQLITE_INTEGER;
		r.c[i] = r.known[i] ? (double)sqlite3_column_int64(stmt, first + i) : 0;
	}
	return r;
}

/* Pages that reads asked for; where nobody saw reads, those they brought in. */
static double read_pages(const struct row *r)
{
	return r->known[LOOKUPS] ? r->c[LOOKUPS] : r->c[MISSES] + r->c[SYNC] + r->c[ASYNC];
}

/* At least so many pages that a mapping brought in or touched. */
static double mapped_pages(const struct row *r)
{
	double by_faults = r->c[DEMAND] > r->c[MISSES] ? r->c[DEMAND] - r->c[MISSES] : 0;

	return r->c[AROUND] + (r->c[MAJOR] > by_faults ? r->c[MAJOR] : by_faults) + r->c[MINOR];
}

static void put_features(const struct row *r, double size_pages, struct features *f)
{
	double ahead = r->c[SYNC] + r->c[ASYNC];
	double windows = r->c[WINDOWS_SYNC] + r->c[WINDOWS_ASYNC] + r->c[WINDOWS_FORCED];
	double touched = mapped_pages(r);

	if (r->known[READ_CALLS] && r->known[READ_BYTES])
		features_set_ratio(f, F_bytes_per_call, r->c[READ_BYTES], r->c[READ_CALLS]);
	if (r->known[LOOKUPS] && r->c[LOOKUPS] > 0)
		features_set_ratio(f, F_lookups_per_page, r->c[LOOKUPS], size_pages);
	if (r->known[MAJOR])
		features_set_ratio(f, F_fault_share, touched, touched + read_pages(r));
	if (r->known[DIRECT_BYTES] && r->known[READ_BYTES])
		features_set_ratio(f, F_direct_share, r->c[DIRECT_BYTES],
				   r->c[DIRECT_BYTES] + r->c[READ_BYTES]);
	if (r->known[DEMAND] && r->known[SYNC])
		features_set_ratio(f, F_prefetch_coverage, ahead, ahead + r->c[DEMAND]);
	if (r->known[WINDOWS_SYNC])
		features_set_ratio(f, F_async_share, r->c[WINDOWS_ASYNC], windows);
	if (r->known[WRITTEN])
		features_set_ratio(f, F_write_share, r->c[WRITTEN],
				   r->c[WRITTEN] + ahead + r->c[DEMAND]);
}

static double weight_of_row(const struct row *r, double page_bytes)
{
	return read_pages(r) + mapped_pages(r) + r->c[DIRECT_BYTES] / page_bytes;
}

static int compare_files(const void *a, const void *b)
{
	const struct pattern_file *x = a;
	const struct pattern_file *y = b;

	if (x->dev_major != y->dev_major)
		return x->dev_major < y->dev_major ? -1 : 1;
	if (x->dev_minor != y->dev_minor)
		return x->dev_minor < y->dev_minor ? -1 : 1;
	if (x->ino != y->ino)
		return x->ino < y->ino ? -1 : 1;
	return x->gen < y->gen ? -1 : x->gen > y->gen;
}

struct pattern_file *pattern_file_find(const struct pattern_job *job, int64_t dev_major,
				       int64_t dev_minor, int64_t ino, int64_t gen)
{
	struct pattern_file key = {
		.dev_major = dev_major, .dev_minor = dev_minor, .ino = ino, .gen = gen};

	if (!job->nr_files)
		return NULL;
	return bsearch(&key, job->files, job->nr_files, sizeof(key), compare_files);
}

static int compare_directories(const void *a, const void *b)
{
	const struct pattern_directory *x = a;
	const struct pattern_directory *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

struct pattern_directory *pattern_directory_find(const struct pattern_job *job, int64_t id)
{
	struct pattern_directory key = {.id = id};

	if (!job->nr_directories)
		return NULL;
	return bsearch(&key, job->directories, job->nr_directories, sizeof(key),
		       compare_directories);
}

static void read_file_row(sqlite3_stmt *stmt, double page_bytes, struct pattern_file *file)
{
	struct row r = read_counters(stmt, 7);

	file->id = sqlite3_column_int64(stmt, 0);
	file->directory_id = sqlite3_column_int64(stmt, 1);
	file->dev_major = sqlite3_column_int64(stmt, 2);
	file->dev_minor = sqlite3_column_int64(stmt, 3);
	file->ino = sqlite3_column_int64(stmt, 4);
	file->gen = sqlite3_column_int64(stmt, 5);
	file->size_bytes =
		sqlite3_column_type(stmt, 6) == SQLITE_INTEGER ? sqlite3_column_int64(stmt, 6) : -1;
	file->weight = weight_of_row(&r, page_bytes);
	put_features(&r, file->size_bytes > 0 ? (double)file->size_bytes / page_bytes : 0,
		     &file->f);
}

/* What is known of its files is filled in when all files are. */
static void read_directory(sqlite3_stmt *stmt, struct pattern_directory *d)
{
	struct row r = read_counters(stmt, 2);

	d->id = sqlite3_column_int64(stmt, 0);
	put_features(&r, 0, &d->f);
	if (sqlite3_column_type(stmt, 1) == SQLITE_INTEGER)
		features_set(&d->f, F_files, (double)sqlite3_column_int64(stmt, 1));
}

/* The mean size of the files that have a row. */
static int put_mean_sizes(struct pattern_job *job)
{
	double *sum = calloc(2 * job->nr_directories + 1, sizeof(*sum));

	if (!sum)
		return -ENOMEM;
	for (size_t i = 0; i < job->nr_files; i++) {
		const struct pattern_file *file = &job->files[i];
		const struct pattern_directory *d = pattern_directory_find(job, file->directory_id);
		size_t at = d ? (size_t)(d - job->directories) : 0;

		if (!d || file->size_bytes < 0)
			continue;
		sum[2 * at] += (double)file->size_bytes / job->page_bytes;
		sum[2 * at + 1]++;
	}
	for (size_t d = 0; d < job->nr_directories; d++)
		features_set_ratio(&job->directories[d].f, F_pages_per_file, sum[2 * d],
				   sum[2 * d + 1]);
	free(sum);
	return 0;
}

static int read_rows(sqlite3 *db, const char *sql, struct pattern_job *job, bool files,
		     struct errtext *err)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(stmt, 1, job->id);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int(stmt, 2, ROWS_MAX);
	while (rc == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW) {
		if (files)
			read_file_row(stmt, job->page_bytes, &job->files[job->nr_files++]);
		else
			read_directory(stmt, &job->directories[job->nr_directories++]);
	}
	if (sqlite3_finalize(stmt) != SQLITE_OK || rc != SQLITE_OK)
		return pattern_error(db, files ? "files" : "directories", err);
	return 0;
}

int pattern_counters(sqlite3 *db, struct pattern_job *job, struct errtext *err)
{
	int ret;

	job->files = calloc(ROWS_MAX, sizeof(*job->files));
	job->directories = calloc(ROWS_MAX, sizeof(*job->directories));
	if (!job->files || !job->directories)
		return errtext_set(err, -ENOMEM, "not enough memory for patterns");
	ret = read_rows(
		db,
		"SELECT id, directory_id, dev_major, dev_minor, ino, gen, size_bytes, " COUNTERS
		" FROM file WHERE id IN (SELECT id FROM file WHERE job_id = ?1 ORDER BY misses "
		"DESC, lookups DESC, id LIMIT ?2)",
		job, true, err);
	if (!ret)
		ret = read_rows(
			db,
			"SELECT id, files, " COUNTERS " FROM directory WHERE id IN (SELECT id "
			"FROM directory WHERE job_id = ?1 ORDER BY misses DESC, lookups DESC, "
			"id LIMIT ?2) ORDER BY id",
			job, false, err);
	if (ret)
		return ret;
	qsort(job->files, job->nr_files, sizeof(*job->files), compare_files);
	return put_mean_sizes(job);
}
