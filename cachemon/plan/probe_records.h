/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is recorded beside counters, and why not: a pure function of the plan. Owns what each kind
 * of record needs of the build and of the probes.
 */
#ifndef PROBE_RECORDS_H
#define PROBE_RECORDS_H

#include "cachemon/plan/probe_plan.h"

enum probe_record {
	RECORD_REFERENCES, /* of sampled pages: the miss-ratio curve */
	RECORD_TRACES,	   /* of a few files: replays of readahead */
	RECORD_EVICTORS,   /* who pushed out pages of the job */
	RECORD_NR,
};

/* "references", "traces", "evictors". */
const char *probe_record_name(enum probe_record record);
/* What is made of it, in a few words. */
const char *probe_record_use(enum probe_record record);
/* NULL: it is recorded. May point into the plan. */
const char *probe_record_absent(const struct probe_plan *plan, enum probe_record record);

#endif
