/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What fills the TEMP tables analysis_* from the stored ones: a function a model. It reads the
 * views or tables of the connection for the runs of analysis_scope and inserts its rows; the model
 * itself is a pure function elsewhere. Owns the list's order: later ones may read what earlier ones
 * filled.
 * fill_error() is in analysis.c.
 */
#ifndef ADVISOR_FILL_H
#define ADVISOR_FILL_H

#include <sqlite3.h>

#include "cachemon/base/errtext.h"

/* 0, or -errno with a line in err. What cannot be modelled is no failure: it gets no row, or one
 * with a reason. */
typedef int (*fill_fn)(sqlite3 *db, struct errtext *err);

int fill_verdict(sqlite3 *db, struct errtext *err);
int fill_grade(sqlite3 *db, struct errtext *err);

/* -errno of an SQLite code, with what could not be filled in err. */
int fill_error(sqlite3 *db, const char *what, struct errtext *err);

#endif
