/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The statements that copy one run from a database to another, made from the newest schema: a
 * column NAME_id has ids of the table NAME. Owns the texts; opens no file.
 */
#ifndef MERGE_PLAN_H
#define MERGE_PLAN_H

#include <stddef.h>

#include "cachemon/base/arena.h"
#include "cachemon/base/errtext.h"

enum { MERGE_TABLES_MAX = 64 };

/* Rows of one table, after those that their ids name. */
struct merge_table {
	const char *name;
	const char *select; /* from the source: its id first, if there is a note. ?1: of the run */
	const char *insert; /* into the target: the other columns */
	const char *note;   /* (id in the source, id in the target); NULL: no row names its ids */
};

struct merge_plan {
	struct arena texts;
	struct merge_table tables[MERGE_TABLES_MAX];
	size_t nr;
	const char *maps; /* creates what the notes fill, in the source's temporary schema */
};

/* 0, or -ENOMEM with a text. Call merge_plan_free() in any case. */
int merge_plan_make(struct merge_plan *ret, struct errtext *err);
void merge_plan_free(struct merge_plan *p);

#endif
