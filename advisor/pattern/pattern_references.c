/* SPDX-License-Identifier: BSD-2-Clause */
#include "advisor/pattern/pattern_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/load/load_references.h"
#include "advisor/pattern/reuse.h"
#include "cachemon/base/arena.h"

enum { PAGES_MIN = 8 }; /* per group; fewer references show no order */
#define NO_GROUP UINT32_MAX

/* References by group (a file or a directory), in order, with their times. */
struct grouped {
	struct arena arena; /* owns all arrays below */
	const struct references *r;
	const uint32_t *group; /* group of each page */
	size_t *start;	       /* first index in order of each group, and the end */
	uint32_t *order;       /* numbers of entries */
	uint32_t *number;      /* number of each page in its group */
	uint32_t *pages;       /* pages of the references of one group */
	int64_t *lookup;
	double *time_s;
	uint64_t *index;
	int64_t *all_lookups; /* estimated number of lookups at each entry */
	double *all_times;
};

static bool is_reference(const struct references *r, size_t i)
{
	return !(r->entries[i] & 1);
}

/* References are assumed to be evenly spread between two chunks. */
static void place_entries(struct grouped *g)
{
	const struct references *r = g->r;
	int64_t before = 0;

	for (size_t c = 0; c < r->nr_chunks; c++) {
		const struct reference_chunk *chunk = &r->chunks[c];
		double begin = (double)chunk->start_ns / 1e9;
		double end = c + 1 < r->nr_chunks ? (double)chunk[1].start_ns / 1e9 : begin;

		for (size_t i = 0; i < chunk->nr; i++) {
			double share = ((double)i + 0.5) / (double)chunk->nr;

			g->all_lookups[chunk->first + i] =
				before + (int64_t)(share * (double)(chunk->lookups - before));
			g->all_times[chunk->first + i] = begin + share * (end - begin);
		}
		before = chunk->lookups;
	}
}

static void sort_entries(struct grouped *g, size_t nr_groups)
{
	const struct references *r = g->r;

	for (size_t i = 0; i < r->nr_entries; i++) {
		uint32_t group = g->group[r->entries[i] >> 1];

		if (is_reference(r, i) && group != NO_GROUP)
			g->start[group + 2]++;
	}
	for (size_t k = 0; k < nr_groups; k++)
		g->start[k + 2] += g->start[k + 1];
	for (size_t i = 0; i < r->nr_entries; i++) {
		uint32_t group = g->group[r->entries[i] >> 1];

		if (is_reference(r, i) && group != NO_GROUP)
			g->order[g->start[group + 1]++] = (uint32_t)i;
	}
}

static int put_group_features(struct grouped *g, size_t k, bool one_file, double size_pages,
			      struct features *f)
{
	const struct references *r = g->r;
	struct reuse_input in = {
		.page = g->pages,
		.lookup = g->lookup,
		.time_s = g->time_s,
		.index = one_file ? g->index : NULL,
		.rate = (double)r->threshold / (double)REFERENCE_THRESHOLD_ALL,
		.size_pages = r->broken ? 0 : size_pages,
	};
	struct features own = {0};
	int ret;

	for (size_t i = g->start[k]; i < g->start[k + 1]; i++) {
		uint32_t entry = g->order[i];
		uint32_t page = r->entries[entry] >> 1;

		if (g->number[page] == UINT32_MAX) {
			g->index[in.nr_pages] = (uint64_t)r->pages[page].page_index;
			g->number[page] = (uint32_t)in.nr_pages++;
		}
		g->pages[in.nr] = g->number[page];
		g->lookup[in.nr] = g->all_lookups[entry];
		g->time_s[in.nr++] = g->all_times[entry];
	}
	if (in.nr_pages < PAGES_MIN)
		return 0;
	ret = reuse_features(&in, &own);
	features_merge(f, &own);
	return ret;
}

static int make_group_room(struct grouped *g, size_t nr_groups)
{
	size_t nr = g->r->nr_entries + 1;
	size_t nr_pages = g->r->nr_pages + 1;

	g->start = arena_alloc(&g->arena, (nr_groups + 2) * sizeof(*g->start));
	g->order = arena_alloc(&g->arena, nr * sizeof(*g->order));
	g->number = arena_alloc(&g->arena, nr_pages * sizeof(*g->number));
	g->index = arena_alloc(&g->arena, nr_pages * sizeof(*g->index));
	g->pages = arena_alloc(&g->arena, nr * sizeof(*g->pages));
	g->lookup = arena_alloc(&g->arena, nr * sizeof(*g->lookup));
	g->time_s = arena_alloc(&g->arena, nr * sizeof(*g->time_s));
	g->all_lookups = arena_alloc(&g->arena, nr * sizeof(*g->all_lookups));
	g->all_times = arena_alloc(&g->arena, nr * sizeof(*g->all_times));
	return g->arena.failed ? -ENOMEM : 0;
}

static double pages_of_file(const struct pattern_job *job, const struct pattern_file *file)
{
	return file->size_bytes > 0 ? (double)file->size_bytes / job->page_bytes : 0;
}

/* First files, then directories with all their files. */
static int group_all(const struct references *r, uint32_t *group, bool files,
		     struct pattern_job *job)
{
	size_t nr_groups = files ? job->nr_files : job->nr_directories;
	struct grouped g = {.r = r, .group = group};
	int ret = make_group_room(&g, nr_groups);

	if (!ret) {
		memset(g.number, 0xff, r->nr_pages * sizeof(*g.number));
		place_entries(&g);
		sort_entries(&g, nr_groups);
	}
	for (size_t k = 0; k < nr_groups && !ret; k++) {
		if (files)
			ret = put_group_features(&g, k, true, pages_of_file(job, &job->files[k]),
						 &job->files[k].f);
		else
			ret = put_group_features(&g, k, false, 0, &job->directories[k].f);
	}
	arena_free(&g.arena);
	return ret;
}

static int group_pages(const struct references *r, struct pattern_job *job)
{
	uint32_t *group = malloc((r->nr_pages + 1) * sizeof(*group));
	int ret = group ? 0 : -ENOMEM;

	for (size_t i = 0; i < r->nr_pages && !ret; i++) {
		const struct reference_page *p = &r->pages[i];
		const struct pattern_file *file =
			pattern_file_find(job, p->dev_major, p->dev_minor, (int64_t)p->ino, p->gen);

		group[i] = file ? (uint32_t)(file - job->files) : NO_GROUP;
	}
	if (!ret)
		ret = group_all(r, group, true, job);
	for (size_t i = 0; i < r->nr_pages && !ret; i++) {
		const struct pattern_directory *d =
			group[i] == NO_GROUP
				? NULL
				: pattern_directory_find(job, job->files[group[i]].directory_id);

		group[i] = d ? (uint32_t)(d - job->directories) : NO_GROUP;
	}
	if (!ret)
		ret = group_all(r, group, false, job);
	free(group);
	return ret;
}

int pattern_references(sqlite3 *db, struct pattern_job *job, struct errtext *err)
{
	struct references r;
	struct errtext why = {0};
	int ret;

	if (sqlite3_table_column_metadata(db, "main", "reference_sample", "job_id", NULL, NULL,
					  NULL, NULL, NULL) != SQLITE_OK)
		return 0;
	ret = load_references(db, job->id, &r, &why);
	if (ret == -ENOMEM)
		return errtext_set(err, ret, "%s", why.text);
	if (ret) /* none, or damaged: the other sources remain */
		return 0;
	ret = group_pages(&r, job);
	references_free(&r);
	return ret;
}
