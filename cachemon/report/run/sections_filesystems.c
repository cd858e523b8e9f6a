/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/run/sections.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cachemon/base/escape.h"
#include "cachemon/base/text_builder.h"
#include "cachemon/figures/show.h"

static void put_text(FILE *out, const struct bytes *b, const char *absent)
{
	if (b->data)
		escape_inert(out, b->data, b->len);
	else
		fputs(absent, out);
}

/* "ext4 at /data", "block device", "nfs4, mounted out of sight". */
static void put_name(struct doc_table *t, const struct model_filesystem *f)
{
	struct text_builder b;
	FILE *out = text_begin(&b);

	if (out) {
		if (!f->dev_major.known) {
			fputs("[on none of these]", out);
		} else {
			put_text(out, &f->type, "unknown");
			fprintf(out, " %" PRId64 ":%" PRId64, f->dev_major.value,
				f->dev_minor.value);
			if (f->mount.data) {
				fputs(" at ", out);
				put_text(out, &f->mount, "");
			}
		}
	}
	doc_cell_text(t, text_end(&b));
}

static void put_row(struct doc_table *t, const struct model_filesystem *f, int64_t page_size)
{
	const struct counts *c = &f->counts;
	bool least = c->bounds & BOUND_ROW;
	struct derived derived;

	counts_derive(c, page_size, &derived);
	put_name(t, f);
	doc_cell_name(t, &f->cover, "-");
	doc_cell(t, "%s%s", f->files_estimated && f->files.known ? ">=" : "",
		 show_count(f->files, false).s);
	doc_cell(t, "%s",
		 show_least(show_bytes(counts_get(c, C_read_bytes), c->sliced),
			    counts_lower_bound(c, C_read_bytes))
			 .s);
	doc_cell(t, "%s",
		 show_least(show_bytes(counts_get(c, C_direct_read_bytes), false), least).s);
	doc_cell(t, "%s", show_least(show_count(counts_get(c, C_misses), false), least).s);
	doc_cell(t, "%s",
		 show_least(show_ratio(derived.hit_ratio, c->sliced), c->bounds & BOUND_READS).s);
}

/* Once for all filesystems that are covered alike. */
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
						    {"WHAT IS SEEN OF IT", DOC_WRAP}};
	struct doc_table t = doc_table(NULL, columns, 2);

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
	struct doc_table t = doc_table(NULL, columns, 7);

	if (!job->nr_filesystems)
		doc_para(d, "None is known.");
	for (size_t i = 0; i < job->nr_filesystems; i++)
		if (job->filesystems[i].dev_major.known || counts_any(&job->filesystems[i].counts))
			put_row(&t, &job->filesystems[i], m->run.page_size_bytes.value);
	doc_put_table(d, &t);
	put_whys(d, job);
}
