/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The traces of one job, from a database: which files were traced, and every event of one of them.
 * Owns the reading of the tables of sql/005_traces.sql; computes nothing.
 */
#ifndef LOAD_TRACES_H
#define LOAD_TRACES_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cachemon/base/arena.h"
#include "cachemon/base/errtext.h"
#include "cachemon/figures/trace_code.h"

/* < 0 and NULL: unknown. */
struct trace_file {
	int64_t id;
	uint32_t dev_major, dev_minor, gen;
	uint64_t ino;
	const char *path; /* raw bytes */
	const char *fstype;
	int64_t size_bytes, ra_pages, io_pages, max_order;
	int64_t stratum;   /* < 0: chosen because it was read most */
	double stands_for; /* < 0: it represents none */
	bool broken;	   /* the trace ends before the run, and reason says why */
	const char *reason;
	bool warm; /* it was read before the trace, or had cached pages */
};

struct trace_files {
	struct trace_file *files; /* in the order in which they were chosen */
	size_t nr;
	struct arena texts;
};

/* Every event of a file, in order. */
struct trace_events {
	struct trace_event *events;
	size_t nr;
};

/* -ENOENT: the job has no traces, and the text says why. Free ret after 0. An error leaves it
 * unchanged. */
int load_trace_files(sqlite3 *db, int64_t job_id, struct trace_files *ret, struct errtext *err);
void trace_files_free(struct trace_files *files);

/* -EBADMSG: the data is not a trace; -E2BIG: longer than any recorded trace. */
int load_trace_events(sqlite3 *db, int64_t file_id, struct trace_events *ret, struct errtext *err);
void trace_events_free(struct trace_events *events);

/* Passes the same events to take() one by one without keeping them, up to the first invalid one. */
int load_trace_each(sqlite3 *db, int64_t file_id,
		    void (*take)(void *arg, const struct trace_event *e), void *arg,
		    struct errtext *err);

#endif
