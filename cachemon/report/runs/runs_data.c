/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/report/runs/runs_model.h"

#include <string.h>

#include "cachemon/report/run/data.h"

static void put_finding(struct tree *t, const struct runs_job *j)
{
	if (!tree_opt_object(t, "first_finding", j->finding.data))
		return;
	tree_name(t, "id", &j->finding);
	tree_name(t, "title", &j->title);
	tree_end(t);
}

static void put_job(struct tree *t, const struct runs_job *j)
{
	char letter[2] = {j->counters_letter, '\0'};

	tree_object(t, NULL);
	tree_name(t, "name", &j->job->name);
	tree_name(t, "selector", &j->job->selector);
	data_hits(t, &j->job->counts);
	tree_mark(t, "reads_through_mappings", j->mapped);
	tree_opt_double(t, "wall_s", j->time_s);
	tree_opt_double(t, "miss_ratio", j->miss_ratio);
	tree_mark(t, "miss_ratio_estimated", j->miss_ratio.known && j->job->counts.sliced);
	if (j->miss_range.low.known) {
		tree_opt_double(t, "miss_ratio_low", j->miss_range.low);
		tree_opt_double(t, "miss_ratio_high", j->miss_range.high);
	}
	tree_opt_double(t, "stall_share", j->stall_share);
	tree_name(t, "answer", &j->answer);
	tree_name(t, "grade", &j->letter);
	tree_opt_double(t, "score", j->score);
	put_finding(t, j);
	tree_string(t, "grade_by_counters", j->counters_letter ? letter : NULL);
	tree_opt_double(t, "score_by_counters", j->counters_score);
	tree_end(t);
}

static void put_run(struct tree *t, const struct model_run *run, const struct runs_job *jobs,
		    size_t nr)
{
	tree_object(t, NULL);
	data_run_head(t, run);
	tree_opt_int(t, "exit_status", run->exit_status);
	tree_array(t, "jobs");
	for (size_t i = 0; i < nr; i++)
		put_job(t, &jobs[i]);
	tree_end(t);
	tree_end(t);
}

/* One value per run, null if the run's value is exact. */
static void put_ends(struct tree *t, const struct runs_trend *trend)
{
	bool any = false;

	for (size_t i = 0; i < trend->nr; i++)
		any |= trend->jobs[i]->miss_range.low.known;
	if (!any)
		return;
	tree_bool(t, "miss_ratio_estimated", true);
	tree_line(t, "miss_ratio_low");
	for (size_t i = 0; i < trend->nr; i++)
		tree_opt_double(t, NULL, trend->jobs[i]->miss_range.low);
	tree_end(t);
	tree_line(t, "miss_ratio_high");
	for (size_t i = 0; i < trend->nr; i++)
		tree_opt_double(t, NULL, trend->jobs[i]->miss_range.high);
	tree_end(t);
}

static void put_trend(struct tree *t, const struct runs_trend *trend)
{
	static const char *const keys[] = {"wall_s", "miss_ratio", "stall_share", "score"};

	tree_object(t, NULL);
	tree_name(t, "name", &trend->name);
	tree_line(t, "runs");
	for (size_t i = 0; i < trend->nr; i++)
		tree_int(t, NULL, trend->jobs[i]->run->id);
	tree_end(t);
	for (size_t k = 0; k < trend->picture.nr_panels; k++) {
		tree_line(t, keys[k]);
		for (size_t i = 0; i < trend->nr; i++)
			tree_double(t, NULL, trend->picture.panels[k].series[0].values[i]);
		tree_end(t);
	}
	tree_line(t, "score_by_counters");
	for (size_t i = 0; i < trend->nr; i++)
		tree_opt_double(t, NULL, trend->jobs[i]->counters_score);
	tree_end(t);
	put_ends(t, trend);
	tree_end(t);
}

void runs_data(struct tree *t, const struct runs_model *m)
{
	size_t job = 0;

	tree_object(t, NULL);
	tree_int(t, "schema", 1);
	tree_string(t, "cachemon", CACHEMON_VERSION);
	tree_text(t, "db", m->db);
	tree_opt_int(t, "size_bytes", m->size_bytes);
	tree_array(t, "runs");
	for (size_t i = 0; i < m->nr_runs; i++) {
		size_t nr = 0;

		while (job + nr < m->nr_jobs && m->jobs[job + nr].run == &m->runs[i])
			nr++;
		put_run(t, &m->runs[i], &m->jobs[job], nr);
		job += nr;
	}
	tree_end(t);
	tree_array(t, "trends");
	for (size_t i = 0; i < m->nr_trends; i++)
		put_trend(t, &m->trends[i]);
	tree_end(t);
	tree_end(t);
}
