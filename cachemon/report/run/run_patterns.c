/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/run/run_patterns.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <string.h>

#include "advisor/analysis/analysis.h"
#include "cachemon/figures/show.h"

/* Files and directories, of each. */
enum { ROWS_MAX = 20 };

static const struct analysis_pattern *pattern_at(const struct model *m, bool directory, int64_t id)
{
	return m->analysis ? analysis_pattern_of(m->analysis, directory, id) : NULL;
}

static void put_names(struct tree *t, const cJSON *array)
{
	const cJSON *name;

	tree_array(t, "decided_by");
	cJSON_ArrayForEach(name, array)
	{
		if (cJSON_IsString(name))
			tree_string(t, NULL, name->valuestring);
	}
	tree_end(t);
}

static void put_features(struct tree *t, const char *text)
{
	cJSON *json = text ? cJSON_Parse(text) : NULL;
	const cJSON *f;

	tree_object(t, "features");
	cJSON_ArrayForEach(f, json)
	{
		if (cJSON_IsNumber(f))
			tree_double(t, f->string, f->valuedouble);
	}
	tree_end(t);
	put_names(t, json ? cJSON_GetObjectItemCaseSensitive(json, "decided_by") : NULL);
	cJSON_Delete(json);
}

void data_pattern(struct tree *t, const struct model *m, bool directory, int64_t id)
{
	const struct analysis_pattern *p = pattern_at(m, directory, id);

	if (!p) {
		tree_null(t, "pattern");
		return;
	}
	tree_object(t, "pattern");
	tree_string(t, "name", p->name);
	tree_double(t, "confidence", p->confidence.known ? p->confidence.value : 0);
	put_features(t, p->features);
	tree_end(t);
}

/* "sequential_share 0.98, reuse 1": what decided, with its figures. */
static void reasons(const char *features, char *text, size_t size)
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
		n += (size_t)snprintf(text + n, size - n, "%s%s %.3g", n ? ", " : "",
				      name->valuestring, f->valuedouble);
	}
	cJSON_Delete(json);
}

static void put_row(struct doc_table *t, const struct analysis_pattern *p, const struct bytes *path)
{
	char text[256];

	if (!p || !p->name || strcmp(p->name, "unknown") == 0)
		return;
	reasons(p->features, text, sizeof(text));
	doc_cell_name(t, path, "[no name]");
	doc_cell(t, "%s", p->name);
	doc_cell(t, "%s", show_ratio(p->confidence, false).s);
	doc_cell(t, "%s", text);
}

void sections_patterns(struct doc *d, const struct model *m, const struct model_job *job)
{
	static const struct doc_column columns[] = {{"FILE OR DIRECTORY", DOC_OWN_LINE},
						    {"PATTERN", DOC_LEFT},
						    {"SURE", DOC_RIGHT},
						    {"FROM", DOC_WRAP}};
	struct doc_table t = doc_table(NULL, columns, 4);

	for (size_t i = 0; i < job->nr_directories && i < ROWS_MAX; i++)
		put_row(&t, pattern_at(m, true, job->directories[i].id), &job->directories[i].path);
	for (size_t i = 0; i < job->nr_files && i < ROWS_MAX; i++)
		put_row(&t, pattern_at(m, false, job->files[i].id), &job->files[i].path);
	if (!t.nr_cells)
		doc_para(d, "Too little was read to tell.");
	doc_put_table(d, &t);
}
