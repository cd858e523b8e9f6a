/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of the model that is loaded once a job: its row, files, directories, advice and
 * timeline. Owns those queries; used by model.c only.
 */
#ifndef REPORT_MODEL_JOB_H
#define REPORT_MODEL_JOB_H

#include <sqlite3.h>

#include "cachemon/base/errtext.h"
#include "cachemon/model/model_load.h"

int model_jobs_load(sqlite3 *db, struct model *m, struct errtext *err);
/* Files, directories, advice and timeline; estimates of a sliced run are made here. */
int model_job_rows_load(sqlite3 *db, const struct model_query *query, struct model *m,
			struct model_job *job, struct errtext *err);

#endif
