/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/top/session.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#include "cachemon/db/db_open.h"
#include "cachemon/db/db_rows.h"
#include "cachemon/model/model_rows.h"

int top_session_find_run(sqlite3 *db, int64_t *ret_run, bool *ret_open, struct errtext *err)
{
	struct arena arena = {0};
	struct rows r = rows_begin(
		db, &arena,
		"SELECT id, state = 'open' FROM run ORDER BY state = 'open' DESC, id DESC LIMIT 1",
		0, NULL);
	int ret = -ENOENT;

	errtext_set(err, 0, "the database holds no run yet; record one with 'cachemon watch'.");
	if (rows_next(&r)) {
		*ret_run = rows_value(&r, 0);
		*ret_open = rows_value(&r, 0) == 1;
		ret = 0;
	}
	if (model_rows_end(&r, err))
		ret = -EIO;
	arena_free(&arena);
	return ret;
}

int top_session_begin(sqlite3 *db, int64_t run_id, bool replay, struct top_session *ret)
{
	struct top_session s = {
		.db = db,
		.run_id = run_id,
		.replay = replay,
		.view = top_view_new(),
		.version = -1,
		.job = calloc(1, sizeof(*s.job)),
		.chosen = calloc(1, sizeof(*s.chosen)),
	};

	*ret = s;
	if (s.job && s.chosen)
		return 0;
	top_session_end(ret);
	return -ENOMEM;
}

void top_session_end(struct top_session *s)
{
	top_frame_free(&s->frame);
	top_moment_free(&s->moment);
	free(s->job);
	free(s->chosen);
	*s = (struct top_session){0};
}

/* The value, or absent if there is none. */
static int64_t first_value(struct top_session *s, const char *sql, int nr, const int64_t params[],
			   int64_t absent)
{
	struct arena arena = {0};
	struct rows r = rows_begin(s->db, &arena, sql, nr, params);
	int64_t value = rows_next(&r) ? rows_value(&r, absent) : absent;

	rows_finish(&r);
	arena_free(&arena);
	return value;
}

/* The first counter shows changes by other connections, the second one those by this connection. */
static int64_t version_now(struct top_session *s)
{
	int64_t version = first_value(s, "PRAGMA data_version", 0, NULL, s->version);

	if (version < 0)
		return version;
	return (version & INT32_MAX) | (int64_t)(sqlite3_total_changes(s->db) & INT32_MAX) << 32;
}

bool top_session_stale(struct top_session *s)
{
	return s->version < 0 || version_now(s) != s->version;
}

static int load_series(struct top_session *s, struct errtext *err)
{
	const struct top_row *job = top_moment_job(&s->moment);
	int64_t chosen = top_frame_cursor_id(&s->frame);
	int ret = job ? top_series_load(s->db, &s->moment, TOP_JOBS, job->id, s->job, err) : 0;

	s->frame.job = job ? s->job : NULL;
	if (ret || !s->view.detail || s->view.level == TOP_RUNS || s->view.level == TOP_PROCESSES)
		return ret;
	ret = top_series_load(s->db, &s->moment, s->view.level, chosen, s->chosen, err);
	s->frame.chosen = s->chosen;
	if (s->view.pinned == TOP_NO_ROW)
		s->view.pinned = chosen;
	return ret;
}

static bool same_moment(const struct top_ask *a, const struct top_ask *b)
{
	return a->run_id == b->run_id && a->level == b->level && a->at_ns == b->at_ns &&
	       a->steps == b->steps && a->files == b->files && a->directory == b->directory;
}

static int read_moment(struct top_session *s, const struct top_ask *wanted, int64_t version,
		       struct errtext *err)
{
	struct top_moment m = {0};
	int ret = top_moment_load(s->db, wanted, &m, err);

	if (ret)
		return ret;
	top_frame_free(&s->frame);
	top_moment_free(&s->moment);
	s->moment = m;
	s->version = version;
	s->view.steps = 0;
	if (s->view.at_ns != TOP_NEWEST && m.nr_history)
		s->view.at_ns = m.history[0].start_ns;
	if (s->view.pace == TOP_PLAY && m.newest)
		s->view.pace = TOP_HOLD;
	s->loaded = *wanted;
	s->loaded.at_ns = s->view.at_ns;
	s->loaded.steps = 0;
	return 0;
}

static int load_view(struct top_session *s, struct errtext *err)
{
	struct top_ask wanted = {.run_id = s->run_id,
				 .level = s->view.level,
				 .at_ns = s->view.at_ns,
				 .steps = s->view.steps,
				 .files = top_view_with_files(&s->view),
				 .directory = top_view_directory(&s->view)};
	int64_t version = version_now(s);
	struct top_frame frame;
	int ret = 0;

	db_renew(s->db);
	if (s->version < 0 || version != s->version || !same_moment(&wanted, &s->loaded))
		ret = read_moment(s, &wanted, version, err);
	if (ret)
		return ret;
	ret = top_frame_make(&s->moment, &s->view, &frame);
	if (ret)
		return model_no_memory(err);
	top_frame_free(&s->frame);
	s->frame = frame;
	return load_series(s, err);
}

/* Follows the view to another run, or to the moment with the most misses per second. */
static void follow_view(struct top_session *s)
{
	struct top_view *v = &s->view;
	const struct top_row *job = top_moment_job(&s->moment);

	if (v->run_id != TOP_NO_RUN)
		s->run_id = v->run_id;
	v->run_id = TOP_NO_RUN;
	for (; v->run_steps; v->run_steps += v->run_steps < 0 ? 1 : -1)
		s->run_id = first_value(s,
					v->run_steps < 0 ? "SELECT max(id) FROM run WHERE id < ?1"
							 : "SELECT min(id) FROM run WHERE id > ?1",
					1, &s->run_id, s->run_id);
	if (v->worst && job)
		v->at_ns = first_value(
			s,
			"SELECT start_ns FROM interval JOIN job_interval ON interval_id = id "
			"WHERE run_id = ?1 AND job_id = ?2 "
			"ORDER BY misses * 1.0 / nullif(duration_ns, 0) DESC, start_ns LIMIT 1",
			2, (const int64_t[]){s->run_id, job->id}, v->at_ns);
	v->worst = false;
}

int top_session_load(struct top_session *s, struct errtext *err)
{
	follow_view(s);
	return load_view(s, err);
}

bool top_session_ended(const struct top_session *s)
{
	return !bytes_is(&s->moment.model.run.state, "open");
}

void top_session_around(const struct top_session *s, const struct top_paper *paper,
			struct top_around *ret)
{
	*ret = (struct top_around){
		.nr_rows = s->frame.nr_rows,
		.cursor = s->frame.cursor,
		.page = (size_t)top_paint_page(&s->view, paper),
		.help_end = top_help_end(paper->rows),
		.cursor_id = top_frame_cursor_id(&s->frame),
		.run_id = s->run_id,
		.cursor_run_id = s->frame.nr_rows && s->frame.rows[s->frame.cursor].row->run_id
					 ? s->frame.rows[s->frame.cursor].row->run_id
					 : s->run_id,
		.cursor_name = s->frame.nr_rows ? s->frame.rows[s->frame.cursor].name : NULL,
		.started_ns = s->moment.model.run.started_ns.value,
		.begin_ns = s->moment.nr_history ? s->moment.history[0].start_ns : 0,
		.replay = s->replay || top_session_ended(s),
	};
}
