/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Traces on the side of the probes: takes their ring's records, and decides which files are traced
 * in addition to those that the programs choose. account/traces owns the recorded events.
 */
#ifndef TRACE_RING_H
#define TRACE_RING_H

#include "cachemon/account/traces.h"
#include "cachemon/capture/probe_set.h"

/* NULL if no files are traced; shed, resume, stop and look accept that. */
struct trace_ring;
struct ring_buffer;

/* Adds its records to those that ring delivers. */
int trace_ring_new(struct probe_set *set, struct traces *traces, struct ring_buffer *ring,
		   struct trace_ring **ret);
void trace_ring_free(struct trace_ring *r);

/* Starts to choose files. */
void trace_ring_start(struct trace_ring *r);
/* Ends the costliest trace, and chooses no file until resumed. */
void trace_ring_shed(struct trace_ring *r, const char *reason);
void trace_ring_resume(struct trace_ring *r);
/* Marks all running traces as broken. */
void trace_ring_stop(struct trace_ring *r, const char *reason);

/* Call it often between samples: once a trace has ended, the file's reads are cheap again. */
void trace_ring_tick(struct trace_ring *r);
/* Call it once per sample, when the ring is empty; traces the file that the sample shows to be
 * read most. last: nothing follows. */
void trace_ring_look(struct trace_ring *r, const struct sample *s, bool last);

#endif
