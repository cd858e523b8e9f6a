/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A live view of a run: the database, the selection, the frame. Owns when data is read again.
 * Neither draws nor waits.
 */
#ifndef TOP_SESSION_H
#define TOP_SESSION_H

#include "cachemon/base/errtext.h"
#include "cachemon/top/frame.h"
#include "cachemon/top/paint.h"

struct top_session;

/* Where the rows come from, if not from a writer of the database. */
struct top_feed {
	void *context;
	/* Brings newer rows; may replace s->db, and move to another run. A notice about its
	 * source; NULL: nothing. */
	const char *(*work)(void *context, struct top_session *s);
};

struct top_session {
	struct sqlite3 *db;	     /* owned by the caller */
	const struct top_feed *feed; /* NULL: a writer */
	int64_t run_id;
	bool replay;
	struct top_view view;
	struct top_moment moment;
	struct top_frame frame;
	struct top_series *job, *chosen;
	struct top_ask loaded; /* the moment, level and database it was read for */
	int64_t version;       /* version of the database when it was read; -1: never */
};

/* The newest run that is being written, else the last one; -ENOENT with a line in err. */
int top_session_find_run(struct sqlite3 *db, int64_t *ret_run, bool *ret_open, struct errtext *err);

/* 0 or -ENOMEM. */
int top_session_begin(struct sqlite3 *db, int64_t run_id, bool replay, struct top_session *ret);
void top_session_end(struct top_session *s);
/* Whether the writer has written since the last read. */
bool top_session_stale(struct top_session *s);
/* Makes the frame of the requested moment; reads it only if moment, level or database changed.
 * After an error the previous frame stays. */
int top_session_load(struct top_session *s, struct errtext *err);
/* Whether the run is no longer being written. */
bool top_session_ended(const struct top_session *s);
void top_session_around(const struct top_session *s, const struct top_paper *paper,
			struct top_around *ret);

#endif
