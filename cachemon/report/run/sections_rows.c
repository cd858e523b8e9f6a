/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/run/sections.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/escape.h"
#include "cachemon/base/human.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/figures/show.h"
#include "cachemon/report/run/findings.h"

/* A page for people is not a database; the formats for programs have all rows. */
enum { ROWS_MAX = 50 };

static const struct doc_column file_columns[] = {
	{"FILE", DOC_OWN_LINE}, {"MISSES", DOC_RIGHT},	   {"LOOKUPS", DOC_RIGHT},
	{"HITS", DOC_RIGHT},	{"PREFETCHED", DOC_RIGHT}, {"ACCURACY", DOC_RIGHT},
	{"WAITED", DOC_RIGHT},
};
static const struct doc_column directory_columns[] = {
	{"DIRECTORY", DOC_OWN_LINE}, {"FILES", DOC_RIGHT},  {"MISSES", DOC_RIGHT},
	{"LOOKUPS", DOC_RIGHT},	     {"HITS", DOC_RIGHT},   {"PREFETCHED", DOC_RIGHT},
	{"ACCURACY", DOC_RIGHT},     {"WAITED", DOC_RIGHT},
};

static void put_counts(struct doc_table *t, const struct counts *c, int64_t page_size)
{
	bool least = c->bounds & BOUND_ROW;
	struct derived derived;

	counts_derive(c, page_size, &derived);
	doc_cell_shown(t, show_least(show_count(counts_get(c, C_misses), false), least));
	doc_cell_shown(t, show_least(show_count(counts_get(c, C_lookups), c->sliced),
				     counts_lower_bound(c, C_lookups)));
	doc_cell_shown(
		t, show_least(show_ratio(derived.hit_ratio, c->sliced), c->bounds & BOUND_READS));
	doc_cell_shown(t, show_least(show_count(derived.prefetched_pages, false), least));
	doc_cell_shown(t, show_ratio(derived.accuracy, derived.accuracy_range.low.known));
	doc_cell_shown(t, show_least(show_ns(counts_get(c, C_stall_ns)), least));
}

/* A name after a fixed prefix: a name can end in anything, but a path begins with a slash. */
static void put_led_name(struct doc_table *t, const char *lead, const struct bytes *name)
{
	struct text_builder b;
	FILE *out = text_begin(&b);

	if (out) {
		fputs(lead, out);
		if (name->data)
			escape_inert(out, name->data, name->len);
		else
			fputs("[no name]", out);
	}
	doc_cell_text(t, text_end(&b));
}

static void put_file_name(struct doc_table *t, const struct model_file *f)
{
	if (f->path.data)
		put_led_name(t, f->deleted ? "[deleted] " : "", &f->path);
	else
		doc_cell(t, "[no name, inode %" PRIu64 " on device %" PRId64 ":%" PRId64 "]",
			 (uint64_t)f->ino.value, f->dev_major.value, f->dev_minor.value);
}

/* Whether any column of these tables has a value to show. */
static bool is_idle(const struct counts *c)
{
	struct derived derived;

	counts_derive(c, 0, &derived);
	return c->known[C_misses] && c->c[C_misses] == 0 && c->c[C_lookups] == 0 &&
	       derived.prefetched_pages.value == 0 && c->c[C_stall_ns] == 0;
}

static void put_files(struct doc *d, const struct model_job *job, int64_t page_size)
{
	struct doc_table t = DOC_TABLE(NULL, file_columns);
	size_t nr_idle = 0;

	doc_heading(d, 3, "Files with the most misses");
	for (size_t i = 0; i < job->nr_files; i++) {
		if (is_idle(&job->files[i].counts)) {
			nr_idle++;
			continue;
		}
		put_file_name(&t, &job->files[i]);
		put_counts(&t, &job->files[i].counts, page_size);
	}
	if (counts_any(&job->rest)) {
		if (job->rest_files.known && job->rest_files.value > 0)
			doc_cell(&t, "[all other files: %s]", show_count(job->rest_files, false).s);
		else
			doc_cell(&t, "[all other files]");
		put_counts(&t, &job->rest, page_size);
	}
	if (!t.nr_cells)
		doc_para(d, "None.");
	doc_put_table(d, &t);
	if (nr_idle)
		doc_para(d, "Not listed: %s file%s of which no page was %sadded.",
			 human_exact((int64_t)nr_idle).text, nr_idle == 1 ? "" : "s",
			 job->counts.sliced ? "" : "looked up or ");
}

static void put_directories(struct doc *d, const struct model_job *job, int64_t page_size)
{
	struct doc_table t = DOC_TABLE(NULL, directory_columns);
	struct counts left = job->counts;

	if (!job->nr_directories)
		return;
	doc_heading(d, 3, "Directories");
	for (size_t i = 0; i < job->nr_directories && i < ROWS_MAX; i++) {
		const struct model_directory *dir = &job->directories[i];

		if (dir->path.data)
			put_led_name(&t, dir->subdirectories ? "[and below] " : "", &dir->path);
		else
			doc_cell(&t, "[files without a name]");
		doc_cell(&t, "%s%s", dir->files_estimated && dir->files.known ? ">=" : "",
			 show_count(dir->files, false).s);
		put_counts(&t, &dir->counts, page_size);
		counts_subtract(&left, &dir->counts);
	}
	if (job->nr_directories > ROWS_MAX) {
		doc_cell(&t, "[%s other directories]",
			 human_exact((int64_t)(job->nr_directories - ROWS_MAX)).text);
		doc_cell(&t, "%s", "");
		put_counts(&t, &left, page_size);
	}
	doc_put_table(d, &t);
}

static void put_range(struct doc_table *t, const struct model_advice *v)
{
	if (!v->offset_bytes.known)
		doc_cell(t, "-");
	else if (!v->length_bytes.known)
		doc_cell(t, "%s to the end", show_bytes(v->offset_bytes, false).s);
	else
		doc_cell(t, "%s + %s", show_bytes(v->offset_bytes, false).s,
			 show_bytes(v->length_bytes, false).s);
}

static void put_advice_name(struct doc_table *t, const struct model_advice *v)
{
	char lead[64];

	if (bytes_is(&v->call, "readahead"))
		snprintf(lead, sizeof(lead), "readahead ");
	else
		snprintf(lead, sizeof(lead), "%s(%s) ", v->call.data ? v->call.data : "-",
			 v->kind.data ? v->kind.data : "-");
	put_led_name(t, lead, &v->path);
}

void sections_advice(struct doc *d, const struct model *m, const struct model_job *job)
{
	static const struct doc_column columns[] = {
		{"ADVICE", DOC_OWN_LINE}, {"CALLS", DOC_RIGHT},	  {"ASKED", DOC_RIGHT},
		{"BROUGHT", DOC_RIGHT},	  {"DROPPED", DOC_RIGHT}, {"RANGE", DOC_WRAP},
	};
	struct doc_table t = DOC_TABLE("Pages requested, brought in and dropped", columns);
	bool effects = bytes_is(&m->run.advice_mode, "effects");

	if (effects)
		doc_para(d, "Advice was recorded by its effects. Calls that moved no page may be "
			    "missing, so calls and requested pages are lower bounds. Pages brought "
			    "in and dropped are exact.");
	for (size_t i = 0; i < job->nr_advice && i < ROWS_MAX; i++) {
		const struct model_advice *v = &job->advice[i];

		put_advice_name(&t, v);
		doc_cell_shown(&t, show_least(show_count(v->calls, false), effects));
		doc_cell_shown(&t, show_least(show_count(v->pages_asked, false), effects));
		doc_cell_shown(&t, show_count(v->pages_brought, false));
		doc_cell_shown(&t, show_count(v->pages_dropped, false));
		put_range(&t, v);
	}
	if (!t.nr_cells)
		doc_para(d, "None%s.", effects ? " was seen" : "");
	doc_put_table(d, &t);
	if (job->nr_advice > ROWS_MAX)
		doc_para(d, "%s more rows are in the JSON report.",
			 human_exact((int64_t)(job->nr_advice - ROWS_MAX)).text);
	sections_verdicts(d, m, job);
}

void sections_rows(struct doc *d, const struct model *m, const struct model_job *job)
{
	int64_t page_size = m->run.page_size_bytes.value;

	put_files(d, job, page_size);
	put_directories(d, job, page_size);
}

static void put_name_or(FILE *out, const struct bytes *b, const char *absent)
{
	if (b->data)
		escape_inert(out, b->data, b->len);
	else
		fputs(absent, out);
}

/* "ext4 at /data", "block device", "nfs4, mounted out of sight". */
static void put_filesystem_name(struct doc_table *t, const struct model_filesystem *f)
{
	struct text_builder b;
	FILE *out = text_begin(&b);

	if (out) {
		if (!f->dev_major.known) {
			fputs("[elsewhere]", out);
		} else {
			put_name_or(out, &f->type, "unknown");
			fprintf(out, " %" PRId64 ":%" PRId64, f->dev_major.value,
				f->dev_minor.value);
			if (f->mount.data) {
				fputs(" at ", out);
				put_name_or(out, &f->mount, "");
			}
		}
	}
	doc_cell_text(t, text_end(&b));
}

static void put_filesystem(struct doc_table *t, const struct model_filesystem *f, int64_t page_size)
{
	const struct counts *c = &f->counts;
	bool least = c->bounds & BOUND_ROW;
	struct derived derived;

	counts_derive(c, page_size, &derived);
	put_filesystem_name(t, f);
	doc_cell_name(t, &f->cover, "-");
	doc_cell(t, "%s%s", f->files_estimated && f->files.known ? ">=" : "",
		 show_count(f->files, false).s);
	doc_cell_shown(t, show_least(show_bytes(counts_get(c, C_read_bytes), c->sliced),
				     counts_lower_bound(c, C_read_bytes)));
	doc_cell_shown(t, show_least(show_bytes(counts_get(c, C_direct_read_bytes), false), least));
	doc_cell_shown(t, show_least(show_count(counts_get(c, C_misses), false), least));
	doc_cell_shown(
		t, show_least(show_ratio(derived.hit_ratio, c->sliced), c->bounds & BOUND_READS));
}

/* Once for all filesystems with the same cover. */
static bool is_told(const struct model_job *job, size_t i)
{
	const struct bytes *why = &job->filesystems[i].why;

	for (size_t k = 0; k < i; k++) {
		const struct bytes *other = &job->filesystems[k].why;

		if (other->data && bytes_equal(other, why) &&
		    job->filesystems[k].type.len == job->filesystems[i].type.len)
			return true;
	}
	return false;
}

static void put_whys(struct doc *d, const struct model_job *job)
{
	static const struct doc_column columns[] = {{"TYPE", DOC_LEFT},
						    {"WHAT IS COUNTED", DOC_WRAP}};
	struct doc_table t = DOC_TABLE(NULL, columns);

	for (size_t i = 0; i < job->nr_filesystems; i++) {
		const struct model_filesystem *f = &job->filesystems[i];

		if (!f->why.data || is_told(job, i))
			continue;
		doc_cell_name(&t, &f->type, "-");
		doc_cell_name(&t, &f->why, "-");
	}
	doc_put_table(d, &t);
}

void sections_filesystems(struct doc *d, const struct model *m, const struct model_job *job)
{
	static const struct doc_column columns[] = {
		{"FILESYSTEM", DOC_OWN_LINE}, {"SEEN", DOC_LEFT},    {"FILES", DOC_RIGHT},
		{"READ", DOC_RIGHT},	      {"DIRECT", DOC_RIGHT}, {"MISSES", DOC_RIGHT},
		{"HITS", DOC_RIGHT},
	};
	struct doc_table t = DOC_TABLE(NULL, columns);

	if (!job->nr_filesystems)
		doc_para(d, "No filesystem was recorded.");
	for (size_t i = 0; i < job->nr_filesystems; i++)
		if (job->filesystems[i].dev_major.known || counts_any(&job->filesystems[i].counts))
			put_filesystem(&t, &job->filesystems[i], m->run.page_size_bytes.value);
	doc_put_table(d, &t);
	put_whys(d, job);
}
