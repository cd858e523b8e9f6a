/* SPDX-License-Identifier: BSD-2-Clause */
/* A picture for programs: the numbers that are drawn. Owns the keys. */
#ifndef REPORT_PICTURE_DATA_H
#define REPORT_PICTURE_DATA_H

#include "cachemon/render/picture.h"
#include "cachemon/render/tree.h"

/* {"title", "says", "axis": {...}, "panels": [...], "marks": [...]}; null without a point. */
void picture_data(struct tree *t, const char *key, const struct picture *p);

#endif
