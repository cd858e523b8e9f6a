/* SPDX-License-Identifier: BSD-2-Clause */
/* One row over the history of a moment. */
#include <stdlib.h>
#include <string.h>

#include "cachemon/model/model_rows.h"
#include "cachemon/top/moment.h"

#define HISTORY                                                                                    \
	"interval_id IN (SELECT id FROM interval WHERE run_id = ?1 AND start_ns BETWEEN ?2 AND "   \
	"?3)"

static char *sql_of(enum top_level level, bool has_directories)
{
	switch (level) {
	case TOP_JOBS:
		return model_rows_sql("SELECT interval_id",
				      "FROM job_interval WHERE job_id = ?4 AND " HISTORY);
	case TOP_FILES:
		return model_rows_sql("SELECT interval_id",
				      "FROM file_interval WHERE file_id = ?4 AND " HISTORY);
	default:
		if (has_directories)
			return model_rows_sql(
				"SELECT interval_id",
				"FROM directory_interval WHERE directory_id = ?4 AND " HISTORY);
		return model_rows_sql("SELECT interval_id",
				      "FROM file_interval WHERE " HISTORY
				      " AND (SELECT directory_id "
				      "FROM file WHERE file.id = file_id) = ?4");
	}
}

static const struct top_interval *interval_of(const struct top_moment *m, int64_t id)
{
	for (size_t i = 0; i < m->nr_history; i++)
		if (m->history[i].id == id)
			return &m->history[i];
	return NULL;
}

/* If the hook was ever off in an interval, the values that only the hook measures are unknown. */
static void forget_unseen(const struct top_moment *m, const struct top_interval *i,
			  struct counts *c)
{
	if (top_hook_of(m, i) == TOP_HOOK_ON)
		return;
	counts_slice(c, NULL, !m->model.run.cost_budget.known);
}

static bool same_interval(const struct top_interval *a, const struct top_interval *b)
{
	/* Merging makes an interval longer. */
	return a->id == b->id && a->start_ns == b->start_ns && a->duration_ns == b->duration_ns;
}

/* Finds the data read before, in the order of this history; have: which intervals it has. */
static void reuse_series(const struct top_moment *m, const struct top_series *old,
			 struct top_series *s, bool have[TOP_HISTORY])
{
	size_t k = 0;

	for (size_t i = 0; i < m->nr_history; i++) {
		/* Both are in order of time, newest first. */
		while (k < old->nr && old->intervals[k].start_ns > m->history[i].start_ns)
			k++;
		have[i] = k < old->nr && same_interval(&old->intervals[k], &m->history[i]);
		if (!have[i])
			continue;
		s->counts[i] = old->counts[k];
		s->known[i] = old->known[k];
	}
}

static int read_missing(sqlite3 *db, const struct top_moment *m, struct top_series *s,
			const bool have[TOP_HISTORY], struct errtext *err)
{
	struct arena arena = {0};
	size_t first = 0, last = m->nr_history;
	struct rows r;
	char *sql;
	int ret;

	while (first < last && have[first])
		first++;
	while (last > first && have[last - 1])
		last--;
	if (first == last)
		return 0;
	sql = sql_of(s->level, m->has_directories);
	r = rows_begin(db, &arena, sql, 4,
		       (const int64_t[]){m->model.run.id, m->history[last - 1].start_ns,
					 m->history[first].start_ns, s->id});
	while (rows_next(&r)) {
		const struct top_interval *i = interval_of(m, rows_value(&r, 0));
		size_t at = i ? (size_t)(i - m->history) : 0;
		struct counts c;

		if (!i || have[at])
			continue;
		model_rows_counts(&r, &c);
		forget_unseen(m, i, &c);
		if (s->known[at])
			counts_add(&s->counts[at], &c);
		else
			s->counts[at] = c;
		s->known[at] = true;
	}
	ret = model_rows_end(&r, err);
	free(sql);
	arena_free(&arena);
	return ret;
}

int top_series_load(sqlite3 *db, const struct top_moment *m, enum top_level level, int64_t id,
		    struct top_series *series, struct errtext *err)
{
	struct top_series *s = calloc(1, sizeof(*s));
	bool have[TOP_HISTORY] = {0};
	int ret = 0;

	if (!s)
		return model_no_memory(err);
	s->level = level;
	s->id = id;
	s->nr = m->nr_history;
	memcpy(s->intervals, m->history, sizeof(s->intervals));
	if (series->level == level && series->id == id)
		reuse_series(m, series, s, have);
	if (id)
		ret = read_missing(db, m, s, have, err);
	if (!ret)
		*series = *s;
	free(s);
	return ret;
}
