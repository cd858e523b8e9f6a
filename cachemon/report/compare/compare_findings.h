/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What became of the findings of a job from one run to the other, and what else is not the same
 * about the two runs. Owns the matching: by rule and subject, and by name.
 */
#ifndef REPORT_COMPARE_FINDINGS_H
#define REPORT_COMPARE_FINDINGS_H

#include <sqlite3.h>

#include "advisor/analysis/analysis.h"
#include "cachemon/base/errtext.h"
#include "cachemon/model/model.h"

enum finding_fate {
	FINDING_STILL,
	FINDING_NEW,
	FINDING_GONE,
	FINDING_UNJUDGED, /* the run without it could not be judged by its rule */
	FINDING_FATE_NR,
};

extern const char *const finding_fate_names[FINDING_FATE_NR];

struct compare_finding {
	enum finding_fate fate;
	const struct finding *of[2]; /* NULL: not found in that run; one is there */
	const char *unjudged;	     /* why */
};

/* Those that are there still first, then new ones, then the others, each in the order of what they
 * gain. A failed allocation is the arena's. */
void compare_findings_make(struct arena *a, const struct analysis *const analysis[2],
			   const struct model_job *const job[2], struct compare_finding **ret,
			   size_t *ret_nr);

/* A fact of the machine or of the measurement that both runs do not share. Not known: "". */
struct compare_fact {
	struct bytes what, value[2];
};

/* 0 or -errno with a line in err. */
int compare_facts_load(sqlite3 *db, const struct model model[2], struct arena *a,
		       struct compare_fact **ret, size_t *ret_nr, struct errtext *err);

#endif
