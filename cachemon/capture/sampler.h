/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Turns maps into samples: drains what the probes counted since the last call. Owns the reading of
 * every map. The result is borrowed until the next call.
 */
#ifndef SAMPLER_H
#define SAMPLER_H

#include "cachemon/account/sample.h"
#include "cachemon/capture/probe_set.h"
#include "cachemon/capture/reference_ring.h"
#include "cachemon/capture/resolve.h"
#include "cachemon/capture/trace_ring.h"
#include "cachemon/base/errtext.h"

struct sampler;

int sampler_new(struct probe_set *set, struct sampler **ret, struct errtext *err);
void sampler_free(struct sampler *s);

/* Starts to trace files. */
int sampler_trace(struct sampler *s, struct traces *traces);
/* NULL: no files are traced, or the programs have no references. */
struct trace_ring *sampler_trace_ring(const struct sampler *s);
struct reference_ring *sampler_reference_ring(const struct sampler *s);

/* Readable when names or references are waiting; sampler_names() takes them. */
int sampler_fd(const struct sampler *s);
void sampler_names(struct sampler *s);
/* Drops the names that arrived so far: the set was stopped and will send them again. */
void sampler_forget(struct sampler *s);

/* Completes a sample whose times are known, with the pages looked up in it. */
void sampler_references(struct sampler *s, bool last, struct sample *out);

/* Rows in use and their limit; drain well before the limit. */
bool sampler_pressed(const struct sampler *s);
/* Drops ghosts if the page state is nearly full and pages were evicted since the last time;
 * otherwise there are no new ghosts. A negative errno on failure; counts stay valid. */
int sampler_make_room(struct sampler *s);

/*
 * One sample of everything since the last: files, rest, advice, jobs, losses. The caller fills in
 * times, cost and law of *out. last: detaches the probes first, and includes the counts still on
 * CPUs. After an error *out holds what could be read; it is gone from the maps, so account it too.
 */
int sampler_take(struct sampler *s, bool last, struct sample *out, struct errtext *err);

/* Whether every process of the job has ended by now. */
bool sampler_job_ended(struct sampler *s);

/* CPU time of the job, and bytes read by its tasks, as of now. */
int sampler_progress(struct sampler *s, struct sample_job *ret);

#endif
