/* SPDX-License-Identifier: BSD-2-Clause */
/* The jobs of the runs of a database, each over its whole run. As many of the newest runs as bound
 * what a refresh costs. */
#include <inttypes.h>
#include <stdio.h>

#include "cachemon/model/model_load.h"
#include "cachemon/model/model_rows.h"
#include "cachemon/top/load.h"

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
	char text[64];
	int n = snprintf(text, sizeof(text), "run %" PRId64 "%s: ", run->id,
			 recorded ? ", being recorded" : "");

	return arena_bytes(a, text, (size_t)n).data;
}

int top_runs_load(sqlite3 *db, struct top_moment *m, struct errtext *err)
{
	struct model_run *runs = NULL;
	struct model_job *jobs = NULL;
	size_t nr_runs = 0, nr = 0, *run_of = NULL;
	int ret = model_all_runs(db, &m->arena, first_run(db, &m->arena), &runs, &nr_runs, err);

	if (!ret)
		ret = model_all_jobs(db, &m->arena, runs, nr_runs, &jobs, &run_of, &nr, err);
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
