/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Turns a row of a rule into a finding. Owns the names of the columns and their valid values. Texts
 * go to the arena. row_*() are in eval_row.c.
 */
#ifndef EVAL_ROW_H
#define EVAL_ROW_H

#include <sqlite3.h>

#include "advisor/rules/finding.h"

enum row_column {
	ROW_JOB_ID,
	ROW_SUBJECT_KIND,
	ROW_SUBJECT,
	ROW_SEVERITY,
	ROW_CONFIDENCE,
	ROW_EVIDENCE,
	ROW_SUMMARY,
	ROW_GAIN_VALUE,
	ROW_GAIN_UNIT,
	ROW_GAIN_METHOD,
	ROW_GAIN_CAUSE,
	ROW_NOT_JUDGED,
	ROW_NR,
};

struct row_reader {
	const struct rule *rule;
	sqlite3 *db;
	struct arena *arena;
	sqlite3_stmt *stmt;	/* the rule's; the caller finalizes it */
	sqlite3_stmt *evidence; /* parses its JSON */
	int column[ROW_NR];	/* -1: the rule has none */
};

int row_begin(struct row_reader *r, sqlite3_stmt *stmt, struct errtext *err);
/*
 * If the row is a reason why the rule cannot be judged for the job, returns the reason, the job and
 * the gain; else NULL.
 */
int row_read_doubt(struct row_reader *r, struct finding *ret, const char **ret_reason,
		   struct errtext *err);
/* -EINVAL with the rule's file and the error in err. */
int row_read(struct row_reader *r, struct finding *ret, struct errtext *err);
void row_end(struct row_reader *r);

#endif
