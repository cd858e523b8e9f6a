/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/pattern/pattern_file.h"

#include <errno.h>
#include <stdlib.h>

#include "cachemon/base/order.h"
#include "cachemon/db/db_rows.h"
#include "cachemon/figures/counters.h"

/* Largest number per job; the views have the same limit. */
enum { ROWS_MAX = 8192 };

/* The counters to read, and their columns in a SELECT. */
#define COUNTERS(X)                                                                                \
	X(lookups)                                                                                 \
	X(misses)                                                                                  \
	X(read_calls)                                                                              \
	X(read_bytes)                                                                              \
	X(direct_read_bytes)                                                                       \
	X(demand_pages)                                                                            \
	X(prefetched_sync)                                                                         \
	X(prefetched_async)                                                                        \
	X(prefetched_mmap_around)                                                                  \
	X(windows_sync)                                                                            \
	X(windows_async)                                                                           \
	X(windows_forced)                                                                          \
	X(faults_major)                                                                            \
	X(faults_minor)                                                                            \
	X(written_pages)

#define AS_COLUMN(name) ", " #name
#define COLUMNS		COUNTERS(AS_COLUMN)
#define AS_NUMBER(name) C_##name,

struct row {
	double c[C_NR];
	bool known[C_NR];
};

static struct row read_counters(struct rows *r)
{
	static const enum counter counters[] = {COUNTERS(AS_NUMBER)};
	struct row row = {0};

	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		struct opt_i64 v = rows_i64(r);

		row.known[counters[i]] = v.known;
		row.c[counters[i]] = (double)v.value;
	}
	return row;
}

/* Pages that reads asked for; if reads were not measured, the pages that they brought in. */
static double read_pages(const struct row *r)
{
	return r->known[C_lookups]
		       ? r->c[C_lookups]
		       : r->c[C_misses] + r->c[C_prefetched_sync] + r->c[C_prefetched_async];
}

/* A lower bound of the pages that a mapping brought in or touched. */
static double mapped_pages(const struct row *r)
{
	double by_faults =
		r->c[C_demand_pages] > r->c[C_misses] ? r->c[C_demand_pages] - r->c[C_misses] : 0;

	return r->c[C_prefetched_mmap_around] +
	       (r->c[C_faults_major] > by_faults ? r->c[C_faults_major] : by_faults) +
	       r->c[C_faults_minor];
}

static void put_features(const struct row *r, double size_pages, struct features *f)
{
	double ahead = r->c[C_prefetched_sync] + r->c[C_prefetched_async];
	double windows = r->c[C_windows_sync] + r->c[C_windows_async] + r->c[C_windows_forced];
	double touched = mapped_pages(r);

	if (r->known[C_read_calls] && r->known[C_read_bytes])
		features_set_ratio(f, F_bytes_per_call, r->c[C_read_bytes], r->c[C_read_calls]);
	if (r->known[C_lookups] && r->c[C_lookups] > 0)
		features_set_ratio(f, F_lookups_per_page, r->c[C_lookups], size_pages);
	if (r->known[C_faults_major])
		features_set_ratio(f, F_fault_share, touched, touched + read_pages(r));
	if (r->known[C_direct_read_bytes] && r->known[C_read_bytes])
		features_set_ratio(f, F_direct_share, r->c[C_direct_read_bytes],
				   r->c[C_direct_read_bytes] + r->c[C_read_bytes]);
	if (r->known[C_demand_pages] && r->known[C_prefetched_sync])
		features_set_ratio(f, F_prefetch_coverage, ahead, ahead + r->c[C_demand_pages]);
	if (r->known[C_windows_sync])
		features_set_ratio(f, F_async_share, r->c[C_windows_async], windows);
	if (r->known[C_written_pages])
		features_set_ratio(f, F_write_share, r->c[C_written_pages],
				   r->c[C_written_pages] + ahead + r->c[C_demand_pages]);
}

static double weight_of_row(const struct row *r, double page_bytes)
{
	return read_pages(r) + mapped_pages(r) + r->c[C_direct_read_bytes] / page_bytes;
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

struct pattern_directory *pattern_directory_find(const struct pattern_job *job, int64_t id)
{
	if (!job->nr_directories)
		return NULL;
	return bsearch(&id, job->directories, job->nr_directories, sizeof(*job->directories),
		       order_i64);
}

static int read_files(struct rows *r, struct pattern_job *job, struct errtext *err)
{
	while (rows_next(r)) {
		struct pattern_file *file = &job->files[job->nr_files++];
		double pages;
		struct row row;

		file->id = rows_value(r, 0);
		file->directory_id = rows_value(r, 0);
		file->dev_major = rows_value(r, 0);
		file->dev_minor = rows_value(r, 0);
		file->ino = rows_value(r, 0);
		file->gen = rows_value(r, 0);
		file->size_bytes = rows_value(r, -1);
		row = read_counters(r);
		file->weight = weight_of_row(&row, job->page_bytes);
		pages = file->size_bytes > 0 ? (double)file->size_bytes / job->page_bytes : 0;
		put_features(&row, pages, &file->f);
	}
	return rows_finish(r) ? pattern_error(r->db, "files", err) : 0;
}

/* Fills in the features of the directory's files once all files have theirs. */
static int read_directories(struct rows *r, struct pattern_job *job, struct errtext *err)
{
	while (rows_next(r)) {
		struct pattern_directory *d = &job->directories[job->nr_directories++];
		struct opt_i64 files;
		struct row row;

		d->id = rows_value(r, 0);
		files = rows_i64(r);
		row = read_counters(r);
		put_features(&row, 0, &d->f);
		if (files.known)
			features_set(&d->f, F_files, (double)files.value);
	}
	return rows_finish(r) ? pattern_error(r->db, "directories", err) : 0;
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

int pattern_counters(sqlite3 *db, struct pattern_job *job, struct errtext *err)
{
	const int64_t params[] = {job->id, ROWS_MAX};
	struct arena no_texts = {0};
	struct rows r;
	int ret;

	job->files = calloc(ROWS_MAX, sizeof(*job->files));
	job->directories = calloc(ROWS_MAX, sizeof(*job->directories));
	if (!job->files || !job->directories)
		return errtext_set(err, -ENOMEM, "not enough memory for patterns");
	r = rows_begin(db, &no_texts,
		       "SELECT id, directory_id, dev_major, dev_minor, ino, gen, size_bytes" COLUMNS
		       " FROM file WHERE id IN (SELECT id FROM file WHERE job_id = ?1 ORDER BY "
		       "misses DESC, lookups DESC, id LIMIT ?2)",
		       2, params);
	ret = read_files(&r, job, err);
	if (ret)
		return ret;
	r = rows_begin(
		db, &no_texts,
		"SELECT id, files" COLUMNS " FROM directory WHERE id IN (SELECT id FROM "
		"directory WHERE job_id = ?1 ORDER BY misses DESC, lookups DESC, id LIMIT ?2) "
		"ORDER BY id",
		2, params);
	ret = read_directories(&r, job, err);
	if (ret)
		return ret;
	qsort(job->files, job->nr_files, sizeof(*job->files), compare_files);
	return put_mean_sizes(job);
}
