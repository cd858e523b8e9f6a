/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/run/data.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/escape.h"
#include "cachemon/base/text_builder.h"

/*
 * The columns: scope (job, directory, file, or rest: the job's unlisted files), job, path,
 * path_escaped (1: not UTF-8, bad bytes as \xHH), deleted, dev, ino, fstype, size_bytes, files,
 * estimated (1: the row has estimates of a sliced run), lower_bounds (all: the whole row; else the
 * counters that are lower bounds), derived figures, every counter under its own name, then the ends
 * of the 90 % interval of each estimated figure.
 */
static const char head[] =
	"scope,job,path,path_escaped,deleted,dev,ino,fstype,size_bytes,files,"
	"estimated,lower_bounds,hits,hit_ratio,prefetched_pages,prefetch_accuracy,"
	"prefetch_coverage,prefetch_timeliness,waste_bytes";

struct csv_row {
	const char *scope;
	const struct bytes *path;
	const struct model_file *file; /* NULL: not a file's row */
	struct opt_i64 files;
	const struct counts *counts;
};

bool csv_text(FILE *out, const struct bytes *b)
{
	struct text_builder mem;
	char *text;
	bool escaped;

	if (!b || !b->data)
		return false;
	if (!text_begin(&mem)) {
		fputs("\"?\"", out);
		return false;
	}
	escaped = escape_data(mem.out, b->data, b->len);
	text = text_end(&mem);
	putc('"', out);
	if (text && strchr("=+-@\t\r\n", text[0]) && text[0])
		putc('\'', out);
	for (size_t i = 0; text && i < mem.len; i++) {
		if (text[i] == '"')
			putc('"', out);
		if (text[i])
			putc(text[i], out);
		else
			fputs("\\x00", out);
	}
	putc('"', out);
	free(text);
	return escaped;
}

static void put_count(FILE *out, struct opt_i64 v)
{
	putc(',', out);
	if (v.known)
		fprintf(out, "%" PRId64, v.value);
}

static void put_ratio(FILE *out, struct opt_f64 v)
{
	putc(',', out);
	if (v.known)
		fprintf(out, "%.17g", v.value);
}

static void put_identity(FILE *out, const struct model_file *f)
{
	if (!f) {
		fputs(",,,,,", out);
		return;
	}
	fprintf(out, ",%d,", f->deleted);
	if (f->dev_major.known && f->dev_minor.known)
		fprintf(out, "%" PRId64 ":%" PRId64, f->dev_major.value, f->dev_minor.value);
	putc(',', out);
	if (f->ino.known)
		fprintf(out, "%" PRIu64, (uint64_t)f->ino.value);
	putc(',', out);
	csv_text(out, &f->fstype);
	put_count(out, f->size_bytes);
}

static const char *bounds_word(const struct counts *c)
{
	if (c->bounds & BOUND_ROW)
		return "all";
	if (c->bounds & BOUND_PAGES)
		return "evictions fates refaults";
	if (c->bounds & BOUND_FATES)
		return c->bounds & BOUND_REFAULTS ? "fates refaults" : "fates";
	return c->bounds & BOUND_REFAULTS ? "refaults" : "";
}

enum { RATIOS = 3, INTERVALS = ESTIMATES + RATIOS };

static const char *const ratios[RATIOS] = {"prefetch_accuracy", "prefetch_coverage",
					   "prefetch_timeliness"};

/* Empty if the figure is exact or absent. */
static void take_intervals(const struct counts *c, const struct derived *d,
			   struct range ret[INTERVALS])
{
	const struct range of[RATIOS] = {d->accuracy_range, d->coverage_range, d->timeliness_range};

	for (int i = 0; i < INTERVALS; i++) {
		ret[i] = (struct range){0};
		if (i < ESTIMATES)
			counts_range(c, (enum read_estimate)i, &ret[i]);
		else if (of[i - ESTIMATES].value.known)
			ret[i] = of[i - ESTIMATES];
	}
}

static bool holds_estimate(const struct range intervals[INTERVALS])
{
	for (int i = 0; i < INTERVALS; i++)
		if (intervals[i].low.known)
			return true;
	return false;
}

/* Additionally for reads without an event. */
static const char *reads_word(const struct counts *c)
{
	if (!(c->bounds & BOUND_READS) || c->bounds & BOUND_ROW)
		return "";
	return *bounds_word(c) ? " reads" : "reads";
}

static void put_row(FILE *out, const struct model *m, const struct model_job *job,
		    const struct csv_row *row)
{
	struct range intervals[INTERVALS];
	struct derived d;
	bool escaped = false;

	counts_derive(row->counts, m->run.page_size_bytes.value, &d);
	take_intervals(row->counts, &d, intervals);
	fprintf(out, "%s,", row->scope);
	csv_text(out, &job->name);
	putc(',', out);
	escaped = csv_text(out, row->path);
	fputs(row->path && row->path->data ? escaped ? ",1" : ",0" : ",", out);
	put_identity(out, row->file);
	put_count(out, row->files);
	fprintf(out, ",%d,%s%s", holds_estimate(intervals), bounds_word(row->counts),
		reads_word(row->counts));
	put_count(out, d.hits);
	put_ratio(out, d.hit_ratio);
	put_count(out, d.prefetched_pages);
	put_ratio(out, d.accuracy);
	put_ratio(out, d.coverage);
	put_ratio(out, d.timeliness);
	put_count(out, d.waste_bytes);
	for (int i = 0; i < C_NR; i++)
		put_count(out, counts_get(row->counts, i));
	for (int i = 0; i < INTERVALS; i++) {
		put_ratio(out, intervals[i].low);
		put_ratio(out, intervals[i].high);
	}
	putc('\n', out);
}

static void put_job(FILE *out, const struct model *m, const struct model_job *job)
{
	struct csv_row row = {.scope = "job", .counts = &job->counts};

	put_row(out, m, job, &row);
	for (size_t i = 0; i < job->nr_directories; i++) {
		row = (struct csv_row){
			.scope = "directory",
			.path = &job->directories[i].path,
			.files = job->directories[i].files,
			.counts = &job->directories[i].counts,
		};
		put_row(out, m, job, &row);
	}
	for (size_t i = 0; i < job->nr_files; i++) {
		row = (struct csv_row){
			.scope = "file",
			.path = &job->files[i].path,
			.file = &job->files[i],
			.counts = &job->files[i].counts,
		};
		put_row(out, m, job, &row);
	}
	if (model_others(job))
		return;
	row = (struct csv_row){.scope = "rest", .files = job->rest_files, .counts = &job->rest};
	put_row(out, m, job, &row);
}

int csv_report(FILE *out, const struct model *m)
{
	fputs(head, out);
	for (int i = 0; i < C_NR; i++)
		fprintf(out, ",%s", counter_name(i));
	for (int i = 0; i < INTERVALS; i++) {
		const char *name = i < ESTIMATES ? estimate_name((enum read_estimate)i)
						 : ratios[i - ESTIMATES];

		fprintf(out, ",%s_low,%s_high", name, name);
	}
	putc('\n', out);
	for (size_t i = 0; i < m->nr_jobs; i++)
		put_job(out, m, &m->jobs[i]);
	return ferror(out) ? -EIO : 0;
}
