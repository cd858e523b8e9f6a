/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The traces on the side of the probes: what comes through their ring, which files are traced, and
 * which are traced in addition to those that the programs choose. account/traces owns what was
 * recorded.
 */
#ifndef TRACE_RING_H
#define TRACE_RING_H

#include "cachemon/account/traces.h"
#include "cachemon/capture/probe_set.h"

/* NULL where no files are traced: shed, resume, stop and look take that. */
struct trace_ring;
struct ring_buffer;

/* From now its records come with those of ring. */
int trace_ring_new(struct probe_set *set, struct traces *traces, struct ring_buffer *ring,
		   struct trace_ring **ret);
void trace_ring_free(struct trace_ring *r);

/* Starts to choose files. */
void trace_ring_start(struct trace_ring *r);
/* The costliest of the files ends here, and no file is chosen any more, until resumed. */
void trace_ring_shed(struct trace_ring *r, const char *reason);
void trace_ring_resume(struct trace_ring *r);
/* All that are traced are broken. */
void trace_ring_stop(struct trace_ring *r, const char *reason);

/* Between samples, often: what has ended makes its reads cheap again. */
void trace_ring_tick(struct trace_ring *r);
/* Once a sample, when the ring is empty; traces what the sample shows to be read most. last:
 * nothing comes after it. */
void trace_ring_look(struct trace_ring *r, const struct sample *s, bool last);

#endif
