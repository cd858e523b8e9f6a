/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From maps to samples: drains what the probes counted since the last call. Owns the reading of
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

/* Readable when names or references wait; sampler_names() takes them. */
int sampler_fd(const struct sampler *s);
void sampler_names(struct sampler *s);
/* Names that arrived so far are of no use: the set was stopped, and will send them again. */
void sampler_forget(struct sampler *s);

/* Completes a sample, its times known: what was looked up in it. */
void sampler_references(struct sampler *s, bool last, struct sample *out);

/* Rows taken and their limit: a drain is due well before it is reached. */
bool sampler_pressed(const struct sampler *s);
/* Forgets ghosts when the page state is nearly full and pages left the cache since it last did:
 * there are no others to find. A negative errno when that failed; what was counted stays. */
int sampler_make_room(struct sampler *s);

/*
 * One sample of all since the last: files, rest, advice, jobs, losses. The times, cost and law of
 * *out are the caller's. last: the probes are detached by this, and what CPUs still held is taken
 * in. On an error *out holds what could be read: it is gone from the maps, so it is to be accounted
 * too.
 */
int sampler_take(struct sampler *s, bool last, struct sample *out, struct errtext *err);

/* Whether every process of the job has ended, at this moment. */
bool sampler_job_ended(struct sampler *s);

/* CPU time of the job and bytes that its tasks have read, as of now. */
int sampler_progress(struct sampler *s, struct sample_job *ret);

#endif
