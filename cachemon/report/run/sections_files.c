/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/run/sections.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/analysis/analysis.h"
#include "cachemon/base/escape.h"
#include "cachemon/base/human.h"
#include "cachemon/figures/show.h"
#include "cachemon/model/model_detail.h"

/* Of the files with the most misses; the formats for programs have all. */
enum { FILES_MAX = 12 };

enum strip { READ, EVICTED, UNUSED, RESIDENT, NR_STRIPS };

static uint64_t part_pages(const struct coverage *c, size_t i)
{
	return i + 1 < c->nr_parts ? c->part_pages : c->file_pages - i * c->part_pages;
}

static uint64_t sum_of(const uint64_t *values, size_t nr)
{
	uint64_t ret = 0;

	for (size_t i = 0; i < nr; i++)
		ret += values[i];
	return ret;
}

static double share_of(uint64_t pages, uint64_t of)
{
	return of ? fmin((double)pages / (double)of, 1) : NAN;
}

static void fill_shares(const struct model_coverage *v, double shares[NR_STRIPS][COVERAGE_PARTS])
{
	const struct coverage *c = v->parts;

	for (size_t i = 0; i < c->nr_parts; i++) {
		uint64_t pages = part_pages(c, i);

		/* Nothing is known of a part without sampled pages. */
		shares[READ][i] = v->sampled && !c->read[i] ? NAN : share_of(c->read[i], pages);
		shares[EVICTED][i] = v->sampled ? NAN : share_of(c->evicted[i], pages);
		shares[UNUSED][i] = v->sampled ? NAN : share_of(c->evicted_unused[i], pages);
		shares[RESIDENT][i] = v->sampled ? NAN : share_of(c->resident_unused[i], pages);
	}
}

static struct shown show_pages(uint64_t n)
{
	return show_count((struct opt_i64){(int64_t)n, true}, false);
}

static void say_parts(const struct model_coverage *v, char *says, size_t size)
{
	const struct coverage *c = v->parts;
	int n = snprintf(says, size, "%s%s of %s pages were read", v->estimated ? "~" : "",
			 show_pages(sum_of(c->read, c->nr_parts)).s, show_pages(c->file_pages).s);

	if (!v->sampled)
		n += snprintf(says + n, size - (size_t)n,
			      "; pages left the cache %s times, %s of them evicted unused; "
			      "%s are resident unused",
			      show_pages(sum_of(c->evicted, c->nr_parts)).s,
			      show_pages(sum_of(c->evicted_unused, c->nr_parts)).s,
			      show_pages(sum_of(c->resident_unused, c->nr_parts)).s);
	else
		n += snprintf(says + n, size - (size_t)n,
			      ", estimated from a sample of pages; parts without a sampled page "
			      "are not known");
	snprintf(says + n, size - (size_t)n, "%s",
		 v->broken ? ". The recording ends before the run." : ".");
}

static void put_file(struct doc *d, const struct model_file *f, const struct model_coverage *v)
{
	double shares[NR_STRIPS][COVERAGE_PARTS];
	const size_t nr = v->parts->nr_parts;
	/* The cached pages at the end of a recording do not limit those at the end of the run. */
	const char *mark = v->estimated ? MARK_ABOUT : v->broken ? MARK_LEAST : NULL;
	const struct doc_strip strips[NR_STRIPS] = {
		{"read", TONE_HIT, shares[READ], nr, mark},
		{"left the cache", TONE_MISS, shares[EVICTED], nr, mark},
		{"evicted unused", TONE_WASTE, shares[UNUSED], nr, mark},
		{"resident unused", TONE_RESIDENT, shares[RESIDENT], nr, NULL},
	};
	char *name = f->path.data ? escape_inert_copy(f->path.data, f->path.len) : NULL;
	char says[320];
	const struct doc_map map = {name ? name : "a file without a name", says, strips,
				    v->sampled ? 1 : NR_STRIPS};

	fill_shares(v, shares);
	say_parts(v, says, sizeof(says));
	doc_put_map(d, &map);
	free(name);
}

void sections_parts_of_files(struct doc *d, const struct model *m, const struct model_job *job)
{
	size_t nr = 0;

	for (size_t i = 0; i < job->nr_files; i++) {
		const struct model_coverage *v = &job->detail->coverage[i];

		if (v->absent || !v->parts->nr_parts || !counts_any(&job->files[i].counts))
			continue;
		if (nr++ < FILES_MAX)
			put_file(d, &job->files[i], v);
	}
	if (!nr)
		doc_para(d, "It is not known for any file which parts were read%s%s.",
			 job->nr_files ? ": " : "",
			 job->nr_files && job->detail->coverage[0].absent
				 ? job->detail->coverage[0].absent
				 : "");
	else if (nr > FILES_MAX)
		doc_para(d, "The JSON report has %s more files.",
			 human_exact((int64_t)(nr - FILES_MAX)).text);
}

/* Number of files and of directories. */
enum { ROWS_MAX = 20 };

static const struct analysis_pattern *pattern_at(const struct model *m, bool directory, int64_t id)
{
	return m->analysis ? analysis_pattern_of(m->analysis, directory, id) : NULL;
}

/* "sequential_share 0.98, reuse 1": the deciding features with their values. */
static void say_reasons(const char *features, char *text, size_t size)
{
	cJSON *json = features ? cJSON_Parse(features) : NULL;
	const cJSON *decided = json ? cJSON_GetObjectItemCaseSensitive(json, "decided_by") : NULL;
	const cJSON *name;
	size_t n = 0;

	text[0] = '\0';
	cJSON_ArrayForEach(name, decided)
	{
		const cJSON *f = cJSON_IsString(name)
					 ? cJSON_GetObjectItemCaseSensitive(json, name->valuestring)
					 : NULL;

		if (!f || n >= size)
			continue;
		n += (size_t)snprintf(text + n, size - n, "%s%s ", n ? ", " : "",
				      name->valuestring);
		if (n < size && f->valuedouble >= 1000)
			n += (size_t)snprintf(text + n, size - n, "%s",
					      human_exact(llround(f->valuedouble)).text);
		else if (n < size)
			n += (size_t)snprintf(text + n, size - n, "%.3g", f->valuedouble);
	}
	cJSON_Delete(json);
}

static void put_pattern(struct doc_table *t, const struct analysis_pattern *p,
			const struct bytes *path)
{
	char text[256];

	if (!p || !p->name || strcmp(p->name, "unknown") == 0)
		return;
	say_reasons(p->features, text, sizeof(text));
	doc_cell_name(t, path, "[no name]");
	doc_cell(t, "%s", p->name);
	doc_cell_shown(t, show_ratio(p->confidence, false));
	doc_cell(t, "%s", text);
}

void sections_patterns(struct doc *d, const struct model *m, const struct model_job *job)
{
	static const struct doc_column columns[] = {{"FILE OR DIRECTORY", DOC_OWN_LINE},
						    {"PATTERN", DOC_LEFT},
						    {"SURE", DOC_RIGHT},
						    {"FROM", DOC_WRAP}};
	struct doc_table t = DOC_TABLE(NULL, columns);

	for (size_t i = 0; i < job->nr_directories && i < ROWS_MAX; i++)
		put_pattern(&t, pattern_at(m, true, job->directories[i].id),
			    &job->directories[i].path);
	for (size_t i = 0; i < job->nr_files && i < ROWS_MAX; i++)
		put_pattern(&t, pattern_at(m, false, job->files[i].id), &job->files[i].path);
	if (!t.nr_cells)
		doc_para(d, "Too little was read to find a pattern.");
	doc_put_table(d, &t);
}
